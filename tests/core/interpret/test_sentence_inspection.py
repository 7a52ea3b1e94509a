import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from small_models import LONGEST, make, small
from stepping import read_values as read

from core.interpret.sentence_inspection import (
    CLASS_TOKEN,
    PADDING,
    SentenceView,
    compute_cancellation,
    inspect_text,
    to_json_data,
)
from core.interpret.trace_summary import is_mostly_unknown, warn_unknown
from core.models.baselines import BagOfNgrams
from core.models.presets import PRESETS
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer

CLASSES = ("negative", "neutral", "positive")
TOKENIZER = fit_tokenizer(["a good film", "a bad film", "not bad at all"] * 2, TextConfig(max_length=8))


def test_entropy_is_that_of_the_rows_as_a_share_of_uniform():
    maps = np.random.default_rng(0).dirichlet([0.5] * 3, (2, 4, 3))  # (N, H, L, L)
    maps[0, 0, 0] = [1.0, 0.0, 0.0]

    def measure(maps, support=None, **more):
        about = {"tokens": ("a", "b", "c"), "filled": None, "too_long": False, **more}
        return SentenceView.measure_entropy(
            SimpleNamespace(layers=(SimpleNamespace(components=maps, support=support),), **about), 0
        )

    wanted = stats.entropy(maps, axis=-1).mean((1, 2)) / np.log(3)
    assert measure(maps) == pytest.approx(wanted) and wanted[0] < 1
    assert measure(np.full((1, 2, 3, 3), 1 / 3)) == pytest.approx([1.0])
    near = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], bool)
    half = np.broadcast_to(np.array([[0.5, 0.5, 0], [0.9, 0.1, 0], [0, 0, 1.0]]), (1, 2, 3, 3))
    assert measure(half, near) == pytest.approx([(1 + stats.entropy([0.9, 0.1]) / np.log(2)) / 2])
    assert measure(maps, filled=4) is measure(maps, tokens=("a",)) is measure(maps, too_long=True) is None


def model(preset="ndt-pm1-n3", **change):
    return make(dataclasses.replace(small(PRESETS[preset].model), **change), torch.float32)


def test_maps_and_prediction_equal_a_traced_call_and_unread_tokens_are_reported():
    m = model()
    view = inspect_text(m, TOKENIZER, CLASSES, "Not a GOOD film")
    ids = torch.tensor([TOKENIZER.encode("not a good film").ids])
    output = m(Batch(ids, torch.ones_like(ids, dtype=torch.bool)), trace=True)
    assert view.tokens == ("not", "a", "good", "film") and view.read_as == "not a good film"
    assert list(view.probabilities) == list(CLASSES)
    np.testing.assert_allclose(list(view.probabilities.values()), output.logits[0].softmax(-1).detach(), atol=1e-6)
    assert view.label == CLASSES[int(output.logits[0].argmax())]
    for shown, layer in zip(view.layers, output.trace.layers, strict=True):
        np.testing.assert_allclose(shown.components, layer.maps[0].detach(), atol=1e-6)
        np.testing.assert_allclose(shown.combined, layer.combined[0].detach(), atol=1e-6)
        assert shown.coefficients.shape == (3, 2, 4)
    view = inspect_text(model(), TOKENIZER, CLASSES, "a <unk> zebra film " + "bad " * 9)
    assert view.tokens[:5] == ("a", "<", "unk", ">", "zebra") and view.unknown[:5] == (False, True, True, True, True)
    assert len(view.tokens) == 8 and view.truncated == 15 - 8
    assert view.unknown_words == 2 / 13  # of all words, the cut ones too, without the marks


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, ""),
        (0.49, ""),
        (0.5, "50 % of the words are unknown to the run."),
        (1.0, "The run knows no word of this text."),
    ],
)
def test_mostly_unknown_texts_have_a_warning(share, said):
    assert warn_unknown(share) == said and is_mostly_unknown(share) == bool(said)


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_text_without_tokens_has_a_prediction_and_empty_maps(text):
    view = inspect_text(model(), TOKENIZER, CLASSES, text)
    assert view.tokens == () and sum(view.probabilities.values()) == pytest.approx(1)
    assert all(layer.combined.shape == (2, 0, 0) for layer in view.layers)


def test_a_class_token_comes_first_and_layers_or_maps_that_are_missing_have_a_reason(monkeypatch):
    view = inspect_text(model(pooling="cls"), TOKENIZER, CLASSES, "good film")
    assert view.tokens == (CLASS_TOKEN, "good", "film") and view.layers[0].combined.shape == (2, 3, 3)
    assert inspect_text(BagOfNgrams(vocabulary=TOKENIZER.size, classes=3), TOKENIZER, CLASSES, "good").layers == ()
    monkeypatch.setattr("core.models.attention.DENSE_TRACE", 2)
    attention = dataclasses.replace(PRESETS["ndt-pm1-n3"].model.attention, window=2)
    assert inspect_text(model(attention=attention), TOKENIZER, CLASSES, "not a good film at all").too_long


