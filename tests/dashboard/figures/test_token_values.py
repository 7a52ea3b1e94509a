"""Values of each token and other learned numbers, as rows, tables and cells."""

import numpy as np
import pytest
from stepping import read_values as read

from core.config import compose
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.figures import token_values
from dashboard.figures.theme import DARK, LIGHT, Look, shade_signed
from dashboard.figures.training_log import build_number_lines


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "name"), [("lexical-last", "added"), ("lexical-hadamard", "multiplied")])
def test_sigma_is_the_product_of_polarities_in_the_last_head(preset, name):
    seen, _ = read(preset)
    row = token_values.compute_lexicon_effect(seen, 0, slice(-1, None))
    assert row.name.startswith(name)
    np.testing.assert_allclose(row.weights[0], seen.polarity @ seen.polarity.T - 1 / 3, atol=1e-6)
    assert row.weights[0, 3, 3] > 0 and abs(row.weights[0, 1, 3]) < 1e-6, "bad with itself, and with not"
    np.testing.assert_allclose(sum(row.values for row in token_values.build_polarity_rows(seen)), 1, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_each_of_two_separate_lexicons_is_shown_in_its_first_head(strength):
    seen, _ = read("lexical-all", lexicons=2, lexical_heads="apart", lexical_strength=strength)
    row = token_values.compute_lexicon_effect(seen, 0, slice(2))
    for k, weights in enumerate(row.weights):
        polarity = seen.polarity[:, 3 * k : 3 * k + 3]
        np.testing.assert_allclose(weights, strength * (polarity @ polarity.T - 1 / 3), atol=1e-5)
    assert [row.name for row in token_values.build_polarity_rows(seen)][2:4] == ["negative 1", "positive 2"]


@pytest.mark.slow
def test_two_lexicons_in_one_head_are_relative_to_a_neutral_word():
    seen, _ = read("lexical-all", lexicons=2)
    first, second = seen.polarity[:, :3], seen.polarity[:, 3:]
    added = first @ first.T + second @ second.T
    effect = token_values.compute_lexicon_effect(seen, 0, slice(-1, None))
    np.testing.assert_allclose(effect.weights[0], added - 2 / 3, atol=1e-5)


def test_gates_polarity_and_factors_of_sentiformer_are_shown():
    seen, model = read("sentiformer")
    rows = token_values.build_gate_rows(seen)
    assert [row.name for row in rows] == ["layer 1", "layer 2"]
    assert all(row.values.shape == (5,) and row.values[0] == 1 for row in rows), "the class token is wide open"
    assert token_values.read_pos_tags(seen)[0] == "" and len(token_values.read_pos_tags(seen)) == 5
    table = token_values.build_number_table(token_values.read_view_scalars(seen))
    assert table["number"].tolist() == ["α", "β", "γ"]
    assert float(table["learned"][0]) == pytest.approx(model.get_scalars()["alpha"][0], abs=5e-4)
    assert token_values.read_support(seen, 0).weights.shape == (1, 5, 5)
    assert {"part of speech", "gate, layer 1"} <= set(token_values.build_token_table(seen).columns)


@pytest.mark.slow
@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_positive_effects_are_blue_and_negative_ones_orange(theme):
    rows = token_values.build_polarity_rows(read("lexical-last")[0])
    look, words = Look(dark=theme is DARK), ["[CLS]", "not", "a", "bad", "film"]
    (heat,) = token_values.draw_token_rows(rows, words, look, label="polarity", top=2 / 3, zero=1 / 3).data
    lines = zip(heat.y, heat.z, strict=True)
    drawn = {row: [shade_signed(theme, value, heat.zmax) for value in line] for row, line in lines}
    bad = len(drawn["positive"]) - 2
    assert drawn["negative"][bad] in theme.minus_scale[1:] and drawn["positive"][bad] in theme.minus_scale
    assert not set(drawn["negative"] + drawn["positive"]) & set(theme.plus_scale[1:])  # no word is positive
    assert set(drawn["neutral"]) == {theme.paper}
    assert heat.customdata[2][bad] == pytest.approx(rows[2].values[bad])  # hover shows the value of the lexicon


def test_branches_and_head_attention_are_shown_and_an_empty_text_has_none(recwarn):
    seen, _ = read("inceptive-16")
    assert [row.name for row in token_values.build_branch_rows(seen)] == [f"{k} tokens wide" for k in (2, 3, 5, 7)]
    (reading,) = token_values.read_head_attention(seen)
    assert reading.values.sum() == pytest.approx(1, abs=1e-5)
    seen, _ = read("inceptive-16", "")
    assert token_values.read_head_attention(seen) == [] and token_values.build_token_table(seen).empty
    assert not recwarn.list


def test_lambda_is_shown_for_each_token_and_a_tweet_encoder_shows_its_temperatures():
    seen, _ = read("differential-v2")
    rows = token_values.build_lambda_rows(seen, minus=True)
    assert [row.name for row in rows] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    np.testing.assert_allclose(rows[0].values, seen.layers[0].coefficients[1].mean(0))
    seen, model = read("tweet-v1-p2")
    assert token_values.build_number_table(token_values.read_view_scalars(seen))["learned"].tolist() == [
        ", ".join(f"{value:.3f}" for value in model.get_scalars()["tau"])
    ]
    assert token_values.build_gate_rows(seen) == []
    assert token_values.build_polarity_rows(seen) == []
    assert token_values.read_support(seen, 0) is None
    assert list(token_values.build_token_table(seen).columns) == ["place", "token"]


def test_learned_numbers_have_curves_and_are_listed_with_the_share_missing_in_the_lexicon():
    rows = [
        {"kind": "step", "step": 0, "epoch": 0, "scalars": {"tau": [1.0, 1.0], "alpha": [1.0]}},
        {"kind": "step", "step": 5, "epoch": 0, "scalars": {"tau": [1.2, 0.9], "alpha": [1.1]}},
        {"kind": "epoch", "step": 10, "epoch": 0, "gates": [[0.8, 0.1], [0.7, 0.2]]},
    ]
    lines = build_number_lines(History(rows, 0), steps_per_epoch=10)
    assert list(lines) == ["τ", "α", "mean gate"] and [line.y for line in lines["τ"]] == [(1.0, 1.2), (1.0, 0.9)]
    assert lines["α"][0].x == (0.0, 0.5) and [line.y for line in lines["mean gate"]] == [(0.8,), (0.7,)]
    assert len(token_values.build_history_table(lines)) == 8 and build_number_lines(History([], 0), 10) == {}
    shares = {"validation": 0.5, "test": 0.884, "extra": None}
    results = {"scalars": {"tau": [1.5, 0.25]}, "gates": [[0.9, 0.05]], "neutral_share": shares}
    record = RunRecord("a", "lexical-last", "done", compose("lexical-last"), "", results=results)
    rows = token_values.read_run_numbers(record).set_index("number")["learned"].to_dict()
    assert rows == {"τ": "1.500, 0.250", "gate": "0.90 ± 0.05", "neutral tokens": "validation 50.0 %, test 88.4 %"}
