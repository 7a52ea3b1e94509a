"""Attention over many texts, against plain NumPy on the maps of each text alone."""

import math

import numpy as np
import pytest
import torch
from small_readers import reader

from core.interpret.attention_findings import describe_distance, describe_gates, is_apart, iterate_findings, name_part
from core.interpret.sentence_inspection import inspect_text
from core.interpret.split_attention import (
    OF_MAPS,
    compute_js_distance,
    describe_split,
    estimate_means,
    find_token_kinds,
    measure_split,
    measure_texts,
    split_by_length,
)
from core.text.token_table import build_token_table

TEXTS = [
    "very very good , but never bad",
    "never good",
    "bad , very bad",
    "good , very good",
    "but very very bad , never good",
    "",
]
CLASSES = ("bad", "good")
PRESETS = ("ndt-pm1-n3", "differential", "sentiformer", "lexical-all", "inceptive-64")


def measured(own, texts=TEXTS):
    table = build_token_table(own.tokenizer, texts)
    kinds = find_token_kinds(own.tokenizer, texts, table)
    return measure_texts(own.model, table, kinds), kinds, table


def entropy(rows):
    return -(rows * np.log(np.where(rows > 0, rows, 1))).sum(-1)


@pytest.mark.parametrize("preset", PRESETS)
def test_measures_of_maps_are_those_of_plain_numpy(preset):
    own = reader(preset)
    found, kinds, table = measured(own)
    for row, text in enumerate(TEXTS[:-1]):
        view = inspect_text(own.model, own.tokenizer, CLASSES, text)
        for layer, shown in enumerate(view.layers):
            maps = shown.components.astype(float).transpose(1, 0, 2, 3)  # (H, N, L, L)
            length = maps.shape[-1]
            places = np.arange(length)
            valid = np.full(length, length) if shown.support is None else shown.support.sum(-1)
            received = maps.mean(2)
            several = valid > 1
            shares = entropy(maps)[..., several] / np.log(valid[several])
            wanted = [entropy(maps).mean(-1), shares.mean(-1), entropy(received), entropy(received) / math.log(length)]
            apart = np.abs(places[:, None] - places)
            wanted += [np.exp(entropy(maps)).mean(-1), (maps * apart).sum(-1).mean(-1)]
            assert len(wanted) == len(OF_MAPS)
            np.testing.assert_allclose(found["maps"][row, layer], np.stack(wanted, -1), atol=2e-5)
            first = own.model.first
            has = kinds.has[table.offsets[row] : table.offsets[row + 1]]
            masses = [received[..., 0] if first else 0 * received[..., 0], received[..., first]]
            masses += [received[..., first:][..., has[:, kind]].sum(-1) for kind in range(has.shape[1])]
            np.testing.assert_allclose(found["mass"][row, layer], np.stack(masses, -1), atol=1e-5)
            np.testing.assert_allclose(
                found["output"][row, layer], np.linalg.norm(shown.head_outputs, axis=-1).mean(-1), atol=1e-5
            )


def test_a_text_without_tokens_is_left_out_and_counted():
    found, kinds, table = measured(reader("ndt-pm1-n3"))
    assert np.isnan(found["maps"][-1]).all() and np.isfinite(found["maps"][:-1]).all()
    told = describe_split(found, found, kinds, TEXTS, table)
    assert (told["texts"], told["left_out"]) == (5, 1)
    assert sorted(np.concatenate(list(split_by_length(table))).tolist()) == [0, 1, 2, 3, 4]


def test_deviation_and_rollout_are_those_of_plain_numpy():
    own = reader("lexical-all")
    found, *_ = measured(own)
    for row, text in enumerate(TEXTS[:-1]):
        whole = None
        for layer, shown in enumerate(inspect_text(own.model, own.tokenizer, CLASSES, text).layers):
            mean = shown.combined.mean(0).astype(float)
            wanted = [mean[0, 1:].std(ddof=1), mean[1:, 0].std(ddof=1)]
            np.testing.assert_allclose(found["deviation"][row, layer], wanted, atol=1e-6)
            step = (mean / mean.sum(-1, keepdims=True) + np.eye(len(mean))) / 2
            whole = step if whole is None else step @ whole
            assert found["rollout"][row, layer] == pytest.approx(whole[:, 0].mean(), abs=1e-6)


def test_gates_are_the_mean_over_all_tokens_of_a_kind():
    own = reader("sentiformer")
    found, kinds, table = measured(own)
    told = describe_split(found, found, kinds, TEXTS, table)["gates"]
    gates, has = [], []
    for row, text in enumerate(TEXTS[:-1]):
        view = inspect_text(own.model, own.tokenizer, CLASSES, text)
        gates.append(np.stack([layer.gates[1:] for layer in view.layers]))
        has.append(kinds.has[table.offsets[row] : table.offsets[row + 1]])
    gates, has = np.concatenate(gates, 1), np.concatenate(has)
    assert {row["measure"] for row in told} == {name for name, one in zip(kinds.names, has.any(0), strict=True) if one}
    for row in told:
        own_kind = has[:, kinds.names.index(row["measure"])]
        assert (row["n"], row["value"]) == (own_kind.sum(), pytest.approx(gates[row["layer"] - 1, own_kind].mean()))
        assert row["control"]["all"]["value"] == pytest.approx(gates[row["layer"] - 1].mean())


