"""How each label fares, as a figure."""

from __future__ import annotations

import numpy as np

from dashboard.figures.labels import draw_labels
from dashboard.figures.theme import LIGHT, Look

ROWS = [("<b>calm", 400, 0.5, 0.6), ("rare", 3, 0.0, np.nan)]


def test_a_ring_at_half_a_dot_where_it_was_tuned_and_n_beside():
    figure = draw_labels(ROWS, Look())
    half, tuned = (trace for trace in figure.data if trace.mode == "markers")
    assert list(half.y) == ["rare", "&lt;b&gt;calm"]  # the first stands on top
    assert list(half.x) == [0.0, 0.5] and tuned.x[1] == 0.6 and np.isnan(tuned.x[0])
    assert half.marker.symbol == "circle-open" and tuned.marker.symbol == "circle"
    assert [note.text for note in figure.layout.annotations] == ["3", "400"]


def test_a_label_of_few_sentences_is_grey():
    markers = next(trace for trace in draw_labels(ROWS, Look()).data if trace.mode == "markers")
    assert list(markers.marker.color) == [LIGHT.right, LIGHT.accent]
