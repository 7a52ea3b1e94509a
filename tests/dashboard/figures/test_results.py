"""The results of a run as the pages show them."""

import dataclasses

import numpy as np
import pytest
from answering import TWO, texts

from core.config import compose
from core.exceptions import RunDamaged
from core.runs.record import RunRecord
from core.runs.results import build_prediction_table
from dashboard.figures import results
from dashboard.figures.decisions import parse_predictions
from dashboard.figures.results import choose_default_run

RESULTS = {
    "metrics": {"test": {"accuracy": 0.8, "ece": 0.05, "unknown": 1.0}},
    "intervals": {"test": {"accuracy": [0.75, 0.85]}},
    "yardstick": {"splits": {"test": {"accuracy": 0.7}}},
}
RECORD = RunRecord("r", "vanilla", "done", compose("vanilla"), "", results=RESULTS)
CHANCES = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])
SAVED = build_prediction_table(texts([0, 0, 1, 1]), CHANCES, TWO)


def run(preset: str, accuracy: float, *, data="built-in", task="single", status="done", everyday=0.0):
    config = compose(preset, {"data.name": data})
    metric = "accuracy" if task == "single" else "f1_macro"
    results = {"metrics": {"test": {metric: accuracy}, **({"everyday": {"accuracy": everyday}} if everyday else {})}}
    return RunRecord(f"{preset}-{accuracy}", preset, status, config, "", task=task, results=results)


BETTER, PLAIN, WITH_LAMBDA = run("vanilla", 0.95), run("vanilla", 0.9), run("ndt-01-n3", 0.8)


@pytest.mark.parametrize(
    ("records", "first"),
    [
        ([BETTER, WITH_LAMBDA], WITH_LAMBDA),
        ([PLAIN, BETTER], BETTER),
        ([BETTER, run("vanilla", 0.5, everyday=0.7)], run("vanilla", 0.5, everyday=0.7)),
        ([WITH_LAMBDA, run("differential", 0.85), BETTER], WITH_LAMBDA),  # two further maps
        ([run("ndt-01-n3", 0.99, data="mine.csv"), WITH_LAMBDA], WITH_LAMBDA),
        ([run("ndt-01-n3", 0.99, data="mine.csv"), PLAIN], PLAIN),
        ([run("vanilla", 0.99, task="multi"), PLAIN], PLAIN),
        ([run("ndt-01-n3", 0.99, status="failed"), PLAIN], PLAIN),
        ([run("ndt-01-n3", 0.99, status="running")], None),
        ([], None),
    ],
)
def test_default_run_is_the_best_finished_one_with_lambda(records, first):
    assert choose_default_run(records) == first


def test_headline_has_its_interval_and_a_report_rows_by_position_and_by_name():
    assert results.read_headline(RECORD) == results.Headline(0.8, 0.75, 0.85, 0.7)
    assert results.read_headline(dataclasses.replace(RECORD, results={})) is None
    row = results.build_run_frame([dataclasses.replace(RECORD, status="damaged", preset="", results={})]).iloc[0]
    assert row.to_dict() == {"run": "r", "status": "damaged", "data": "", "model": "", "accuracy": "", "tfidf": ""}
    row = results.build_run_frame([RECORD]).iloc[0]
    assert (row["accuracy"], row["tfidf"]) == ("0.800 ± 0.050", "0.700")
    report = parse_predictions(SAVED, ("no", "yes"))
    assert report.labels.tolist() == [0, 0, 1, 1] and report.probabilities[1].tolist() == [0.4, 0.6]
    assert report.examples["probability"].tolist() == [0.9, 0.6, 0.8, 0.7]
    assert list(report.examples) == ["text", "label", "predicted", "probability"]
    report = parse_predictions(SAVED.assign(phenomenon="plain"), ("no", "yes"))
    assert set(report.examples["phenomenon"]) == {"plain"}
    with pytest.raises(RunDamaged, match="fit the classes of the run: they have none of the class 'maybe'"):
        parse_predictions(SAVED, ("no", "maybe"))


def test_metric_axes_span_chance_to_perfect_and_phenomena_are_of_the_test_split():
    record = dataclasses.replace(RECORD, results={"yardstick": {"phenomena": {"plain": 0.9}}})
    assert results.read_tfidf_phenomena(record, "test") == {"plain": 0.9}
    assert results.read_tfidf_phenomena(record, "challenge") == results.read_tfidf_phenomena(RECORD, "test") == {}
    accuracy, error = results.list_split_stats(RECORD, "test", parse_predictions(SAVED, ("no", "yes")))
    assert accuracy == results.Stat("Accuracy", 0.8, (0.5, 1.0), 4, 0.75, 0.85)
    assert (error.ends, error.low) == ((0.0, 0.2), None)
    assert results.build_metric_table(RECORD, "test")["metric"].tolist() == ["accuracy", "ece"]
    assert results.build_metric_table(RECORD, "nowhere").empty
