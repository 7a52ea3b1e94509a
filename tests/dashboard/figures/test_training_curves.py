"""The training history as curves."""

from dataclasses import replace

import pytest

from core.training.history import History
from dashboard.figures.theme import Look
from dashboard.figures.training_curves import LIVE, describe_norms, draw_learning, draw_norms, draw_progress
from dashboard.figures.training_log import Curves, build_curves

CURVES = Curves(
    epochs=4,
    **{"step": (0.5, 1.0, 1.5), "loss": (0.7, 0.6, 0.5), "epoch": (1.0, 2.0)},
    **{"validation_loss": (0.55, 0.65), "validation_metric": (0.6, 0.7), "lambda_step": (0.0, 1.0)},
    lambdas={(0, 1): (0.2, 0.25), (1, 1): (0.3, 0.28), (0, 2): (0.1, 0.1), (1, 2): (-0.1, -0.15)},
)


def step(number: int, epoch: int, **more: object) -> dict:
    return {"kind": "step", "step": number, "epoch": epoch, "seconds": number / 10, "loss": 0.5, **more}


def epoch(number: int, index: int, **more: object) -> dict:
    return {"kind": "epoch", "step": number, "epoch": index, "seconds": number / 10, **more}


def lines(figure):
    return {(trace.xaxis or "x", tuple(trace.x)): tuple(trace.y) for trace in figure.data}


def test_history_is_converted_to_curves_over_epochs():
    rows = [
        step(0, 0, loss=None, **{"lambda": [[0.2], [0.3]]}),
        step(5, 0, **{"lambda": [[0.21], [None]]}),
        epoch(10, 0, validation={"loss": 0.6, "accuracy": 0.7}),
        step(15, 1, **{"lambda": [[0.22], [0.32]]}),
    ]
    curves = build_curves(History(rows, 0), epochs=4, metric="accuracy", steps=40)
    assert (curves.step, curves.epoch, curves.seconds) == ((0.5, 1.5), (1.0,), 1.5)
    assert (curves.validation_loss, curves.validation_metric) == ((0.6,), (0.7,))
    assert curves.lambda_step == (0.0, 1.5)  # rows with a non-finite lambda are left out
    assert curves.lambdas == {(0, 1): (0.2, 0.22), (1, 1): (0.3, 0.32)}
    assert build_curves(History([], 0), 3, "accuracy", 0).step == ()


def test_gradient_norms_are_drawn_with_their_median_and_told():
    rows = [step(n, 0, grad_norm=norm) for n, norm in ((1, 0.5), (2, 4.0), (3, None), (4, 1.0))]
    curves = build_curves(History(rows, 0), epochs=1, metric="accuracy", steps=4)
    assert curves.norms == (0.5, 4.0, None, 1.0) and curves.cut_at(0.5).norms == (0.5, 4.0)
    figure = draw_norms(curves, Look())
    assert figure.data[0].y == curves.norms and figure.layout.yaxis.type == "log"
    assert [shape.y0 for shape in figure.layout.shapes] == [1.0]
    said = "The gradient has a median norm of 1.00, at most 4.00. 1 step had no finite gradient."
    assert describe_norms(curves) == said
    assert not any(build_curves(History([step(1, 0)], 0), 1, "accuracy", 4).norms)


def test_epoch_length_is_estimated_and_accuracy_on_known_sentences_has_an_interval():
    rows = [step(0, 0), step(4, 0), epoch(8, 0, validation={"loss": 1.0, "f1_macro": 0.5})]
    assert build_curves(History(rows, 0), 2, "f1_macro", 0).epoch == (1.0,)
    curves = build_curves(History([step(0, 0), step(6, 0)], 0), 10, "accuracy", 0)
    assert curves.step == pytest.approx((0.0, 0.05))  # 6 of 200 · 6 steps, ten epochs
    rows = [epoch(10, 0, validation={"loss": 0.6, "accuracy": 0.75})]
    ((low, high),) = build_curves(History(rows, 0), 4, "accuracy", 40, 20).validation_range
    assert (low, high) == pytest.approx((0.531299, 0.888138), abs=1e-6)  # Wilson interval of 15/20, by statsmodels
    assert build_curves(History(rows, 0), 4, "accuracy", 40).validation_range == ()
    assert build_curves(History(rows, 0), 4, "loss", 40, 20).validation_range == ()


def test_learning_curves_mark_the_lowest_loss_and_progress_has_axes_that_stay():
    figure = draw_learning(CURVES, Look())
    found = lines(figure)
    assert found["x", CURVES.step] == CURVES.loss and found["x", CURVES.epoch] == CURVES.validation_loss
    assert found["x2", CURVES.epoch] == CURVES.validation_metric
    (line,) = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1]
    assert line.x0 == 1.0 and "lowest 0.550" in [note.text for note in figure.layout.annotations]
    early = draw_learning(Curves(epochs=4, step=(0.1,), loss=(0.7,)), Look()).layout
    late, empty = draw_learning(CURVES, Look()).layout, draw_learning(Curves(epochs=3), Look())
    assert early.xaxis.range == late.xaxis.range and early.xaxis.range[1] > 4
    assert early.uirevision == late.uirevision == LIVE and all(not len(trace.x) for trace in empty.data)
    assert empty.layout.yaxis.range == (0, 1) and late.yaxis.range is None
    early = CURVES.cut_at(1.0)
    assert (early.step, early.epoch, early.validation_loss) == ((0.5, 1.0), (1.0,), (0.55,))
    assert early.lambdas == CURVES.lambdas and CURVES.cut_at(0.5).lambdas[0, 1] == (0.2,) and CURVES.cut_at(9) == CURVES
    whole, part = draw_progress(CURVES, Look()).layout, draw_progress(CURVES.cut_at(0.5), Look(), CURVES).layout
    axes = ("xaxis", "yaxis", "xaxis2", "yaxis2")
    assert [part[name].range for name in axes] == [whole[name].range for name in axes]
    found = lines(draw_progress(CURVES, Look()))
    assert found["x", CURVES.step] == CURVES.loss and ("x2", CURVES.lambda_step) in found
    assert lines(draw_progress(replace(CURVES, lambdas={}), Look()))["x2", CURVES.epoch] == CURVES.validation_metric
