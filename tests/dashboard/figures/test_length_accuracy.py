"""Accuracy by length: groups of equally many texts, Wilson's intervals, and the sentence."""

import numpy as np
import pytest

from core.evaluation.intervals import compute_wilson
from dashboard.figures.length_accuracy import LENGTHS, describe_lengths, draw_lengths, group_lengths
from dashboard.figures.theme import Look


def test_groups_have_about_equally_many_texts_and_wilson_intervals():
    words = np.repeat([2, 4, 6, 8, 10, 12], 20)
    right = np.arange(120) % 20 < np.repeat([20, 18, 16, 12, 8, 4], 20)
    table = group_lengths(words, right)
    assert table["n"].tolist() == [20] * 6 and table["accuracy"].tolist() == [1, 0.9, 0.8, 0.6, 0.4, 0.2]
    assert table["least"].tolist() == table["most"].tolist() == [2, 4, 6, 8, 10, 12]
    assert (table.loc[1, "low"], table.loc[1, "high"]) == pytest.approx(compute_wilson(18, 20))
    assert describe_lengths(table) == "100 % of texts up to 2 words are right, 20 % of those from 12 words on."
    figure = draw_lengths(table, Look())
    assert list(figure.data[0].x) == ["2", "4", "6", "8", "10", "12"]
    assert list(figure.data[0].y) == table["accuracy"].tolist()
    assert LENGTHS.sizes(table)["2 to 2 words"] == 20


def test_few_texts_are_one_group_and_tell_no_difference():
    table = group_lengths(np.array([3, 4, 9]), np.array([True, True, False]))
    assert table[["least", "most", "n"]].to_numpy().tolist() == [[3, 9, 3]]
    assert describe_lengths(table).endswith("; no clear difference.")
