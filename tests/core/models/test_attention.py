import math

import pytest
import torch

from core.models.attention import (
    Additive,
    Differential,
    DifferentialV2,
    compute_alpha_beta,
    compute_initial_lambda,
    compute_lambda_init,
    compute_lambda_target,
)

X = torch.linspace(-1, 1, 2 * 5 * 16).view(2, 5, 16)


def additive(constraint="01", components=4, layer=1, **changes) -> Additive:
    torch.manual_seed(0)
    given = {"width": 16, "sets": 1, "learn_beta": False, "from_input": False, "start": None, **changes}
    return Additive(layer=layer, components=components, constraint=constraint, **given)


def test_both_differential_lambdas_follow_their_equations():
    torch.manual_seed(0)
    mixing = Differential(layer=2, head_width=4, sets=1)
    q1, q2, k1, k2 = (v[0].tolist() for v in (*mixing.lambda_q, *mixing.lambda_k))
    first, second = (math.exp(sum(a * b for a, b in zip(q, k, strict=True))) for q, k in ((q1, k1), (q2, k2)))
    wanted = first - second + 0.8 - 0.6 * math.exp(-0.3)
    assert mixing.get_lambdas().item() == pytest.approx(wanted, abs=1e-6)
    assert mixing(X).flatten().tolist() == pytest.approx([1, -wanted], abs=1e-6)
    torch.manual_seed(0)
    mixing = DifferentialV2(width=16, heads=3)
    c = mixing(X)
    assert c.shape == (2, 2, 3, 5, 1)
    logit = sum(X[1, 4, i].item() * mixing.logit.weight[2, i].item() for i in range(16))
    assert c[1, 1, 2, 4, 0].item() == pytest.approx(-1 / (1 + math.exp(-logit)), abs=1e-6)
    assert (c[:, 0] == 1).all() and mixing.get_lambdas() is None


CONSTRAIN = {
    "01": lambda x: 1 / (1 + math.exp(-x)),
    "pm1": math.tanh,
    "pos": lambda x: max(x, 0.0),
    "free": lambda x: x,
}


@pytest.mark.parametrize("constraint", CONSTRAIN)
def test_additive_lambda_follows_equations_4_to_6(constraint):
    mixing = additive(constraint, layer=2, sets=2)
    with torch.no_grad():
        mixing.lambda_q.mul_(30), mixing.lambda_k.mul_(30)
    f = CONSTRAIN[constraint]
    for j in (1, 2, 3):
        alpha, beta = compute_alpha_beta(constraint, 2, j)
        for head in (0, 1):
            q, k = mixing.lambda_q[j - 1, head].tolist(), mixing.lambda_k[j - 1, head].tolist()
            p = sum(f(a) * f(b) for a, b in zip(q, k, strict=True)) / len(q)
            assert mixing.get_lambdas()[j - 1, head].item() == pytest.approx(p * alpha + (1 - p) * beta, abs=1e-6)
    assert mixing(X).shape == (1, 4, 2, 1, 1)


@pytest.mark.parametrize("layer", [1, 2, 12])
@pytest.mark.parametrize(
    ("constraint", "starts", "low", "high"),
    [
        ("01", (0.01, 0.2, 0.25, 0.5, 0.99), 0, 1),
        ("pm1", (-0.99, -0.2, 0.0, 0.7, 0.99), -1, 1),
        ("pos", (0.0, 0.5, 10.0), 0, math.inf),
        ("free", (-10.0, 0.0, 3.0), -math.inf, math.inf),
    ],
)
def test_lambda_begins_at_its_start_and_stays_in_range(constraint, starts, low, high, layer):
    for start in (*starts, None):
        mixing = additive(constraint, layer=layer, start=start)
        if start is not None:
            assert mixing.get_lambdas().flatten().tolist() == pytest.approx([start] * 3, abs=0.02)
        assert (mixing.alpha != mixing.beta).all()  # else lambda could not change
        for scale in (1.0, 50.0, 1e3):
            with torch.no_grad():
                mixing.lambda_q.normal_().mul_(scale), mixing.lambda_k.normal_().mul_(scale)
            lambdas = mixing.get_lambdas()
            assert (lambdas >= low - 1e-6).all() and (lambdas <= high + 1e-6).all()


def test_lambda_starts_and_scales_match_the_papers():
    assert compute_lambda_init(1) == pytest.approx(0.2)
    assert compute_lambda_init(2) == pytest.approx(0.3555, abs=1e-4)
    mixing = Differential(layer=3, head_width=4, sets=1, start=0.6)
    assert (mixing.lambda_init, mixing.scale) == (0.6, 1 - 0.6)
    assert additive("pm1", layer=2).scale == pytest.approx(1 / (1 - 0.06 - 0.10 - 0.08)), "the row sum at the start"
    assert compute_alpha_beta("01", 1, 1, 0.25) == (1.0, 0.0), "a quarter gives lambda in 0 to 1 its whole range"


