"""Models that read padding as text (`pad_mode` as_released), inspected, against a float64 rewrite from the paper."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from small_models import LONGEST, make, small

from core.interpret.sentence_inspection import PADDING, inspect_text, to_json_data
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer
from dashboard.inspect_html import build_page

CLASSES = ("negative", "neutral", "positive")
TOKENIZER = fit_tokenizer(["a good film", "a bad film", "not bad at all"] * 2, TextConfig(max_length=LONGEST))
TEXT = "not bad at all"
EITHER = pytest.mark.parametrize("preset", ["tweet-v1-p1", "tweet-v6-p2"])


def build_released(preset: str, **change) -> torch.nn.Module:
    config = small(PRESETS[preset].model)
    return make(dataclasses.replace(config, pad_mode="as_released", **change), torch.float32)


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias


def rotate_pairs(x: np.ndarray) -> np.ndarray:
    """Rotate interleaved pairs by position / 10000^(2j/d), positions from 0."""
    places, d = np.arange(x.shape[-2])[:, None], x.shape[-1]
    angle = places / 10000 ** (np.arange(0, d, 2) / d)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    turned[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return turned


def compute_naive(model: torch.nn.Module, ids: list[int]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return maps (H, F, F) of every layer and the probabilities, without masks: all F positions are pooled."""
    w = {name: value.double().numpy() for name, value in model.state_dict().items()}
    x = w["embedding.weight"][[*ids, *[0] * (LONGEST - len(ids))]]
    d = x.shape[1]
    second = "layers.0.attention.temperature" in w
    if not second:
        angle = np.arange(LONGEST)[:, None] / 10000 ** (np.arange(0, d, 2) / d)
        x = x + np.stack([np.sin(angle), np.cos(angle)], -1).reshape(LONGEST, d)
    heads, maps = model.layers[0].attention.heads, []
    for i in range(len(model.layers)):
        at = f"layers.{i}."

        def linear(name: str, y: np.ndarray, at: str = at) -> np.ndarray:
            return y @ w[f"{at}{name}.weight"].T + w[f"{at}{name}.bias"]

        q, k, v = (
            linear(f"attention.{name}", x).reshape(LONGEST, heads, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        if second:
            q, k = (y / np.linalg.norm(y, axis=-1, keepdims=True) for y in (rotate_pairs(q), rotate_pairs(k)))
            scores = w[f"{at}attention.temperature"] * q @ k.swapaxes(1, 2)
        else:
            scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
        maps.append(softmax(scores))
        joined = (maps[-1] @ v).swapaxes(0, 1).reshape(LONGEST, d)
        norm = (w[f"{at}attention_norm.weight"], w[f"{at}attention_norm.bias"])
        x = layer_norm(x + linear("attention.out", joined), *norm)
        hidden = np.maximum(linear("feedforward.up", x), 0)
        norm = (w[f"{at}feedforward_norm.weight"], w[f"{at}feedforward_norm.bias"])
        x = layer_norm(x + linear("feedforward.down", hidden), *norm)
    return maps, softmax(w["head.weight"] @ x.mean(0) + w["head.bias"])


@EITHER
def test_padding_is_folded_into_the_last_row_with_its_weight(preset):
    model, n = build_released(preset), 4
    view = inspect_text(model, TOKENIZER, CLASSES, TEXT)
    maps, chances = compute_naive(model, TOKENIZER.encode(TEXT).ids)
    assert view.tokens == ("not", "bad", "at", "all", f"{PADDING} × {LONGEST - n}")
    assert view.unknown == (False,) * 5 and view.filled == LONGEST - n
    np.testing.assert_allclose(list(view.probabilities.values()), chances, atol=1e-6)
    for layer, full in zip(view.layers, maps, strict=True):
        assert layer.combined.shape == (full.shape[0], n + 1, n + 1)
        np.testing.assert_allclose(layer.combined[:, :n, :n], full[:, :n, :n], atol=1e-6)
        np.testing.assert_allclose(layer.combined[:, :n, n], full[:, :n, n:].sum(-1), atol=1e-6)
        np.testing.assert_allclose(layer.combined[:, n, :n], full[:, n:, :n].mean(1), atol=1e-6)
        np.testing.assert_allclose(layer.combined.sum(-1), 1, atol=1e-6)
        np.testing.assert_allclose(layer.components.sum(-1), 1, atol=1e-6)
    padding = json.loads(json.dumps(to_json_data(view), allow_nan=False))["padding"]
    assert padding["places"] == LONGEST - 4
    np.testing.assert_allclose(padding["weight"], [full[:, :, 4:].sum(-1).mean(-1) for full in maps], atol=1e-6)
    shown = build_page(view, run="r", model="m")
    assert "[PAD] × 11 represents 11 padding tokens, which this model reads as text" in shown
    assert f"layer 1: {padding['weight'][0][0]:.3f}, " in shown and "[CLS]" not in shown


@EITHER
def test_full_texts_have_no_padding_and_empty_texts_only_padding(preset):
    view = inspect_text(build_released(preset), TOKENIZER, CLASSES, "bad " * LONGEST)
    assert len(view.tokens) == LONGEST and view.filled == 0
    assert to_json_data(view)["padding"] == {
        "places": 0,
        "weight": [[0.0] * len(each.combined) for each in view.layers],
    }
    assert "padding tokens" not in build_page(view, run="r", model="m")
    view = inspect_text(build_released(preset), TOKENIZER, CLASSES, "")
    assert view.tokens == (f"{PADDING} × {LONGEST}",)
    for layer in view.layers:
        np.testing.assert_allclose(layer.combined, 1, atol=1e-6)


@pytest.mark.parametrize("change", [{"pooling": "mean"}, {"pooling": "cls"}])
def test_models_that_mask_padding_report_none(change):
    model = make(dataclasses.replace(small(PRESETS["tweet-v6-p2"].model), **change), torch.float32)
    view = inspect_text(model, TOKENIZER, CLASSES, TEXT)
    assert view.filled is None and to_json_data(view)["padding"] is None
    assert (view.tokens[0] == "[CLS]") == (change["pooling"] == "cls")


def test_convolutions_their_attention_and_the_window_are_folded_too():
    head = dataclasses.replace(small(PRESETS["inceptive-16"].model).head)
    attention = small(PRESETS["sentiformer"].model).attention
    attention = dataclasses.replace(attention, heads=2)
    model = build_released("tweet-v1-p1", head=head, attention=attention, width=16)
    view = inspect_text(model, TOKENIZER, CLASSES, TEXT)
    np.testing.assert_allclose(view.head_maps.sum(-1), 1, atol=1e-6)
    assert {each.shape for each in view.branches.values()} == {(5, head.channels)}
    layer = view.layers[0]
    assert layer.gates.shape == (5,) and layer.support.shape == (5, 5) and layer.support[:, 4].any()
