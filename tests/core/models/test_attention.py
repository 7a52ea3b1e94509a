"""One attention layer against the papers' equations written out, and its structural identities."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from small_models import make, small

from core.models.config import AttentionConfig, ModelConfig
from core.models.presets import PRESETS
from core.models.terms import Reading

X = torch.linspace(-2, 2, 3 * 7 * 16, dtype=torch.float64).sin().mul(1.7).view(3, 7, 16)
KEEP = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]


def layer(preset: str, **change):
    config = small(PRESETS[preset].model)
    return (
        make(dataclasses.replace(config, attention=dataclasses.replace(config.attention, **change))).layers[1].attention
    )


def run(attention, keep=KEEP, trace=False):
    return attention(X, Reading(keep, None, False), trace=trace, intervene=())


def head(attention, b: int, h: int, component: int) -> torch.Tensor:
    """softmax(Q K^T / sqrt(d_head)) of one text, head and component, over the kept keys only."""
    n, heads = attention.components, attention.heads
    rows = attention.query.out_features // n
    width = rows // heads
    part = slice(component * rows + h * width, component * rows + (h + 1) * width)
    q = X[b] @ attention.query.weight[part].T + attention.query.bias[part]
    k = X[b] @ attention.key.weight[part].T + attention.key.bias[part]
    scores = q @ k.T / width**0.5
    return scores.masked_fill(~KEEP[b], float("-inf")).softmax(-1)


def values(attention, b: int, h: int) -> torch.Tensor:
    width = 16 // attention.heads
    part = slice(h * width, (h + 1) * width)
    return X[b] @ attention.value.weight[part].T + attention.value.bias[part]


def output(attention, heads_of_text) -> torch.Tensor:
    return torch.cat(heads_of_text, -1) @ attention.out.weight.T + attention.out.bias


def test_vanilla_is_softmax_times_values():
    attention = layer("vanilla")
    assert attention.heads == 4 and attention.query.out_features == 16
    for b in range(3):
        heads = [head(attention, b, h, 0) @ values(attention, b, h) for h in range(4)]
        torch.testing.assert_close(run(attention)[0][b], output(attention, heads))


def test_differential_subtracts_the_second_map_then_norms_each_head_and_scales():
    attention = layer("differential")
    lam = attention.mixing.lambdas().item()
    for b in range(3):
        heads = []
        for h in range(2):
            out = (head(attention, b, h, 0) - lam * head(attention, b, h, 1)) @ values(attention, b, h)
            norm = out / (out.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * attention.head_norm.weight
            heads.append(norm * (1 - attention.mixing.lambda_init))
        torch.testing.assert_close(run(attention)[0][b], output(attention, heads))


def test_differential_v2_subtracts_with_a_lambda_of_each_token_and_head():
    attention = layer("differential-v2")
    for b in range(3):
        lam = (X[b] @ attention.mixing.logit.weight.T).sigmoid()
        heads = [
            head(attention, b, h, 0) @ values(attention, b, h)
            - lam[:, h, None] * (head(attention, b, h, 1) @ values(attention, b, h))
            for h in range(2)
        ]
        torch.testing.assert_close(run(attention)[0][b], output(attention, heads))


@pytest.mark.parametrize("preset", ["ndt-01-n2", "ndt-pm1-n3", "ndt-pos-n4", "ndt-free-n3"])
def test_additive_adds_every_component_with_its_lambda(preset):
    attention = layer(preset)
    c = [1.0, *attention.mixing.lambdas().flatten().tolist()]
    assert len(c) == attention.components
    for b in range(3):
        heads = [
            sum(c[i] * head(attention, b, h, i) for i in range(len(c))) @ values(attention, b, h) for h in range(2)
        ]
        torch.testing.assert_close(run(attention)[0][b], output(attention, heads))


def test_a_lambda_per_head_weighs_each_head_on_its_own():
    attention = layer("ndt-free-n2", lambda_per_head=True)
    lam = attention.mixing.lambdas()[0]
    assert lam.shape == (2,) and lam[0] != lam[1]
    heads = [(head(attention, 0, h, 0) + lam[h] * head(attention, 0, h, 1)) @ values(attention, 0, h) for h in range(2)]
    torch.testing.assert_close(run(attention)[0][0], output(attention, heads))


def test_the_head_norm_of_an_additive_model_scales_by_the_starting_row_sum():
    attention = layer("ndt-pm1-n4", head_norm=True)
    lam = attention.mixing.lambdas().flatten()
    out = head(attention, 0, 1, 0) @ values(attention, 0, 1) + sum(
        lam[i] * head(attention, 0, 1, i + 1) @ values(attention, 0, 1) for i in range(3)
    )
    norm = out / (out.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * attention.head_norm.weight
    wanted = norm / (1 - 0.06 - 0.10 - 0.08)
    torch.testing.assert_close(run(attention, trace=True)[1].head_outputs[0, 1], wanted)


@pytest.mark.parametrize("preset", ["ndt-pm1-n4", "ndt-pos-n3", "differential"])
def test_row_normalisation_bounds_the_mass_of_a_row_by_one(preset):
    combined = run(layer(preset, row_norm=True, head_norm=False), trace=True)[1].combined
    free = run(layer(preset, head_norm=False), trace=True)[1]
    torch.testing.assert_close(combined, free.combined / free.coefficients.abs().sum(1))
    assert (combined.abs().sum(-1) <= 1 + 1e-9).all()


def test_one_component_is_plain_attention_with_half_width_queries():
    additive = AttentionConfig(heads=2, qk_width="half", components=1, mixing="additive")
    plain = AttentionConfig(heads=2, qk_width="half", components=1, mixing="single")
    a, b = (make(small(ModelConfig(attention=c))).layers[0].attention for c in (additive, plain))
    b.load_state_dict({name: tensor for name, tensor in a.state_dict().items() if ".mixing." not in f".{name}"})
    torch.testing.assert_close(run(a)[0], run(b)[0], atol=0, rtol=0)


def test_minus_lambda_on_the_second_component_is_differential_attention_before_its_norm():
    differential = layer("differential", head_norm=False)
    additive = layer("ndt-free-n2")
    additive.load_state_dict(
        {**differential.state_dict(), **{k: v for k, v in additive.state_dict().items() if k.startswith("mixing")}},
        strict=False,
    )
    lam = differential.mixing.lambdas()
    with torch.no_grad():
        additive.mixing.beta.copy_(-lam)
        additive.mixing.alpha.copy_(-lam)
    torch.testing.assert_close(run(additive)[0], run(differential)[0])
