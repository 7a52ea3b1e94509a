"""Calibration, outcomes and phenomena as figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dashboard.figures.calibration import Bin, draw_calibration
from dashboard.figures.confusion import draw_confidence
from dashboard.figures.decisions import BARS
from dashboard.figures.phenomena import draw_phenomena
from dashboard.figures.theme import LIGHT, Look, contrast

BINS = [Bin(0.0, 0.1, 40, 0.05, 0.1, (0.04, 0.23)), Bin(0.9, 1.0, 5, 0.97, 0.6, (0.23, 0.88))]


def lines(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]


def test_each_bin_stands_at_its_place_with_n_and_interval():
    figure = draw_calibration(BINS, 0.3, "P(<b>)", Look())
    bars = figure.data[0]
    assert np.allclose(bars.x, [0.05, 0.95]) and list(bars.y) == [0.1, 0.6]
    assert np.allclose(bars.error_y.array, [0.13, 0.28]) and np.allclose(bars.error_y.arrayminus, [0.06, 0.37])
    assert [note.text for note in figure.layout.annotations] == ["40", "5"]
    assert lines(figure) == [0.3]
    assert figure.layout.xaxis.title.text.startswith("P(&lt;b&gt;)")


def test_a_bin_of_few_is_pale():
    strong, pale = draw_calibration(BINS, 0.5, "P", Look()).data[0].marker.color
    assert contrast(strong, LIGHT.paper) > contrast(pale, LIGHT.paper)


def test_right_is_grey_wrong_is_magenta_and_both_are_counted():
    right, wrong = np.zeros(BARS, np.int64), np.zeros(BARS, np.int64)
    right[-1], wrong[3] = 7, 2
    figure = draw_confidence(right, wrong, 0.62, "P(positive)", Look())
    assert [(bar.marker.color, sum(bar.y)) for bar in figure.data] == [(LIGHT.right, 7), (LIGHT.wrong, 2)]
    assert [note.text for note in figure.layout.annotations] == ["right 7", "wrong 2"]
    assert lines(figure) == [0.62]


def test_phenomena_stand_beside_the_yardstick_with_their_n():
    table = pd.DataFrame(
        {
            "phenomenon": ["irony", "<i>plain"],
            "accuracy": [0.5, 0.9],
            "low": [0.3, 0.8],
            "high": [0.7, 0.95],
            "n": [12, 90],
            "tfidf": [0.4, float("nan")],
        }
    )
    figure = draw_phenomena(table, Look())
    ring, dots = figure.data
    assert ring.x[0] == 0.4 and list(dots.x) == [0.5, 0.9]
    assert list(dots.y) == ["irony", "&lt;i&gt;plain"]
    assert list(dots.marker.color) == [LIGHT.right, LIGHT.accent]
    assert [note.text for note in figure.layout.annotations] == ["12", "90"]
