"""Unsure under dropout: two numbers against their definition, one entry in closed form, and who has none."""

import math

import numpy as np
import pytest
import torch
from answering import answering, texts
from torch import nn
from trained_runs import TINY, write_films

from core.api.public_classes import Run, train
from core.error_analysis import mc_dropout
from core.error_analysis.mc_dropout import DropoutUncertainty
from core.error_analysis.predictions_table import read_table
from core.error_analysis.tags import TableTags
from core.exceptions import InputError
from core.models.dropout import Dropout, activate_dropout
from core.runs.store import RunStore

NAME = "unsure under dropout"


def test_flips_and_spread_equal_their_definition():
    said = np.array([[True, False], [True, False]])
    first = np.array([[True, False], [False, True]])
    answers = np.array([said, said, said, first, first])
    chances = np.array([[0.9, 0.6], [0.9, 0.6], [0.9, 0.6], [0.9, 0.1], [0.9, 0.1]])
    flips, spread = mc_dropout.measure_spread(said, answers, chances)
    assert flips.tolist() == [0.0, 0.4] and spread[0] == 0
    assert spread[1] == pytest.approx(math.sqrt(0.6 * 0.4) * 0.5)  # two values, 0.5 apart, 3 to 2
    measured = {"flips": [0.19, 0.2, 0.0], "spread": [0.14, 0.0, 0.15]}
    assert mc_dropout.find_uncertain(measured).tolist() == [False, True, True]


def test_dropout_spread_equals_the_closed_form():
    """x is 0 with probability p, else x / (1 - p): mean x, variance x² p / (1 - p); without dropout always x."""
    x, p = torch.full((200_000,), 3.0), 0.25
    model = nn.Sequential(Dropout(p))
    assert torch.equal(model.eval()(x), x)
    found = activate_dropout(model, 0).eval()(x)
    assert set(found.tolist()) == {0.0, 4.0} and torch.equal(model.eval()(x), x), "the model itself is not touched"
    assert found.mean().item() == pytest.approx(3, abs=0.03)
    assert found.var().item() == pytest.approx(9 * p / (1 - p), rel=0.02)
    assert torch.equal(activate_dropout(model, 7)(x), activate_dropout(model, 7)(x)) and not torch.equal(
        activate_dropout(model, 8)(x), found
    )
    assert torch.equal(activate_dropout(nn.Sequential(Dropout(0.0)), 0)(x), x)


@pytest.mark.slow
def test_the_dropout_tag_is_computed_once_and_reproducible(tmp_path):
    films = write_films(tmp_path / "films.csv", {"yes": ("good",), "no": ("bad",)}, 40)
    made = train(str(films), "vanilla", {**TINY, "model.dropout": 0.5}, name="dropped")
    store = made.store
    assert "--unsure" in made.errors(tags=True)["absent"][NAME]
    heard = []
    found = made.errors(tags=True, unsure=True, where="all", on_progress=lambda what, share: heard.append(what))
    assert heard.count("reading with dropout on") == mc_dropout.READINGS and NAME not in found["absent"]
    table = read_table(store, "dropped")
    has = TableTags(store, table).match_tag(NAME)
    assert [NAME in row["tags"] for row in found["rows"]] == has.tolist()
    here = DropoutUncertainty.from_run(store, table.record, table.split)
    before = here.get_path("json").read_bytes()
    made.errors(unsure=True, on_progress=lambda what, share: heard.append(what))
    assert heard.count("reading with dropout on") == mc_dropout.READINGS, "kept"
    here.get_path("json").unlink()
    mc_dropout.find_tagged(store, table)
    assert here.get_path("json").read_bytes() == before, "seeded"


@pytest.mark.slow
def test_runs_without_dropout_have_no_tag_and_a_reason(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "whole", [[0.2, 0.8]], texts([0]), model__dropout=0.0)
    answering(store, "counted", [[0.2, 0.8]], texts([0]), preset="tfidf-logreg")
    answering(store, "bare", [[0.2, 0.8]], texts([0]))
    reasons = {"whole": "its dropout is 0", "counted": "a baseline has no dropout", "bare": "it has no weights"}
    for name, why in reasons.items():
        with pytest.raises(InputError, match=why):
            TableTags(store, read_table(store, name)).match_tag(NAME)
    with pytest.raises(InputError, match="--unsure: run 'whole' cannot be read with dropout on: its dropout is 0"):
        Run("whole", store).errors(unsure=True)
