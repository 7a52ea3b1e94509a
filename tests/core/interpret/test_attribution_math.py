import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest
import torch
from refused import check_raises
from scipy.stats import binom, permutation_test, rankdata, spearmanr
from small_models import VOCABULARY, batch_of, example, make, rows, small
from torch import nn

from core.interpret import attribution_math, gradients
from core.interpret.attribution_math import (
    LEVEL,
    RankTest,
    compare_ranks,
    compute_agreement,
    compute_log_odds,
    compute_shapley,
)
from core.interpret.gradients import Target, compute_input_gradient, integrate_gradients
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Output
from core.training.temperature import UNSCALED, Scaling

A = np.array([0.3, -1.2, 2.2, 0.1, 0.9, -0.4, 1.4, 0.0])
B = np.array([0.1, -0.9, 1.0, 0.3, 0.2, -1.0, 0.8, 0.4])
FIRST = Target(0, "single", UNSCALED)
TEXT = batch_of([[2, 5, 8, 3]])
FAMILIES = ["vanilla", "ndt-pm1-n3", "sentiformer", "tweet-v1-p2", "lexical-last", "inceptive-16", "bilstm", "cnn"]


def test_log_odds_compare_a_class_with_all_others():
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], np.float32)
    np.testing.assert_allclose(compute_log_odds(p, 1, "single"), [math.log(0.3 / 0.7), math.log(0.8 / 0.2)], rtol=1e-6)
    np.testing.assert_allclose(compute_log_odds(p, 0, "multi"), [math.log(0.2 / 0.8), math.log(0.1 / 0.9)], rtol=1e-6)
    assert compute_log_odds(p, 1, "single").dtype == np.float64
    logits = torch.tensor([[0.0, 3.0], [-9.0, 31.0]])
    np.testing.assert_allclose(compute_log_odds(logits.softmax(-1).numpy(), 1, "single"), [3.0, 40.0], rtol=1e-5)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_log_odds_of_certainty_are_finite(task):
    found = compute_log_odds(np.array([[0.0, 1.0], [1.0, 0.0]], np.float32), 1, task)
    assert np.isfinite(found).all() and found[0] > 15 and found[1] < -80


def compute_exact(value, n):
    """Return Shapley values by their definition, over all subsets of the other words."""
    found = np.zeros(n)
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        for size in range(n):
            weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for chosen in combinations(rest, size):
                without, there = np.zeros((1, n), bool), np.zeros((1, n), bool)
                without[0, list(chosen)] = there[0, [*chosen, i]] = True
                found[i] += weight * (value(there) - value(without))[0]
    return found


def play_game(there):
    """Return a sum with an interaction of the first two words and of all."""
    x = there.astype(float)
    return x @ np.arange(1, x.shape[1] + 1) + 5 * x[:, 0] * x[:, 1] - 3 * x.prod(1) + 0.5


@pytest.mark.parametrize("n", [2, 3, 4])
def test_shapley_values_of_few_words_are_exact(n):
    found = compute_shapley(play_game, n, 200, 0)
    np.testing.assert_allclose(found.pushes, compute_exact(play_game, n), atol=1e-12)
    assert (found.errors == 0).all() and found.orders == math.factorial(n) and found.alone == 0.5


@pytest.mark.slow
def test_sampled_shapley_values_equal_captum_for_equal_orders():
    from captum.attr import ShapleyValueSampling  # brings matplotlib, for which no other test need wait

    found = compute_shapley(play_game, 6, 40, seed=3)
    random = np.random.default_rng(3)
    method = ShapleyValueSampling(lambda x: torch.from_numpy(play_game(x.numpy() > 0)))
    method.permutation_generator = lambda n, samples: (tuple(random.permutation(n)) for _ in range(samples))
    np.testing.assert_allclose(found.pushes, method.attribute(torch.ones(1, 6), n_samples=40)[0].numpy(), atol=1e-5)
    truth = compute_exact(play_game, 7)
    draws = [compute_shapley(play_game, 7, 100, seed) for seed in range(100)]
    z = np.array([(each.pushes - truth)[:2] / each.errors[:2] for each in draws])
    assert 0.8 < z.std() < 1.25 and abs(z.mean()) < 0.2
    for each in draws[:5]:
        assert each.pushes.sum() == pytest.approx(play_game(np.ones((1, 7), bool))[0] - 0.5)


def test_shapley_values_predict_each_subset_once():
    asked = []
    compute_shapley(lambda there: asked.append(there) or play_game(there), 5, 60, 0)
    assert len(asked) == 1 and len(asked[0]) == len(np.unique(asked[0], axis=0)) <= 2**5


