"""A course of numbers the size of a word."""

from __future__ import annotations

import re

import pytest

from dashboard.figures.sparkline import sparkline
from dashboard.figures.theme import LIGHT


def test_a_line_starts_in_the_middle_and_reaches_the_edge():
    _, _, rest, line = sparkline([(0.2, 0.25, 0.3)], [0], LIGHT)
    heights = [float(y) for y in re.findall(r",([\d.]+)", line[1]["points"])]
    assert heights == pytest.approx([14, 8.5, 3])
    assert rest[1]["fill"] == LIGHT.grid


def test_where_nothing_moved_nothing_is_drawn():
    assert sparkline([(0.2, 0.2)], [0], LIGHT) is None
    assert sparkline([], [], LIGHT) is None
