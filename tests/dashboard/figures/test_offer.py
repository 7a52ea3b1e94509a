"""What is offered first: which run, by which rule."""

from __future__ import annotations

import pytest

from core.config import compose
from core.runs.record import RunRecord
from dashboard.figures.results import offered


def run(
    preset: str,
    accuracy: float,
    *,
    data: str = "built-in",
    task: str = "single",
    status: str = "done",
    everyday: float = 0,
):
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
        ([WITH_LAMBDA, run("differential", 0.85), BETTER], run("differential", 0.85)),
        ([run("ndt-01-n3", 0.99, data="mine.csv"), WITH_LAMBDA], WITH_LAMBDA),
        ([run("ndt-01-n3", 0.99, data="mine.csv"), PLAIN], PLAIN),
        ([run("vanilla", 0.99, task="multi"), PLAIN], PLAIN),
        ([run("ndt-01-n3", 0.99, status="failed"), PLAIN], PLAIN),
        ([run("ndt-01-n3", 0.99, status="running")], None),
        ([], None),
    ],
)
def test_a_finished_run_with_lambda_comes_first_then_the_best(records, first):
    assert offered(records) == first
