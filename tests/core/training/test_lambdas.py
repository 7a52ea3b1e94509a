import dataclasses

import pytest
import torch
from small_models import batch_of

from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.training.loop import read_lambdas

PROBE = batch_of([[2, 3, 4], [5], []])


def tiny(**attention):
    torch.manual_seed(0)
    part = AttentionConfig(heads=2, qk_width="half", **attention)
    return build_model(ModelConfig(width=8, layers=2, ff_width=8, attention=part), vocabulary=9, classes=2)


def test_a_lambda_per_layer_is_a_list_of_numbers():
    model = tiny(components=3, mixing="additive")
    row = read_lambdas(model, PROBE)
    assert row == {"lambda": [layer[:, 0].tolist() for layer in model.get_lambdas()]}
    assert [len(layer) for layer in row["lambda"]] == [2, 2]
    own = read_lambdas(tiny(components=2, mixing="differential"), PROBE)
    assert own["lambda"][0][0] == pytest.approx(0.2, abs=0.1), "with its own sign"
    linear = build_model(dataclasses.replace(ModelConfig(), family="tfidf-logreg"), vocabulary=9, classes=2)
    assert read_lambdas(tiny(), PROBE) == read_lambdas(linear, PROBE) == {}


def test_float_values_keep_their_last_bit():
    model = tiny(components=2, mixing="additive", learn_beta=True)
    before = read_lambdas(model, PROBE)["lambda"][0][0]
    beta = model.layers[0].attention.mixing.beta
    beta.data = torch.nextafter(beta.data, beta.data + 1)
    assert 0 < abs(read_lambdas(model, PROBE)["lambda"][0][0] - before) < 1e-7


def test_lambdas_per_head_are_logged_with_their_mean():
    model = tiny(components=2, mixing="additive", lambda_per_head=True, learn_beta=True)
    model.layers[0].attention.mixing.beta.data = torch.tensor([[0.1, 0.3]])
    row = read_lambdas(model, PROBE)
    first, second = row["lambda_heads"][0][0]
    assert second > first
    assert row["lambda"][0][0] == pytest.approx((first + second) / 2)


def test_token_lambdas_are_averaged_over_real_tokens_in_evaluation_mode():
    model = tiny(components=2, mixing="differential-v2").train()
    row = read_lambdas(model, PROBE)
    assert model.training
    trace = model.eval()(PROBE, trace=True).trace
    for layer, seen in enumerate(trace.layers):
        real = -seen.coefficients[:, 1, :, :, 0].transpose(1, 2)[trace.keep]  # (tokens, H)
        assert row["lambda_heads"][layer][0] == pytest.approx(real.mean(0).tolist())
        assert row["lambda"][layer] == [pytest.approx(real.mean().item())]
