"""ROC, precision and recall: curves, their rings, how they are drawn."""

import numpy as np
import pytest
from answering import THREE, TWO
from sklearn import metrics as sk

from dashboard.figures.calibration import reliability
from dashboard.figures.decisions import ANSWER, decide
from dashboard.figures.metrics import phenomena
from dashboard.figures.ranking import Curve, draw_pr, draw_roc, pr_curves, roc_curves
from dashboard.figures.theme import Look


def test_the_ring_lies_where_the_threshold_puts_it(two):
    labels, probabilities = two
    decision = decide(labels, probabilities, TWO, "", 0.6)
    said = probabilities[:, 1] > 0.6
    (ranking,), (precision,) = roc_curves(decision), pr_curves(decision)
    assert ranking.at == pytest.approx((said[labels == 0].mean(), said[labels == 1].mean()))
    assert precision.at == pytest.approx((sk.recall_score(labels, said), sk.precision_score(labels, said)))
    assert ranking.area == pytest.approx(sk.roc_auc_score(labels, probabilities[:, 1]))
    assert precision.area == pytest.approx(sk.average_precision_score(labels, probabilities[:, 1]))
    assert ranking.positives + ranking.others == 200


def test_every_class_has_its_curve_over_what_is_answered_and_a_split_of_one_class_none(three, two):
    labels, probabilities = three
    decision = decide(labels, probabilities, THREE, ANSWER, 0.45)
    rows = probabilities.max(1) > 0.45
    assert [curve.name for curve in roc_curves(decision)] == list(THREE)
    assert roc_curves(decision)[2].area == pytest.approx(sk.roc_auc_score(labels[rows] == 2, probabilities[rows, 2]))
    labels, probabilities = two
    assert roc_curves(decide(labels[labels == 0], probabilities[labels == 0], TWO, "", 0.5)) == []
    nothing = decide(np.array([0, 1, 2]), np.full((3, 3), 1 / 3), THREE, ANSWER, 0.9)
    assert (roc_curves(nothing), pr_curves(nothing), reliability(nothing)) == ([], [], [])
    assert phenomena(nothing, ["a", "b", "c"], {}).empty


def test_curves_name_their_area_ring_the_threshold_and_show_guessing():
    curve = Curve("positive", (0.0, 0.0, 1.0), (0.0, 0.5, 1.0), 0.75, 4, 4)
    figure = draw_roc([curve], Look())
    assert tuple(figure.data[1].x) == curve.x
    assert tuple(figure.data[1].y) == curve.y
    assert "positive <b>0.750</b>" in [note.text for note in figure.layout.annotations]
    curve = Curve("positive", (0.0, 1.0), (0.0, 1.0), 0.5, 1, 3, at=(0.25, 0.75))
    for draw in (draw_roc, draw_pr):
        ring = draw([curve], Look()).data[-1]
        assert (list(ring.x), list(ring.y), ring.mode) == ([0.25], [0.75], "markers")
    curve = Curve("positive", (0.0, 1.0), (1.0, 0.25), 0.5, 1, 3)
    assert list(draw_pr([curve], Look()).data[0].y) == [0.25, 0.25]
