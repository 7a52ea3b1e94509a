"""The cell of a matrix that some sentences are: all of it and nothing else."""

from __future__ import annotations

import numpy as np

from dashboard.figures.panels import cell_of

FIRST, SECOND = np.array([0, 0, 1, 1, 0, -1]), np.array([0, 1, 1, 0, 1, -1])


def test_a_cell_is_found_whatever_the_order_of_its_sentences():
    assert cell_of(FIRST, SECOND, np.array([4, 1])) == (0, 1)
    assert cell_of(FIRST, SECOND, np.array([2])) == (1, 1)


def test_a_part_of_a_cell_more_than_one_nothing_and_what_has_no_answer_are_no_cell():
    for rows in ([1], [1, 4, 0], [], [5]):
        assert cell_of(FIRST, SECOND, np.array(rows, np.int64)) is None
