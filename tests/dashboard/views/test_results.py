"""What a run has reached, as the pages show it."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from core.config import compose
from core.exceptions import RunDamaged
from core.runs.record import RunRecord
from dashboard.views import results as views

RECORD = RunRecord(
    run="r",
    preset="vanilla",
    status="done",
    config=compose("vanilla"),
    created="",
    results={
        "metrics": {"test": {"accuracy": 0.8, "ece": 0.05, "unknown": 1.0}},
        "intervals": {"test": {"accuracy": [0.75, 0.85]}},
        "yardstick": {"splits": {"test": {"accuracy": 0.7}}},
    },
)


def test_the_first_number_has_its_interval_and_its_yardstick():
    assert views.headline(RECORD) == views.Headline(0.8, 0.75, 0.85, 0.7)
    assert views.headline(dataclasses.replace(RECORD, results={})) is None


def test_a_damaged_run_has_a_row_that_claims_nothing():
    damaged = dataclasses.replace(RECORD, status="damaged", preset="", results={})
    row = views.run_frame([damaged]).iloc[0]
    assert row.to_dict() == {"run": "r", "status": "damaged", "data": "", "model": "", "accuracy": "", "tfidf": ""}


def test_a_run_row_says_its_numbers_in_words():
    row = views.run_frame([RECORD]).iloc[0]
    assert (row["accuracy"], row["tfidf"]) == ("0.800 ± 0.050", "0.700")


SAVED = pd.DataFrame(
    {
        "text": ["a", "b", "c", "d"],
        "label": ["no", "no", "yes", "yes"],
        "predicted": ["no", "yes", "yes", "yes"],
        "probability:no": [0.9, 0.4, 0.2, 0.3],
        "probability:yes": [0.1, 0.6, 0.8, 0.7],
    }
)


def test_a_report_counts_and_ranks():
    report = views.make_report(SAVED, ("no", "yes"))
    assert report.confusion.tolist() == [[1, 1], [0, 2]]
    assert [(curve.name, curve.area) for curve in report.roc] == [("yes", 1.0)]
    assert report.examples["probability"].tolist() == [0.9, 0.6, 0.8, 0.7]
    assert report.per_class["n"].tolist() == [2, 2]
    assert views.confusion_table(report)["said yes"].tolist() == [1, 2]


def test_a_split_of_one_class_has_no_curve():
    assert views.make_report(SAVED[:2], ("no", "yes")).roc == ()


def test_predictions_of_other_classes_are_damage():
    with pytest.raises(RunDamaged, match="probability:maybe"):
        views.make_report(SAVED, ("no", "maybe"))


def test_numbers_carry_n_and_lie_between_guessing_and_perfect():
    accuracy, error = views.metric_stats(RECORD, "test", views.make_report(SAVED, ("no", "yes")))
    assert accuracy == views.Stat("Accuracy", 0.8, (0.5, 1.0), 4, 0.75, 0.85)
    assert (error.ends, error.low) == ((0.0, 0.2), None)


def test_the_metric_table_leaves_out_what_it_does_not_know():
    assert views.metric_table(RECORD, "test")["metric"].tolist() == ["accuracy", "ece"]
    assert views.metric_table(RECORD, "nowhere").empty
