"""The confusion matrix, and confidence by outcome."""

import numpy as np
import pytest

from dashboard.figures.confusion import draw_confidence, draw_confusion
from dashboard.figures.decisions import BARS
from dashboard.figures.ranking import Curve, draw_roc
from dashboard.figures.theme import DARK, LIGHT, Look, contrast


def lines(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]


COUNTS = np.array([[8, 2], [1, 9]])


def test_right_is_grey_wrong_is_magenta_and_both_are_counted():
    right, wrong = np.zeros(BARS, np.int64), np.zeros(BARS, np.int64)
    right[-1], wrong[3] = 7, 2
    figure = draw_confidence(right, wrong, 0.62, "P(positive)", Look())
    assert [(bar.marker.color, sum(bar.y)) for bar in figure.data] == [(LIGHT.right, 7), (LIGHT.wrong, 2)]
    assert [note.text for note in figure.layout.annotations] == ["right 7", "wrong 2"]
    assert lines(figure) == [0.62]


def test_each_cell_knows_its_place_and_says_its_count_or_row_share():
    (bars,) = draw_confusion(COUNTS, ["negative", "positive"], Look()).data
    assert [list(cell) for cell in bars.customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert "8" in bars.text[0]
    assert "0.800" in bars.text[0]
    assert bars.hovertext[1] == "true negative, predicted positive: 2"
    assert list(bars.x) == [0, 1, 0, 1]
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look()).data
    assert bars.base[0] > bars.base[2]
    counts = np.array([[6, 4, 0], [1, 9, 0], [0, 0, 0]])
    colours = draw_confusion(counts, ["a", "b", "c"], Look()).data[0].marker.color
    assert colours[2] == LIGHT.paper
    assert contrast(colours[1], LIGHT.paper) > contrast(colours[3], LIGHT.paper) > 1
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look(), normalised=True).data
    assert bars.text[1].endswith("0.200</b><br>2")
    even = draw_confusion(np.array([[8, 2], [80, 20]]), ["a", "b"], Look(), normalised=True).data[0].marker.color
    raw = draw_confusion(np.array([[2, 8], [20, 80]]), ["a", "b"], Look()).data[0].marker.color
    assert contrast(even[1], LIGHT.paper) < contrast(even[2], LIGHT.paper)
    assert contrast(raw[1], LIGHT.paper) < contrast(raw[2], LIGHT.paper)


@pytest.mark.slow
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
