"""A course of numbers the size of a word."""

from __future__ import annotations

import re

import pytest

from dashboard.figures.leaderboard_table import largest_change, sparkline
from dashboard.figures.theme import LIGHT


def heights(drawn) -> list[float]:
    return [float(y) for y in re.findall(r",([\d.]+)", drawn[3][1]["points"])]


def test_a_line_starts_in_the_middle_and_the_top_of_the_scale_reaches_the_edge():
    line = (0.2, 0.25, 0.3)
    drawn = sparkline([line], [0], LIGHT, largest_change([line]))
    assert heights(drawn) == pytest.approx([14, 8.5, 3])
    assert drawn[2][1]["fill"] == LIGHT.grid
    assert heights(sparkline([line], [0], LIGHT, 1.1)) == pytest.approx([14, 13.5, 13]), "of a larger scale"


def test_where_nothing_moved_nothing_is_drawn():
    assert sparkline([(0.2, 0.2)], [0], LIGHT, 1.0) is None
    assert sparkline([], [], LIGHT, 0.0) is None