@pytest.mark.slow
def test_json_data_have_every_part_of_the_model():
    for preset, wanted in {
        "sentiformer": {"tags", "positions", "gates"},
        "tweet-v1-p2": {"temperature"},
        "lexical-last": {"polarity", "terms"},
        "inceptive-16": {"branches", "head_maps"},
    }.items():
        view, _ = read(preset)
        data = json.loads(json.dumps(to_json_data(view), allow_nan=False))
        parts = {**data["layers"][0], **{name: value for name, value in data.items() if name != "layers"}}
        optional = {"tags", "polarity", "positions", "branches", "head_maps", "gates", "temperature", "terms"}
        assert {name for name in optional if parts[name]} == wanted


def measure_share(components, coefficients):
    """One head: `components` (N, L, L), `coefficients` (N,) of every token."""
    maps = np.array(components, np.float32)[:, None]
    c = np.broadcast_to(np.array(coefficients, np.float32)[:, None, None], maps.shape[:3])
    return compute_cancellation(maps, c)


def test_cancellation_equals_the_formula():
    first, second = [[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [1.0, 0.0]]
    # reader 1: |0.75 - 0.125| + |0.25 - 0.375| of 1.5; reader 2: |0.5 - 0.5| + 0.5 of 1.5
    assert measure_share([first, second], [1, -0.5]) == pytest.approx([((1 - 0.75 / 1.5) + (1 - 0.5 / 1.5)) / 2])
    same = [[0.75, 0.25], [0.5, 0.5]]
    assert measure_share([same, same], [1, -1]) == pytest.approx([1])
    assert measure_share([same, same, same], [1, -0.5, -0.5]) == pytest.approx([1])
    assert measure_share([same, same, same], [1, 0.5, 0.2]) == pytest.approx([0])
    assert measure_share([same, same], [1, 0]) == pytest.approx([0])
    assert measure_share([same, same], [0, 0]) == pytest.approx([0])
    assert measure_share([np.eye(2), np.eye(2)[::-1]], [1, -0.5]) == pytest.approx([0])
    blind = [[0.75, 0.25], [0.0, 0.0]]
    assert measure_share([blind, blind], [1, -1]) == pytest.approx([1])


def test_cancellation_ignores_padding_and_needs_several_maps():
    first = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]
    second = [*first[:2], [1.0, 0.0, 0.0]]
    maps, c = np.array([first, second])[:, None], np.array([1.0, -1.0])[:, None, None] * np.ones(3)

    def view(n):
        layer = SimpleNamespace(components=maps[:n], coefficients=c[:n])
        return SimpleNamespace(layers=(layer,), tokens=("a", "b", "[PAD] × 4"), filled=4, too_long=False)

    assert SentenceView.measure_cancellation(view(2), 0) == pytest.approx([1])
    assert SentenceView.measure_cancellation(view(1), 0) is None


SHORT = fit_tokenizer(["a good film", "a bad film", "not bad at all"] * 2, TextConfig(max_length=LONGEST))
TEXT = "not bad at all"
EITHER = pytest.mark.parametrize("preset", ["tweet-v1-p1", "tweet-v6-p2"])


def build_released(preset: str, **change) -> torch.nn.Module:
    return make(dataclasses.replace(small(PRESETS[preset].model), pad_mode="as_released", **change), torch.float32)


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
    view = inspect_text(model, SHORT, CLASSES, TEXT)
    maps, chances = compute_naive(model, SHORT.encode(TEXT).ids)
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


@EITHER
def test_full_texts_have_no_padding_and_empty_texts_only_padding(preset):
    view = inspect_text(build_released(preset), SHORT, CLASSES, "bad " * LONGEST)
    assert len(view.tokens) == LONGEST and view.filled == 0
    assert to_json_data(view)["padding"] == {
        "places": 0,
        "weight": [[0.0] * len(each.combined) for each in view.layers],
    }
    view = inspect_text(build_released(preset), SHORT, CLASSES, "")
    assert view.tokens == (f"{PADDING} × {LONGEST}",)
    for layer in view.layers:
        np.testing.assert_allclose(layer.combined, 1, atol=1e-6)


@pytest.mark.parametrize("change", [{"pooling": "mean"}, {"pooling": "cls"}])
def test_models_that_mask_padding_report_none(change):
    model = make(dataclasses.replace(small(PRESETS["tweet-v6-p2"].model), **change), torch.float32)
    view = inspect_text(model, SHORT, CLASSES, TEXT)
    assert view.filled is None and to_json_data(view)["padding"] is None
    assert (view.tokens[0] == "[CLS]") == (change["pooling"] == "cls")


def test_convolutions_their_attention_and_the_window_are_folded_too():
    head = dataclasses.replace(small(PRESETS["inceptive-16"].model).head)
    attention = small(PRESETS["sentiformer"].model).attention
    attention = dataclasses.replace(attention, heads=2)
    view = inspect_text(build_released("tweet-v1-p1", head=head, attention=attention, width=16), SHORT, CLASSES, TEXT)
    np.testing.assert_allclose(view.head_maps.sum(-1), 1, atol=1e-6)
    assert {each.shape for each in view.branches.values()} == {(5, head.channels)}
    layer = view.layers[0]
    assert layer.gates.shape == (5,) and layer.support.shape == (5, 5) and layer.support[:, 4].any()