def test_the_head_of_its_own_is_measured_against_the_last_layer():
    own = reader("inceptive-64")
    found, kinds, table = measured(own, TEXTS[:1])
    view = inspect_text(own.model, own.tokenizer, CLASSES, TEXTS[0])
    received = view.head_maps.mean(1).astype(float)
    np.testing.assert_allclose(found["head"][0, :, 0], entropy(received), atol=1e-5)
    np.testing.assert_allclose(found["head"][0, :, 2], received[:, 0], atol=1e-6)
    rows = describe_split(found, found, kinds, TEXTS[:1], table)["received"]
    last = entropy(view.layers[-1].combined.mean(1).astype(float)).mean()
    assert rows[0]["control"]["last layer"]["value"] == pytest.approx(last, abs=1e-5)


def test_js_distance_is_scipys_and_estimates_are_means_with_intervals_over_texts():
    from scipy.spatial.distance import jensenshannon

    one, other = torch.rand(2, 6, generator=torch.Generator().manual_seed(0)).double()
    one, other = one / one.sum(), other / other.sum()
    assert float(compute_js_distance(one, other)) == pytest.approx(jensenshannon(one, other, base=2))
    ends = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    assert float(compute_js_distance(*ends)) == 1 and float(compute_js_distance(one, one)) == 0
    found = estimate_means(np.array([[1.0, np.nan], [2.0, 5.0], [6.0, 7.0]]))
    assert found.value.tolist() == [3, 6] and found.low[0] < 3 < found.high[0]
    assert math.isnan(found.low[1])  # a resample may hold only the first text
    ratio = estimate_means(np.array([[2.0], [6.0]]), np.array([[4.0], [4.0]]))
    assert ratio.value.tolist() == [1] and (ratio.low[0], ratio.high[0]) == (0.5, 1.5)
    assert estimate_means(np.full((3, 1), np.nan)).describe(0) == {"value": None, "interval": None}


def plant(own, sizes):
    """Make the component maps of all layers: the keys of each component are those of the first, times a number."""
    with torch.no_grad():
        for layer in own.model.layers:
            for name in ("query", "key"):
                weight = getattr(layer.attention, name).weight
                parts = weight.view(own.model.components, -1, weight.shape[1])
                parts.copy_(parts[:1] * torch.tensor(sizes).view(-1, 1, 1) ** (name == "key"))
                bias = getattr(layer.attention, name).bias
                if bias is not None:
                    bias.zero_()


def distances(own, texts):
    found = measure_split(own.model, reader("ndt-pm1-n2").model, own.tokenizer, texts)
    return [row for row in found["distance"] if row["measure"] == "Jensen–Shannon"], found


def test_identical_components_are_within_their_controls_and_planted_ones_outside():
    texts = [text for text in TEXTS if text] * 4
    own = reader("ndt-pm1-n2")
    plant(own, (1.0, 1.0))
    rows, found = distances(own, texts)
    assert [row["value"] for row in rows] == pytest.approx([0] * len(rows), abs=1e-3)
    assert not any(row["outside"] for row in rows) and describe_distance(found).startswith(f"0 of {len(rows)} pairs")
    plant(own, (60.0, -60.0))
    rows, found = distances(own, texts)
    assert all(row["outside"] for row in rows if row["layer"] == 1), rows
    for row in rows:
        controls = [row["control"][name]["value"] for name in ("exchanged", "untrained")]
        assert row["outside"] == (row["interval"][0] > max(each["interval"][1] for each in row["control"].values()))
        assert row["layer"] > 1 or row["value"] > max(controls)


def test_kinds_come_from_the_texts_language_and_punctuation_from_any():
    own = reader("ndt-pm1-n2")
    foreign = ["good , bad ,", "bad"]
    kinds = find_token_kinds(own.tokenizer, foreign, build_token_table(own.tokenizer, foreign))
    assert kinds.names == ("punctuation",) and kinds.has[:, 0].tolist() == [False, True, False, True, False]
    assert (kinds.neutral, kinds.lexicon) == (None, "")
    english = ["it is the good and the bad of that , but not for you", "they have what you would"]
    kinds = find_token_kinds(own.tokenizer, english, build_token_table(own.tokenizer, english))
    words = [own.tokenizer.name(each) for each in build_token_table(own.tokenizer, english).flat.tolist()]
    polar = {words[place] for place in np.flatnonzero(kinds.has[:, kinds.names.index("polar words")])}
    assert polar == {"good", "bad"} and kinds.lexicon == "vader" and "determiners" in kinds.names
    assert [words[place] for place in np.flatnonzero(kinds.has[:, kinds.names.index("positive words")])] == ["good"]


def test_findings_name_parts_and_controls():
    assert name_part({"layer": 2, "head": 1, "component": 0, "other": 2}) == "head 1 of layer 2, A₀ and A₂"
    told = {"interval": [0.1, 0.2], "control": {"all": {"interval": [0.3, 0.4]}, "near": {"interval": [0.2, 0.4]}}}
    assert is_apart(told, "all") and not is_apart(told, "near")
    low, high = (
        {"layer": 1, "measure": name, "value": value, "interval": [value, value], "n": 3}
        for name, value in (("determiners", 0.2), ("nouns", 0.9))
    )
    every = {"all": {"value": 0.5, "interval": [0.4, 0.6]}}
    said = describe_gates({"gates": [{**low, "control": every}, {**high, "control": every}]})
    assert said == (
        "Gates are lowest for determiners in layer 1 (0.20) and highest for nouns in layer 1 (0.90); all words: 0.50."
    )
    own = reader("sentiformer")
    found = measure_split(own.model, own.model, own.tokenizer, TEXTS)
    assert set(dict(iterate_findings(found))) == {"entropy", "mass", "distance", "deviation", "gates", "neutral"}
    norms = [each["norm"] for each in found["examples"][0]["texts"]]
    assert len(norms) == 5 and norms == sorted(norms, reverse=True)
