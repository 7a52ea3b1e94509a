"""Every run of a sweep as a dot, its cell's mean as a large one."""

from __future__ import annotations

from dashboard.figures.sweeps import LONGEST, Cell, members
from dashboard.figures.theme import Look

CELLS = [
    Cell("<b>vanilla", (0.7, 0.8), ("a-1", "<i>"), 0.75, 0.0707, 0.6),
    Cell("ndt" * 30, (0.9,), ("b-1",), 0.9, None, None),
]


def test_runs_means_and_the_yardstick_stand_in_the_row_of_their_cell():
    ring, means, dots = members(CELLS, "Accuracy", Look()).data
    assert (list(ring.x), list(ring.y)) == ([0.6], [0])
    assert (list(means.x), list(means.y), list(means.error_x.array)) == ([0.75, 0.9], [0, 1], [0.0707, 0])
    assert (list(dots.x), list(dots.y)) == ([0.7, 0.8, 0.9], [0, 0, 1])


def test_the_first_cell_is_on_top_and_names_are_escaped_and_short():
    axis = members(CELLS, "<u>", Look()).layout.yaxis
    assert axis.range[0] > axis.range[1]
    assert axis.ticktext[0] == "&lt;b&gt;vanilla" and len(axis.ticktext[1]) == LONGEST
    assert members(CELLS, "<u>", Look()).layout.xaxis.title.text == "&lt;u&gt;"
    assert list(members(CELLS, "x", Look()).data[2].customdata) == ["a-1", "&lt;i&gt;", "b-1"]