RULE = {  # initial lambdas of layers 1 and 2
    "01": ([0.153, 0.143, 0.135], [0.185, 0.160, 0.150]),
    "pm1": ([-0.2, -0.16, -0.128], [-0.06, -0.10, -0.08]),
    "pos": ([0.2, 0.16, 0.128], [0.3555, 0.2, 0.16]),
    "free": ([0.2, 0.16, 0.128], [0.3555, 0.2, 0.16]),
}


@pytest.mark.parametrize("constraint", RULE)
@pytest.mark.parametrize("layer", [1, 2])
def test_initial_lambdas_follow_the_rule(constraint, layer):
    wanted = RULE[constraint][layer - 1]
    assert [compute_initial_lambda(constraint, layer, j) for j in (1, 2, 3)] == pytest.approx(wanted, abs=6e-4)
    assert additive(constraint, layer=layer).get_lambdas().flatten().tolist() == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("constraint", CONSTRAIN)
@pytest.mark.parametrize("layer", [1, 2, 6, 40])
def test_alpha_and_beta_differ_at_every_depth(constraint, layer):
    assert all(abs(a - b) > 1e-3 for a, b in (compute_alpha_beta(constraint, layer, j) for j in range(1, 8)))
    assert all(compute_lambda_target(layer, j) <= 0.8 for j in range(1, 8))


@pytest.mark.parametrize("learn_beta", [False, True])
def test_both_lambda_vectors_and_only_a_learned_beta_get_gradients(learn_beta):
    mixing = additive("free", learn_beta=learn_beta)
    mixing.get_lambdas().sum().backward()
    names = {name for name, p in mixing.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert names == {"lambda_q", "lambda_k"} | ({"beta"} if learn_beta else set())


def test_the_lambda_gradient_is_the_derivative_of_its_equation():
    mixing = additive("01", components=2)
    mixing.get_lambdas().sum().backward()
    alpha, beta = compute_alpha_beta("01", 1, 1)
    q, k = mixing.lambda_q.detach().sigmoid(), mixing.lambda_k.detach().sigmoid()
    torch.testing.assert_close(mixing.lambda_q.grad, (alpha - beta) * q * (1 - q) * k / q.shape[-1])


@pytest.mark.parametrize("sets", [1, 2])
def test_token_lambdas_take_their_key_from_the_token(sets):
    mixing = additive("pm1", components=3, layer=2, sets=sets, from_input=True)
    assert mixing.get_lambdas() is None
    found = mixing(X.float())  # (B, N, S, L, 1)
    assert found.shape == (len(X), 3, sets, X.shape[1], 1) and (found[:, 0] == 1).all()
    for i in range(2):
        for s in range(sets):
            p = (mixing.lambda_q[i, s].tanh() * (X[0, 1].float() @ mixing.lambda_k[:, i, s]).tanh()).mean()
            torch.testing.assert_close(found[0, i + 1, s, 1, 0], p * mixing.alpha[i, s] + (1 - p) * mixing.beta[i, s])


@pytest.mark.parametrize("constraint", ["free", "pm1", "pos"])
def test_lambda_at_its_start_is_trapped_where_its_vectors_vanish(constraint):
    mixing = additive(constraint, start=0.5 if constraint == "pm1" else 1.0)
    assert mixing.find_trapped().tolist() == [False] * 3, "as drawn, it can move"
    with torch.no_grad():
        mixing.lambda_q[1].fill_(0.001), mixing.lambda_k[1].fill_(0.001)
        mixing.lambda_q[2].fill_(0.001), mixing.lambda_k[2].fill_(0.5)  # q still has a gradient
    assert mixing.find_trapped().tolist() == [False, True, False]
    found = mixing.get_lambdas()
    assert found[1].item() == pytest.approx(mixing.beta[1].item(), abs=1e-5)
    found.sum().backward()
    assert mixing.lambda_q.grad[1].abs().max() < 1e-3 < mixing.lambda_q.grad[2].abs().max()
    if constraint == "pos":
        with torch.no_grad():
            mixing.lambda_q[0].fill_(-1.0), mixing.lambda_k[0].fill_(-1.0)
        assert mixing.find_trapped().tolist() == [True, True, False], "ReLU is 0 below 0"


def test_lambda_that_moves_with_beta_or_tokens_or_within_0_and_1_is_not_trapped():
    for mixing in (additive("free", learn_beta=True), additive("free", from_input=True), additive("01")):
        with torch.no_grad():
            mixing.lambda_q.zero_(), mixing.lambda_k.zero_()
        assert mixing.find_trapped().tolist() == [False] * 3
