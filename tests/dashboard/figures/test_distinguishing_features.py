"""Words, columns and tags that a selection has more often than the rest."""

from __future__ import annotations

import re

import numpy as np
import pytest
from answering import right_where, texts
from knowing import known_of

from core.failures.phrases import Phrases
from dashboard.figures.analysis import analyse
from dashboard.figures.distinguishing_features import (
    columns_table,
    marked,
    overused,
    words_table,
)
from dashboard.figures.filtering import FURTHER, changed


@pytest.fixture
def known(tmp_path):
    """Two hundred rows; the wrong ones are of the sea."""
    rows = np.arange(200)
    frame = texts(rows % 2)
    places = np.where(rows % 4 == 0, "open sea", np.where(rows % 3 == 0, "road, the road", "road overseas"))
    frame["text"] = [
        f"a ship on the {place} number {row % 10} {'east' if row % 2 else 'west'}" for row, place in enumerate(places)
    ]
    return known_of(tmp_path, right_where(rows % 4 != 0, rows % 2), frame, find=False)


def test_it_is_what_core_finds_and_the_interval_is_that_of_z(known):
    shown = overused(analyse(known[0], "wrong", known[1]))
    assert list(shown.found) == Phrases(known[0].table.texts).overused(known[0].table.wrong)
    marks = words_table(shown).marks
    first, mark = shown.found[0], marks.rows[0].cells["odds"]
    assert first.words in ("open", "sea", "open sea") and first.selected == 50 and first.rest == 0
    assert (mark.value - mark.low) / 1.96 == pytest.approx(first.log_odds / first.z)
    assert words_table(shown).frame["words"].tolist() == [each.words for each in shown.found]


def test_a_word_that_the_texts_are_to_contain_is_picked(known):
    shown = overused(analyse(known[0], "wrong;word=open sea", known[1]))
    assert shown.picked in ("", "word=open sea")


@pytest.mark.parametrize("select", ["wrong", "truth=good", "word=sea"])
def test_the_numbers_beside_a_phrase_are_the_sentences_that_a_click_on_it_selects(known, select):
    before, frame = analyse(known[0], select, known[1]), known[0].table.frame
    shown = overused(before)
    assert shown.found
    for row, each in zip(words_table(shown).marks.rows, shown.found, strict=False):
        if row.id == select:  # picked already: a click takes it out
            continue
        after = analyse(known[0], ";".join(changed(before.clauses, before.facets, FURTHER, row.id)), known[1])
        has = frame["text"].str.contains(rf"\b{re.escape(each.words)}\b", case=False).to_numpy()
        np.testing.assert_array_equal(after.rows, before.rows & has)
        assert row.cells["selected"] == str(len(after.places)) and each.rest == (has & ~before.rows).sum()


@pytest.fixture
def tagged(tmp_path):
    """Four hundred rows; those of the web are wrong more often."""
    rows, random = np.arange(400), np.random.default_rng(0)
    source = random.choice(["web", "phone"], 400)
    right = random.random(400) > np.where(source == "web", 0.7, 0.1)
    frame = texts(rows % 2, source=source, day=random.choice(list("ab"), 400))
    return known_of(tmp_path, right_where(right, rows % 2), frame)


@pytest.mark.slow
def test_shares_are_those_of_the_table_and_the_strongest_comes_first(tagged):
    shown, frame = marked(analyse(tagged[0], "wrong", tagged[1])), tagged[0].table.frame
    row, web = columns_table(shown).frame.iloc[0], frame["source"] == "web"
    assert (row["name"], row["value"], row["selected"]) == ("source", "web", (web & frame["wrong"]).sum())
    assert row["share"] == pytest.approx(web[frame["wrong"]].mean())
    assert row["rest_share"] == pytest.approx(web[~frame["wrong"]].mean())
    first = columns_table(shown).marks.rows[0]
    assert first.id == "source=web" and first.picks and not first.cells["share"].tie


@pytest.mark.slow
def test_what_the_selection_was_made_by_says_nothing_of_it(tagged):
    names = {row["name"] for row in marked(analyse(tagged[0], "wrong;source=web", tagged[1])).found}
    assert "source" not in names and "sure and wrong" not in names and "neighbours conflict" not in names
