"""Confusion matrix and ROC."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.confusion import draw_confusion
from dashboard.figures.ranking import Curve, draw_pr, draw_roc
from dashboard.figures.theme import DARK, LIGHT, Look, contrast

COUNTS = np.array([[8, 2], [1, 9]])


def test_each_cell_knows_its_place_and_says_its_count_and_row_share():
    (bars,) = draw_confusion(COUNTS, ["negative", "positive"], Look()).data
    assert [list(cell) for cell in bars.customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert "8" in bars.text[0]
    assert "0.800" in bars.text[0]
    assert bars.hovertext[1] == "true negative, predicted positive: 2"
    assert list(bars.x) == [0, 1, 0, 1]


def test_the_first_true_class_stands_on_top():
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look()).data
    assert bars.base[0] > bars.base[2]


def test_a_cell_without_errors_is_the_page_and_more_errors_are_stronger():
    counts = np.array([[6, 4, 0], [1, 9, 0], [0, 0, 0]])
    colours = draw_confusion(counts, ["a", "b", "c"], Look()).data[0].marker.color
    assert colours[2] == LIGHT.paper
    assert contrast(colours[1], LIGHT.paper) > contrast(colours[3], LIGHT.paper) > 1


@pytest.mark.parametrize(("dark", "tokens"), [(False, LIGHT), (True, DARK)])
def test_counts_can_be_read_on_every_cell(dark, tokens):
    for share in range(11):
        counts = np.array([[10 - share, share], [share, 10 - share]])
        for colour in draw_confusion(counts, ["a", "b"], Look(dark=dark)).data[0].marker.color:
            assert contrast(tokens.ink, colour) >= 4.5


def test_names_of_classes_are_not_markup():
    figure = draw_confusion(COUNTS, ["<b>x</b>", "y"], Look())
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert "<b>x" not in figure.data[0].hovertext[0]
    curve = Curve("<i>x</i>", (0.0, 1.0), (0.0, 1.0), 0.5, 3, 3)
    assert "<i>" not in str(draw_roc([curve], Look()).to_plotly_json())


def test_roc_draws_the_points_and_names_the_area():
    curve = Curve("positive", (0.0, 0.0, 1.0), (0.0, 0.5, 1.0), 0.75, 4, 4)
    figure = draw_roc([curve], Look())
    assert tuple(figure.data[1].x) == curve.x
    assert tuple(figure.data[1].y) == curve.y
    assert "positive <b>0.750</b>" in [note.text for note in figure.layout.annotations]


def test_several_classes_have_colours_of_their_own():
    curves = [Curve(name, (0.0, 1.0), (0.0, 1.0), 0.5, 3, 3) for name in "abc"]
    assert [trace.line.color for trace in draw_roc(curves, Look()).data[1:]] == list(LIGHT.categories[:3])


def test_shares_take_the_place_of_counts():
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look(), normalised=True).data
    assert bars.text[1].endswith("0.200</b><br>2")
    even = draw_confusion(np.array([[8, 2], [80, 20]]), ["a", "b"], Look(), normalised=True).data[0].marker.color
    raw = draw_confusion(np.array([[2, 8], [20, 80]]), ["a", "b"], Look()).data[0].marker.color
    assert contrast(even[1], LIGHT.paper) < contrast(even[2], LIGHT.paper)
    assert contrast(raw[1], LIGHT.paper) < contrast(raw[2], LIGHT.paper)


def test_a_ring_marks_the_threshold_on_both_curves():
    curve = Curve("positive", (0.0, 1.0), (0.0, 1.0), 0.5, 1, 3, at=(0.25, 0.75))
    for draw in (draw_roc, draw_pr):
        ring = draw([curve], Look()).data[-1]
        assert (list(ring.x), list(ring.y), ring.mode) == ([0.25], [0.75], "markers")


def test_guessing_has_the_precision_of_the_share():
    curve = Curve("positive", (0.0, 1.0), (1.0, 0.25), 0.5, 1, 3)
    assert list(draw_pr([curve], Look()).data[0].y) == [0.25, 0.25]


def test_the_input_stays_as_it_was():
    before = COUNTS.copy()
    draw_confusion(COUNTS, ["a", "b"], Look())
    assert (before == COUNTS).all()
