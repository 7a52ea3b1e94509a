"""What a selection says more often: planted words come first, with the interval of their z; the picked one."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.failures.phrases import overused as plainly
from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.overused import overused, words_marks, words_table


@pytest.fixture
def known(tmp_path):
    """Two hundred rows; the wrong ones are of the sea."""
    store, rows = RunStore(tmp_path / "runs"), np.arange(200)
    frame = texts(rows % 2)
    frame["text"] = [f"a ship on the {'open sea' if row % 4 == 0 else 'road'} number {row % 10}" for row in rows]
    answering(store, "one", right_where(rows % 4 != 0, rows % 2), frame)
    return make_known(store, store.read("one"), "test"), store


def test_it_is_what_core_finds_and_the_interval_is_that_of_z(known):
    shown = overused(analyse(known[0], "wrong", known[1]))
    assert list(shown.found) == plainly(known[0].table.texts, known[0].table.wrong)
    marks = words_marks(shown)
    first, mark = shown.found[0], marks.rows[0].cells["odds"]
    assert first.words in ("open", "sea", "open sea") and first.selected == 50 and first.rest == 0
    assert (mark.value - mark.low) / 1.96 == pytest.approx(first.log_odds / first.z)
    assert words_table(shown)["words"].tolist() == [each.words for each in shown.found]


def test_a_word_that_the_texts_are_to_contain_is_picked(known):
    shown = overused(analyse(known[0], "wrong;text~open sea", known[1]))
    assert shown.picked == "" or shown.picked == "open sea"


def test_nothing_and_everything_have_no_words(known):
    assert not overused(analyse(known[0], "all", known[1])).found
    assert not words_marks(overused(analyse(known[0], "text~no such", known[1]))).rows
