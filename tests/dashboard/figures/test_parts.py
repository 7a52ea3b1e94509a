"""What a model has besides its maps, as rows, tables and curves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_models import make, small

from core.interpret.sentence import inspect_text
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizers import fit_tokenizer
from core.training.history import History
from dashboard.figures import parts
from dashboard.figures.curves import number_lines
from dashboard.figures.parts import token_rows
from dashboard.figures.theme import DARK, LIGHT, Look, shade


def read(preset: str, words: str = "not a bad film"):
    """A reading of these words by a small model of a preset, with the tags and polarities it needs; and the model."""
    config = small(PRESETS[preset].model)
    text = TextConfig(
        min_freq=1, tagger="en" if config.needs_tags else "none", lexicon="vader" if config.needs_lexicon else ""
    )
    tokenizer = fit_tokenizer(["not a bad film"] * 3, text)
    model = make(config, torch.float32)
    return inspect_text(model, tokenizer, ("a", "b", "c"), words), model


def test_gates_polarity_and_factors_of_sentiformer():
    seen, model = read("sentiformer")
    rows = parts.gate_rows(seen)
    assert [row.name for row in rows] == ["layer 1", "layer 2"]
    assert all(row.values.shape == (5,) and row.values[0] == 1 for row in rows), "the class token is wide open"
    assert parts.tag_names(seen)[0] == "" and len(parts.tag_names(seen)) == 5
    table = parts.number_table(parts.view_scalars(seen))
    assert table["number"].tolist() == ["α", "β", "γ"]
    assert float(table["learned"][0]) == pytest.approx(model.scalars()["alpha"][0], abs=5e-4)
    assert parts.seen(seen, 0).weights.shape == (1, 5, 5)
    assert {"part of speech", "gate, layer 1"} <= set(parts.token_table(seen).columns)


def test_temperatures_of_the_tweet_encoder_and_nothing_else():
    seen, model = read("tweet-v1-p2")
    assert parts.number_table(parts.view_scalars(seen))["learned"].tolist() == [
        ", ".join(f"{value:.3f}" for value in model.scalars()["tau"])
    ]
    assert parts.gate_rows(seen) == [] and parts.polarity_rows(seen) == [] and parts.seen(seen, 0) is None
    assert list(parts.token_table(seen).columns) == ["place", "token"]


@pytest.mark.parametrize(("preset", "name"), [("lexical-last", "added"), ("lexical-hadamard", "multiplied")])
def test_sigma_is_the_product_of_the_polarities_in_the_last_head(preset, name):
    seen, _ = read(preset)
    row = parts.sigma(seen, 0)
    assert row.name.startswith(name)
    np.testing.assert_allclose(row.weights[0], seen.polarity @ seen.polarity.T - 1 / 3, atol=1e-6)
    assert row.weights[0, 3, 3] > 0 and abs(row.weights[0, 1, 3]) < 1e-6, "bad with itself, and with not"
    rows = parts.polarity_rows(seen)
    np.testing.assert_allclose(sum(row.values for row in rows), 1, rtol=1e-6)


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_what_speaks_for_the_positive_class_is_blue_and_for_the_negative_class_orange(tokens):
    rows = parts.polarity_rows(read("lexical-last")[0])
    look, words = Look(dark=tokens is DARK), ["[CLS]", "not", "a", "bad", "film"]
    chart = token_rows(rows, words, look, label="polarity", top=2 / 3, zero=1 / 3)
    (heat,) = chart.data
    drawn = {row: [shade(tokens, value, heat.zmax) for value in line] for row, line in zip(heat.y, heat.z, strict=True)}
    bad = len(drawn["positive"]) - 2
    assert drawn["negative"][bad] in tokens.minus_scale[1:] and drawn["positive"][bad] in tokens.minus_scale
    assert not set(drawn["negative"] + drawn["positive"]) & set(tokens.plus_scale[1:])  # no word here is positive
    assert set(drawn["neutral"]) == {tokens.paper}
    assert heat.customdata[2][bad] == pytest.approx(rows[2].values[bad])  # the number on hover is the lexicon's own


def test_of_an_empty_text_nothing_is_averaged(recwarn):
    seen, _ = read("inceptive-16", "")
    assert parts.head_reading(seen) == [] and parts.token_table(seen).empty
    assert not recwarn.list


def test_branches_and_the_attention_of_the_inceptive_head():
    seen, _ = read("inceptive-16")
    assert [row.name for row in parts.branch_rows(seen)] == [f"{k} tokens wide" for k in (2, 3, 5, 7)]
    (reading,) = parts.head_reading(seen)
    assert reading.values.sum() == pytest.approx(1, abs=1e-5)


def test_lambda_of_each_token():
    seen, _ = read("differential-v2")
    rows = parts.lambda_rows(seen, minus=True)
    assert [row.name for row in rows] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    np.testing.assert_allclose(rows[0].values, seen.layers[0].coefficients[1].mean(0))


def test_the_course_of_numbers_has_a_line_for_each_layer():
    rows = [
        {"kind": "step", "step": 0, "epoch": 0, "scalars": {"tau": [1.0, 1.0], "alpha": [1.0]}},
        {"kind": "step", "step": 5, "epoch": 0, "scalars": {"tau": [1.2, 0.9], "alpha": [1.1]}},
        {"kind": "epoch", "step": 10, "epoch": 0, "gates": [[0.8, 0.1], [0.7, 0.2]]},
    ]
    lines = number_lines(History(rows, 0), steps_per_epoch=10)
    assert list(lines) == ["τ", "α", "mean gate"]
    assert [line.y for line in lines["τ"]] == [(1.0, 1.2), (1.0, 0.9)]
    assert lines["α"][0].x == (0.0, 0.5)
    assert [line.y for line in lines["mean gate"]] == [(0.8,), (0.7,)]
    assert len(parts.numbers_table(lines)) == 8
    assert number_lines(History([], 0), 10) == {}


def test_a_record_tells_its_numbers_and_what_its_lexicon_does_not_know():
    from core.config import compose
    from core.runs.record import RunRecord

    results = {
        "scalars": {"tau": [1.5, 0.25]},
        "gates": [[0.9, 0.05]],
        "neutral_share": {"validation": 0.5, "test": 0.884, "extra": None},
    }
    record = RunRecord("a", "lexical-last", "done", compose("lexical-last"), "", results=results)
    rows = parts.record_numbers(record).set_index("number")["learned"].to_dict()
    assert rows == {
        "τ": "1.500, 0.250",
        "gate": "0.90 ± 0.05",
        "neutral tokens": "validation 50.0 %, test 88.4 %",
    }
