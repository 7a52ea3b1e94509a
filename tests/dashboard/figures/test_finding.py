"""Slices found as a table: its numbers, the rules that a picked row stands for, and which one the selection is."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.error_rates import rules_of, sliced, sliced_marks, sliced_table

pytestmark = pytest.mark.slow


@pytest.fixture
def known(tmp_path):
    """Six hundred rows that are wrong where two columns meet."""
    store, rows, random = RunStore(tmp_path / "runs"), np.arange(600), np.random.default_rng(0)
    one, two = (random.choice(list("xy"), 600) for _ in range(2))
    right = random.random(600) > np.where((one == "x") & (two == "x"), 0.8, 0.05)
    answering(store, "one", right_where(right, rows % 2), texts(rows % 2, one=one, two=two))
    known = make_known(store, store.read("one"), "test")
    known.find()
    return known, store


def test_the_planted_pair_is_there_with_the_numbers_of_the_table(known):
    shown, frame = sliced(analyse(known[0], "wrong", known[1])), known[0].table.frame
    table = sliced_table(shown).set_index("rules")
    both = (frame["one"] == "x") & (frame["two"] == "x")
    row = table.loc["one=x;two=x"]
    assert (row["n"], row["wrong"]) == (both.sum(), (both & frame["wrong"]).sum())
    assert row["ratio"] == pytest.approx(frame["wrong"][both].mean() / frame["wrong"][~both].mean())
    assert "one=x;two=x" in [each.id for each in sliced_marks(shown).rows]


def test_the_slice_that_is_selected_is_picked(known):
    assert sliced(analyse(known[0], "wrong;two=x;one=x", known[1])).picked == "one=x;two=x"
    assert sliced(analyse(known[0], "wrong", known[1])).picked == ""
    assert all(rules_of(each) for each in sliced(analyse(known[0], "wrong", known[1])).found.slices)