@pytest.mark.parametrize("n", [0, 1])
def test_shapley_values_of_no_or_one_word(n):
    found = compute_shapley(lambda there: there.sum(1) * 2.0 + 1, n, 10, 0)
    assert found.pushes.tolist() == [2.0] * n and found.alone == 1


def test_agreement_is_spearmans_rho_or_none():
    a, b = np.array([3.0, 1.0, 2.0, 2.0]), np.array([0.1, 0.2, 0.5, -1.0])
    assert compute_agreement(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert compute_agreement(a[:2], b[:2]) is None and compute_agreement(a, np.ones(4)) is None
    assert compute_agreement(a, 1 + 1e-9 * b) is None, "rounding makes no ranks"


def compute_scipy_p(first, second, orders):
    """Return the two-sided p-value of scipy, over all or so many random orders."""
    second = rankdata(second)
    how = {"permutation_type": "pairings", "n_resamples": orders, "vectorized": True, "rng": 1}
    return permutation_test((rankdata(first),), lambda x, axis: x @ second, **how).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("second", [B, -B, np.roll(A, 2)], ids=["alike", "opposite", "neither"])
def test_eight_words_are_tested_on_all_orders(second):
    found = compare_ranks(A, second)
    assert found.p == pytest.approx(compute_scipy_p(A, second, np.inf), abs=1e-12)
    assert found.rho == pytest.approx(spearmanr(A, second).statistic)


@pytest.mark.slow
def test_ties_have_their_mean_rank_and_the_exact_p_value(monkeypatch):
    first, second = np.array([2.0, 2, 0, 1, 5]), np.array([1.0, 1, 1, 0, 3])
    monkeypatch.setattr(attribution_math, "LEAST_TESTED", 5)
    attribution_math._list_orders.cache_clear()
    try:
        assert compare_ranks(first, second).p == pytest.approx(compute_scipy_p(first, second, np.inf), abs=1e-12)
    finally:
        attribution_math._list_orders.cache_clear()


def test_random_orders_approximate_the_exact_p_value():
    random = np.random.default_rng(6)
    first = random.normal(size=13)
    second = 0.5 * first + random.normal(size=13)
    found, near = compare_ranks(first, second), compute_scipy_p(first, second, 40_000)
    assert found.p == pytest.approx(near, abs=4 * np.sqrt(near * (1 - near) / 10_000)) and 0.01 < near < 0.5
    assert found == compare_ranks(first, second), "the same seed, the same p-value"


def test_verdicts_and_their_sentences():
    eight, twelve = np.arange(8.0), np.arange(12.0)
    assert compare_ranks(eight, eight).describe("attention", "deletion") == (
        "attention and deletion agree (ρ = 1.00, p < 0.001, 8 words)"
    )
    opposite = compare_ranks(twelve, -twelve)
    assert opposite.verdict == "disagree" and opposite.p == 2 / (attribution_math.DRAWS + 1), (
        "no drawn order is as extreme"
    )
    undecided = compare_ranks(A, np.roll(A, 2)).describe("attention", "deletion")
    assert undecided.startswith("attention and deletion: no clear relation")
    few = compare_ranks(eight[:7], eight[:7])
    assert few == RankTest(7, 1.0) and few.verdict is None
    assert few.describe("a", "b") == "a and b: no verdict below 8 words"
    assert compare_ranks(eight, np.ones(8)).describe("a", "b").endswith("one gives all words the same number")


@pytest.mark.slow
@pytest.mark.parametrize("words", [8, 12])
def test_random_rankings_rarely_get_a_verdict(words):
    random, studies = np.random.default_rng(words), 200
    order = np.arange(float(words))
    verdicts = [compare_ranks(order, random.permutation(words)).verdict for _ in range(studies)]
    judged = sum(each != "inconclusive" for each in verdicts)
    assert binom.sf(judged - 1, studies, LEVEL) > 0.001, f"{judged} of {studies}"
    assert judged, "a test that never decides says nothing"


class Toy(nn.Module):
    """Vectors (B, L, 3) of the words → s = sum over words of v · w → logits by a formula."""

    def __init__(self, formula):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(torch.randn(9, 3, generator=torch.Generator().manual_seed(0)))
        self.w = torch.tensor([1.0, -2.0, 0.5])
        self.formula = formula
        self.eval()

    def embed_tokens(self, batch):
        return self.embedding(batch.ids)

    def forward(self, batch, *, embedded=None):
        s = ((self.embed_tokens(batch) if embedded is None else embedded) @ self.w).sum(1)
        return Output(torch.stack([self.formula(s), torch.zeros_like(s)], 1), s)


def compute_parts(model):
    """(L,): v · w of each word."""
    return (model.embed_tokens(TEXT)[0] @ model.w).double().numpy()


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("prior", [(), (0.8, 0.2)])
def test_both_gradient_methods_are_exact_for_a_linear_model(temperature, prior):
    model, target = Toy(lambda s: 3 * s + 1), Target(0, "single", Scaling(temperature, prior))
    np.testing.assert_allclose(
        compute_input_gradient(model, TEXT, target), 3 * compute_parts(model) / temperature, rtol=1e-5
    )
    found = integrate_gradients(model, TEXT, target)
    np.testing.assert_allclose(found.pushes, 3 * compute_parts(model) / temperature, rtol=1e-5)
    doubt = (1 - 1 / temperature) * np.log(4) if prior else 0
    assert found.at_reference == pytest.approx(1 / temperature + doubt) and abs(found.error) < 1e-5
    assert found.steps == gradients.STEPS


def test_gradients_of_a_square_equal_the_closed_form_in_as_many_steps_as_needed():
    model = Toy(lambda s: s**2)
    s, each = compute_parts(model).sum(), compute_parts(model)
    np.testing.assert_allclose(compute_input_gradient(model, TEXT, FIRST), 2 * s * each, rtol=1e-4)
    np.testing.assert_allclose(integrate_gradients(model, TEXT, FIRST).pushes, s * each, rtol=1e-4)
    found = integrate_gradients(Toy(lambda s: 4 * torch.relu((6 * s).sin())), TEXT, FIRST)
    assert gradients.STEPS < found.steps <= gradients.MOST_STEPS
    assert abs(found.error) <= gradients.SMALL * max(1.0, abs(found.pushes.sum()))
    jump = Toy(lambda s: torch.where(s > 0.1 * compute_parts(jump).sum(), 1.0, 0.0) + 0 * s)  # no gradient anywhere
    found = integrate_gradients(jump, TEXT, FIRST)
    assert abs(found.error) == 1 and found.steps == gradients.MOST_STEPS and (found.pushes == 0).all()
    logits = torch.tensor([[1.0, 2.0, 4.0]])
    p = (logits / 2).softmax(-1)[0]
    assert Target(1, "single", Scaling(2.0))(logits).item() == pytest.approx((p[1] / (1 - p[1])).log().item(), abs=1e-6)
    q = (logits / 2).sigmoid()[0]
    assert Target(1, "multi", Scaling(2.0))(logits).item() == pytest.approx((q[1] / (1 - q[1])).log().item(), abs=1e-6)


def family(name):
    config = PRESETS[name].model
    if config.family == "encoder":
        return make(small(config), torch.float64)
    torch.manual_seed(0)
    return build_model(dataclasses.replace(config, width=6), vocabulary=VOCABULARY, classes=3).double().eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ndt-pm1-n3", "sentiformer", "bilstm", "cnn"])
def test_integrated_gradients_equal_a_plain_loop(name):
    model, batch = family(name), rows(example(), slice(0, 1), 9)
    target = Target(1, "single", Scaling(1.3, (0.3, 0.2, 0.5)))
    found = integrate_gradients(model, batch, target)
    embedded = model.embed_tokens(batch).detach()
    total, count = torch.zeros_like(embedded), 200
    for middle in (torch.arange(count, dtype=torch.float64) + 0.5).div(count).split(100):
        at = (middle[:, None, None] * embedded).requires_grad_()
        many = type(batch)(*(None if x is None else x.expand(len(at), *x.shape[1:]) for x in batch))
        (slope,) = torch.autograd.grad(target(model(many, embedded=at).logits).sum(), at)
        total += slope.sum(0, keepdim=True) / count
    np.testing.assert_allclose(found.pushes, (total * embedded)[0].sum(-1), atol=0.02)
    difference = target(model(batch).logits).item() - found.at_reference
    assert found.pushes.sum() - difference == pytest.approx(found.error, abs=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_given_embeddings_replace_the_models_own(name):
    model, batch = family(name), example()
    with torch.no_grad():
        assert torch.equal(model(batch, embedded=model.embed_tokens(batch)).logits, model(batch).logits)
        swapped = batch._replace(ids=batch.ids.flip(0) * batch.keep)
        there = model(batch._replace(ids=swapped.ids), embedded=model.embed_tokens(batch)).logits
        torch.testing.assert_close(there, model(batch).logits)


def test_models_are_unchanged_and_training_mode_is_refused():
    model = family("ndt-pm1-n3")
    before = {name: each.clone() for name, each in model.state_dict().items()}
    compute_input_gradient(model, rows(example(), slice(0, 1), 9), FIRST)
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    for module in model.modules():
        assert not (module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module.training)
    assert all(each.grad is None and each.requires_grad for each in model.parameters())
    check_raises(RuntimeError, "eval", compute_input_gradient, family("vanilla").train(), TEXT, FIRST)
