"""Gradients at the vectors of words: exact where a formula is known, complete, and nothing left behind."""

import dataclasses

import numpy as np
import pytest
import torch
from small_models import VOCABULARY, batch_of, example, make, rows, small
from torch import nn

from core.interpret import gradients
from core.interpret.gradients import Target, compute_input_gradient, integrate_gradients
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Output
from core.training.temperature import UNSCALED, Scaling

FIRST = Target(0, "single", UNSCALED)


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


TEXT = batch_of([[2, 5, 8, 3]])


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


def test_gradients_of_a_square_equal_the_closed_form():
    model = Toy(lambda s: s**2)
    s, each = compute_parts(model).sum(), compute_parts(model)
    np.testing.assert_allclose(compute_input_gradient(model, TEXT, FIRST), 2 * s * each, rtol=1e-4)
    np.testing.assert_allclose(integrate_gradients(model, TEXT, FIRST).pushes, s * each, rtol=1e-4)


def test_the_target_is_a_class_or_one_of_several_labels():
    logits = torch.tensor([[1.0, 2.0, 4.0]])
    p = (logits / 2).softmax(-1)[0]
    assert Target(1, "single", Scaling(2.0))(logits).item() == pytest.approx((p[1] / (1 - p[1])).log().item(), abs=1e-6)
    q = (logits / 2).sigmoid()[0]
    assert Target(1, "multi", Scaling(2.0))(logits).item() == pytest.approx((q[1] / (1 - q[1])).log().item(), abs=1e-6)


def test_steps_double_until_attributions_add_up():
    kinked = Toy(lambda s: 4 * torch.relu((6 * s).sin()))
    found = integrate_gradients(kinked, TEXT, FIRST)
    assert gradients.STEPS < found.steps <= gradients.MOST_STEPS
    assert abs(found.error) <= gradients.SMALL * max(1.0, abs(found.pushes.sum()))
    jump = Toy(lambda s: torch.where(s > 0.1 * compute_parts(jump).sum(), 1.0, 0.0) + 0 * s)  # no gradient anywhere
    found = integrate_gradients(jump, TEXT, FIRST)
    assert abs(found.error) == 1 and found.steps == gradients.MOST_STEPS and (found.pushes == 0).all()


FAMILIES = ["vanilla", "ndt-pm1-n3", "sentiformer", "tweet-v1-p2", "lexical-last", "inceptive-16", "bilstm", "cnn"]


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
    with pytest.raises(RuntimeError, match="eval"):
        compute_input_gradient(family("vanilla").train(), TEXT, FIRST)
