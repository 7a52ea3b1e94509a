"""A history as curves."""

from __future__ import annotations

import pytest

from core.training.history import History
from dashboard.figures.training import history_curves


def step(number: int, epoch: int, **more: object) -> dict:
    return {"kind": "step", "step": number, "epoch": epoch, "seconds": number / 10, "loss": 0.5, **more}


def epoch(number: int, index: int, **more: object) -> dict:
    return {"kind": "epoch", "step": number, "epoch": index, "seconds": number / 10, **more}


def test_history_becomes_curves_over_epochs():
    rows = [
        step(0, 0, loss=None, **{"lambda": [[0.2], [0.3]]}),
        step(5, 0, **{"lambda": [[0.21], [None]]}),
        epoch(10, 0, validation={"loss": 0.6, "accuracy": 0.7}),
        step(15, 1, **{"lambda": [[0.22], [0.32]]}),
    ]
    curves = history_curves(History(rows, 0), epochs=4, metric="accuracy", steps=40)
    assert curves.step == (0.5, 1.5)
    assert curves.epoch == (1.0,)
    assert (curves.validation_loss, curves.validation_metric) == ((0.6,), (0.7,))
    assert curves.lambda_step == (0.0, 1.5)  # a row whose lambda is not finite is left out
    assert curves.lambdas == {(0, 1): (0.2, 0.22), (1, 1): (0.3, 0.32)}
    assert curves.seconds == 1.5


def test_without_planned_steps_the_first_epoch_tells_its_length():
    rows = [step(0, 0), step(4, 0), epoch(8, 0, validation={"loss": 1.0, "f1_macro": 0.5})]
    assert history_curves(History(rows, 0), 2, "f1_macro", 0).epoch == (1.0,)


def test_before_the_first_epoch_the_logging_distance_tells_roughly():
    curves = history_curves(History([step(0, 0), step(6, 0)], 0), 10, "accuracy", 0)
    assert curves.step == pytest.approx((0.0, 0.05))  # 6 of 200 · 6 steps, ten epochs


def test_an_empty_history_is_an_empty_curve():
    assert history_curves(History([], 0), 3, "accuracy", 0).step == ()


def test_a_share_of_known_sentences_has_an_interval():
    rows = [epoch(10, 0, validation={"loss": 0.6, "accuracy": 0.75})]
    ((low, high),) = history_curves(History(rows, 0), 4, "accuracy", 40, 20).validation_range
    assert (low, high) == (0.55, 0.9)  # binomial quantiles of 15 of 20
    assert history_curves(History(rows, 0), 4, "accuracy", 40).validation_range == ()
    assert history_curves(History(rows, 0), 4, "loss", 40, 20).validation_range == ()
