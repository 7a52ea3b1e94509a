"""Costs on the page: the threshold follows the ratio, the figure says what it costs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from core.evaluation.costs import cheapest
from core.exceptions import InputError, NotAvailable
from dashboard.figures import answers
from dashboard.figures.calibration import COSTS
from dashboard.figures.decisions import Report
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


def report(classes: tuple[str, ...], seed: int) -> Report:
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(classes), 60)
    raw = random.random((60, len(classes))) + np.eye(len(classes))[labels]
    return Report(classes, pd.DataFrame(), labels, raw / raw.sum(1, keepdims=True))


def source(classes: tuple[str, ...] = ("bad", "good"), splits=("validation", "test"), **choices) -> Source:
    reports = {split: report(classes, seed) for seed, split in enumerate(splits)}
    reader = SimpleNamespace(evaluated_splits=lambda run: list(splits), report=lambda record, split: reports[split])
    return Source(SimpleNamespace(run="one", task="single"), reader, choices=choices)


def test_without_a_ratio_the_threshold_is_one_half_and_there_is_no_figure():
    assert answers.decision(source()).threshold == 0.5
    with pytest.raises(NotAvailable, match="--with cost=5"):
        COSTS.shape(source())


def test_with_a_ratio_the_threshold_is_the_cheapest_on_validation():
    here = source(cost="5")
    validation = here.reader.report(here.record, "validation")
    expected = cheapest(validation.labels == 1, validation.probabilities[:, 1], 5)
    assert answers.decision(here).threshold == expected != 0.5
    shown = COSTS.shape(here)
    assert shown.chosen and shown.threshold == expected and list(shown.curves) == ["validation", "test"]
    assert shown.here["cost"] <= 1.5 * shown.without


def test_a_moved_threshold_stands_and_is_not_called_the_cheapest():
    here = source(cost=5, threshold=0.9)
    assert answers.decision(here).threshold == 0.9
    shown = COSTS.shape(here)
    assert "the cheapest" not in COSTS.say(COSTS.reading, shown)
    own = here.report.labels == 1
    assert shown.here["false_negatives"] == (own & (here.report.probabilities[:, 1] <= 0.9)).sum()


def test_of_three_classes_one_must_be_chosen():
    with pytest.raises(NotAvailable, match="--with rule=CLASS"):
        COSTS.shape(source(("a", "b", "c")))
    with pytest.raises(InputError, match="nothing to choose"):
        source(("a", "b", "c"), cost=5).chosen(answers.COST)
    shown = COSTS.shape(source(("a", "b", "c"), rule="b", cost=5))
    assert shown.name == "b" and "a miss of b costs 5 false positives" in COSTS.say(COSTS.note, shown)


def test_where_validation_was_not_evaluated_there_is_no_such_threshold():
    with pytest.raises(NotAvailable, match="validation, which was not evaluated"):
        answers.decision(source(splits=("test",), cost=5))


def test_the_figure_marks_the_threshold_on_the_curve():
    shown = COSTS.shape(source(cost=3))
    drawn = COSTS.draw(shown, Look())
    ring = next(trace for trace in drawn.data if trace.mode == "markers")
    assert ring.x[0] == shown.threshold and ring.y[0] == shown.here["cost"]
    assert COSTS.numbers(shown)["Costs"].columns.tolist() == ["threshold", "validation", "test"]
