"""Cancelled weight: the formula written out, its ends, and what is left out of it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from core.interpret.sentence import SentenceView, cancelled


def of(components, coefficients):
    """One head: `components` (N, L, L), `coefficients` (N,) of every token."""
    maps = np.array(components, np.float32)[:, None]
    c = np.broadcast_to(np.array(coefficients, np.float32)[:, None, None], maps.shape[:3])
    return cancelled(maps, c)


def test_it_is_the_formula_written_out():
    first, second = [[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [1.0, 0.0]]
    # reader 1: |0.75 - 0.125| + |0.25 - 0.375| of 1.5; reader 2: |0.5 - 0.5| + 0.5 of 1.5
    expected = ((1 - 0.75 / 1.5) + (1 - 0.5 / 1.5)) / 2
    assert of([first, second], [1, -0.5]) == pytest.approx([expected])


def test_equal_maps_cancel_wholly_and_added_ones_not_at_all():
    same = [[0.75, 0.25], [0.5, 0.5]]
    assert of([same, same], [1, -1]) == pytest.approx([1])
    assert of([same, same, same], [1, -0.5, -0.5]) == pytest.approx([1])
    assert of([same, same, same], [1, 0.5, 0.2]) == pytest.approx([0])
    assert of([same, same], [1, 0]) == pytest.approx([0])
    assert of([same, same], [0, 0]) == pytest.approx([0])
    assert of([np.eye(2), np.eye(2)[::-1]], [1, -0.5]) == pytest.approx([0])


def test_a_reader_that_weighs_nothing_does_not_count():
    blind = [[0.75, 0.25], [0.0, 0.0]]
    assert of([blind, blind], [1, -1]) == pytest.approx([1])


def test_a_view_leaves_padding_out_and_one_map_has_nothing_to_cancel():
    first = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]
    second = [*first[:2], [1.0, 0.0, 0.0]]
    maps, c = np.array([first, second])[:, None], np.array([1.0, -1.0])[:, None, None] * np.ones(3)

    def view(n):
        layer = SimpleNamespace(components=maps[:n], coefficients=c[:n])
        return SimpleNamespace(layers=(layer,), tokens=("a", "b", "[PAD] × 4"), filled=4, too_long=False)

    assert SentenceView.cancelled(view(2), 0) == pytest.approx([1])
    assert SentenceView.cancelled(view(1), 0) is None
