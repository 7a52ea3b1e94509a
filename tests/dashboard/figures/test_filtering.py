"""The filter as a sentence: its words, what a choice makes of the rules, what no word says."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, texts

from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.filtering import changed, sentence
from dashboard.figures.theme import Look


@pytest.fixture
def known(tmp_path):
    """Forty rows of two classes, every fourth wrong, with five own columns."""
    store, rows = RunStore(tmp_path / "runs"), np.arange(40)
    labels = rows % 2
    chances = np.where((labels == (rows % 4 != 0))[:, None] * np.array([False, True]), 0.8, 0.2)
    chances[:, 0] = 1 - chances[:, 1]
    own = {name: np.where(rows < place, "x", "y") for place, name in enumerate("abcde", 10)}
    record = answering(store, "one", chances, texts(labels, **own))
    return make_known(store, store.read(record), "test"), store


def said(known, select):
    """Words by name, what no word says, and the text that is looked for."""
    data = sentence(analyse(known[0], select, known[1]), Look()).data
    return {word["name"]: word for word in data["words"]}, data["further"], data["contains"]


def test_every_word_is_there_and_open_but_the_outcome(known):
    words, further, contains = said(known, "wrong")
    assert list(words) == ["outcome", "truth", "said", "a", "b", "c", "others", "code"]
    assert [word["shown"] for word in words.values()] == [
        *("wrong", "any class", "any class", "any a", "any b", "any c", "any other column", "coded or not")
    ]
    assert [name for name, word in words.items() if word["set"]] == ["outcome"] and not further and not contains


def test_options_say_how_many_rows_they_leave(known):
    words, _, _ = said(known, "wrong;truth=good")
    frame = known[0].table.frame
    wrong = frame[frame["wrong"]]
    assert {o["label"]: o["n"] for o in words["truth"]["options"]} == {
        "any class": len(wrong),
        **{name: int((wrong["truth"] == name).sum()) for name in ("bad", "good")},
    }
    good = wrong[wrong["truth"] == "good"]
    assert {o["label"]: o["n"] for o in words["a"]["options"]} == {
        "any a": len(good),
        **{value: int((good["a"] == value).sum()) for value in "xy"},
    }
    assert {o["label"] for o in words["others"]["options"]} == {"any other column", "d: x", "d: y", "e: x", "e: y"}


def test_a_choice_changes_its_word_and_leaves_the_others(known):
    def after(select, word, value):
        now = analyse(known[0], select, known[1])
        return changed(now.clauses, now.facets, word, value)

    assert after("wrong", "said", "said=good") == ["wrong", "said=good"]
    assert after("said=good;wrong", "truth", "truth=bad") == ["wrong", "truth=bad", "said=good"]
    assert after("wrong;truth=bad", "truth", "") == ["wrong"]
    assert after("wrong;truth=bad", "outcome", "all") == ["all", "truth=bad"]
    assert after("wrong;text~one", "text", "two; three") == ["wrong", "text~two; three"]
    assert after("wrong;text~one", "text", "") == ["wrong"]
    assert after("wrong;margin<0.2", "further", "margin<0.2") == ["wrong"]
    assert after("wrong;d=x", "others", "e=y") == ["wrong", "e=y"]


def test_a_rule_that_no_word_says_can_be_taken_out(known):
    words, further, contains = said(known, "margin<0.7;text~text 1")
    assert [each["value"] for each in further] == ["margin<0.7"] and contains == "text 1"
    assert words["outcome"]["shown"] == "right or wrong" and not any(word["set"] for word in list(words.values())[1:])
