"""Phenomena, the worst first, next to the yardstick."""

import numpy as np
import pandas as pd
from answering import TWO

from dashboard.figures.decisions import decide
from dashboard.figures.metrics import draw_phenomena, phenomena
from dashboard.figures.theme import LIGHT, Look


def test_phenomena_come_the_worst_first_with_interval_n_and_yardstick():
    labels, chance = np.array([0, 0, 1, 1]), np.array([0.1, 0.8, 0.9, 0.7])
    decision = decide(labels, np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    table = phenomena(decision, ["plain", "irony", "plain", "irony"], {"irony": 0.25})
    assert table["phenomenon"].tolist() == ["irony", "plain"]
    assert table["accuracy"].tolist() == [0.5, 1.0] and table["n"].tolist() == [2, 2]
    assert table["tfidf"][0] == 0.25 and pd.isna(table["tfidf"][1])
    assert (table["low"] < table["accuracy"]).all()
    rows = [("irony", 0.5, 0.3, 0.7, 12, 0.4), ("<i>plain", 0.9, 0.8, 0.95, 90, float("nan"))]
    table = pd.DataFrame(rows, columns=["phenomenon", "accuracy", "low", "high", "n", "tfidf"])
    figure = draw_phenomena(table, Look())
    ring, dots = figure.data
    assert ring.x[0] == 0.4 and list(dots.x) == [0.5, 0.9]
    assert list(dots.y) == ["irony", "&lt;i&gt;plain"]
    assert list(dots.marker.color) == [LIGHT.right, LIGHT.accent]
    assert [note.text for note in figure.layout.annotations] == ["12", "90"]
