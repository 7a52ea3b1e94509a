"""Caches: fresh when a file changes."""

from __future__ import annotations

import pytest

from core.training.history import HistoryWriter
from dashboard.data import data
from dashboard.figures.curves import Curves

pytestmark = pytest.mark.usefixtures("runs")


def test_curves_follow_the_file(runs):
    record = data.store().read("finished")
    before = data.curves(record)[0]
    with HistoryWriter(runs / "finished" / "history.jsonl") as history:
        history.write({"kind": "step", "step": 99, "epoch": 1, "seconds": 9.0, "loss": 0.125})
    after = data.curves(record)[0]
    assert isinstance(before, Curves)
    assert after.loss == (*before.loss, 0.125)


def test_a_changed_model_has_another_fingerprint(runs):
    before = data.weights_fingerprint("finished")
    path = runs / "finished" / "weights.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    assert len(before.split()[0]) == 64
    assert data.weights_fingerprint("finished") not in (before, "")
    path.unlink()
    assert data.weights_fingerprint("finished") == ""


def test_splits_stand_in_the_order_of_work(runs):
    (runs / "finished" / "evaluation" / "zoo").mkdir()
    (runs / "finished" / "evaluation" / "zoo" / "predictions.parquet").touch()
    assert data.evaluated_splits("finished") == ["validation", "test", "zoo"]


def test_a_sentence_is_read_once_for_each_text(runs):
    assert data.sentence("finished", "good") is data.sentence("finished", "good")
    assert data.sentence("finished", "good") is not data.sentence("finished", "bad")


@pytest.mark.slow
def test_answers_of_two_kinds_to_the_same_question_are_kept_apart(runs):
    asked = ("finished", "good", "positive")
    found = [type(ask(*asked)).__name__ for ask in (data.parts, data.lambdas, data.pushed) for _ in range(2)]
    assert found == ["Parts", "Parts", "LambdaCurves", "LambdaCurves", "Pushed", "Pushed"]
    assert data.parts(*asked) is data.parts(*asked) is not data.parts("finished", "good", "negative")
