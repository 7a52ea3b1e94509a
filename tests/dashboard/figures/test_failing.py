"""The cases that a run does not pass, with what all runs say of them."""

from __future__ import annotations

import numpy as np
import pytest

from core.behaviour.judge import judge
from core.behaviour.polarity import sides_of
from core.behaviour.suite import Case, Suite, SuiteTest
from dashboard.figures.behavioral_tests import FAILING, Behaved, failing, failing_table
from dashboard.figures.theme import Look

SIDES = sides_of("run", ("negative", "positive"))
SUITE = Suite(
    "mine",
    (
        SuiteTest("plain", "words", "minimum", (Case(("a",), ("positive",)), Case(("b",), ("positive",)))),
        SuiteTest("case", "words", "invariance", (Case(("a", "A")),)),
        SuiteTest("very", "intensity", "direction", (Case(("b", "very b"), ("negative",)),)),
    ),
)


@pytest.fixture
def behaved() -> Behaved:
    # texts: a, b, A, very b
    one = judge("one", SUITE, SIDES, np.array([[0.3, 0.7], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]]))
    two = judge("two", SUITE, SIDES, np.array([[0.1, 0.9], [0.4, 0.6], [0.1, 0.9], [0.4, 0.6]]))
    return Behaved({"one": one, "two": two}, "one")


def test_a_test_lists_what_a_run_does_not_pass_beside_what_the_others_say(behaved):
    found = failing(behaved, "test plain", "one")
    assert (len(found.cases), found.asked, found.single) == (1, 2, True)
    [row] = failing_table(found).to_dict("records")
    assert row == {"sentence": "b", "test": "plain", "must": "be positive", "one": 0.2, "two": 0.6, "text": "b"}
    assert FAILING.say(FAILING.note, found) == "1 of 2 fail for one"


def test_where_texts_are_compared_all_their_answers_are_told_and_the_last_is_looked_into(behaved):
    [_, row] = failing_table(failing(behaved, "capability words", "one")).to_dict("records")
    assert (row["sentence"], row["must"], row["text"]) == ("a → A", "not change", "A")
    assert (row["one"], row["two"]) == ("positive 0.70 → negative 0.60", "positive 0.90 → positive 0.90")
    [row] = failing_table(failing(behaved, "capability intensity", "one")).to_dict("records")
    assert (row["sentence"], row["must"]) == ("b → very b", "not weaken negative")
    assert (row["one"], row["two"]) == ("0.80 → 0.50", "0.40 → 0.40")


def test_what_is_passed_leaves_an_empty_table(behaved):
    found = failing(behaved, "test case", "two")
    assert found.cases == () and failing_table(found).empty


def test_the_test_is_named_only_where_there_are_several(behaved):
    look = Look(dark=False, projector=False)
    shown = FAILING.draw(failing(behaved, "capability words", "one"), look).rows
    assert list(shown) == ["sentence", "must", "one", "two", "test"], "narrow pages cut off the last"
    assert "test" not in FAILING.draw(failing(behaved, "test plain", "one"), look).rows
