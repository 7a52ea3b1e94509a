"""What marks a selection: shares as plain pandas has them, and the rule that a picked row becomes."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.distinguishing_features import marked, marked_marks, marked_table

pytestmark = pytest.mark.slow


@pytest.fixture
def known(tmp_path):
    """Four hundred rows; those of the web are wrong more often."""
    store, rows, random = RunStore(tmp_path / "runs"), np.arange(400), np.random.default_rng(0)
    source = random.choice(["web", "phone"], 400)
    right = random.random(400) > np.where(source == "web", 0.7, 0.1)
    answering(
        store, "one", right_where(right, rows % 2), texts(rows % 2, source=source, day=random.choice(list("ab"), 400))
    )
    known = make_known(store, store.read("one"), "test")
    known.find()
    return known, store


def test_shares_are_those_of_the_table_and_the_strongest_comes_first(known):
    shown, frame = marked(analyse(known[0], "wrong", known[1])), known[0].table.frame
    row, web = marked_table(shown).iloc[0], frame["source"] == "web"
    assert (row["name"], row["value"], row["selected"]) == ("source", "web", (web & frame["wrong"]).sum())
    assert row["share"] == pytest.approx(web[frame["wrong"]].mean())
    assert row["rest_share"] == pytest.approx(web[~frame["wrong"]].mean())
    first = marked_marks(shown).rows[0]
    assert first.id == "source=web" and first.picks and not first.cells["share"].tie


def test_what_the_selection_was_made_by_says_nothing_of_it(known):
    names = {row["name"] for row in marked(analyse(known[0], "wrong;source=web", known[1])).found}
    assert "source" not in names and "sure and wrong" not in names and "neighbours conflict" not in names


def test_everything_has_no_marks(known):
    assert not marked_marks(marked(analyse(known[0], "all", known[1]))).rows
