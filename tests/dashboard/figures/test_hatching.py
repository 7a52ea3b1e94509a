"""The stripes over what is taken away."""

from __future__ import annotations

import re

import numpy as np

from dashboard.figures.attention import STRIPES, hatched, stripes
from dashboard.figures.theme import Look


def ends(path: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, re.findall(r"-?[\d.]+", line))) for line in path.split("M")[1:]]


def test_a_cell_has_one_line_from_its_lower_left_to_its_upper_right():
    away = np.zeros((3, 4), bool)
    away[2, 1] = True
    assert ends(stripes(away)) == [(0.5, 2.5, 1.5, 1.5)]  # rows grow downwards


def test_neighbours_along_a_diagonal_share_a_line_and_a_gap_parts_it():
    away = np.fliplr(np.eye(4, dtype=bool))
    assert ends(stripes(away)) == [(-0.5, 3.5, 3.5, -0.5)]
    away[1, 2] = False
    assert ends(stripes(away)) == [(-0.5, 3.5, 1.5, 1.5), (2.5, 0.5, 3.5, -0.5)]


def test_every_line_lies_in_what_is_taken_away():
    away = np.random.default_rng(0).random((9, 7)) < 0.4
    for x, y, to_x, to_y in ends(stripes(away)):
        assert to_x - x == y - to_y > 0
        assert all(away[round(y - 0.5 - step), round(x + 0.5 + step)] for step in range(round(to_x - x)))


def test_a_long_text_has_no_more_lines_than_can_be_seen():
    assert len(ends(stripes(np.ones((256, 256), bool)))) <= 2 * STRIPES


def test_nothing_is_drawn_where_nothing_is_taken_away():
    assert stripes(np.zeros((3, 3), bool)) == "" and hatched(np.zeros((3, 3), bool), "", 1, Look()) is None
