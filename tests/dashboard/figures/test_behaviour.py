"""Failure rates as a table of marks: which run stands first, what is said, and what cannot be asked."""

from __future__ import annotations

import numpy as np
import pytest

from core.behaviour.judge import judge
from core.behaviour.polarity import sides_of
from core.behaviour.suite import Case, Suite, SuiteTest
from dashboard.figures.behavioral_tests import RATES, Behaved, consistent, finding, listed, rates_marks, rates_table
from dashboard.figures.theme import Look

LOOK = Look(dark=False, projector=False)
SIDES = sides_of("run", ("negative", "positive"))


def cases(name: str, n: int, expected=("positive",), group: str = "") -> tuple[Case, ...]:
    return tuple(Case((f"{name} {number}",), expected, f"{name} {number}", group) for number in range(n))


SUITE = Suite(
    "mine",
    (
        SuiteTest("plain", "words", "minimum", cases("plain", 20)),
        SuiteTest("not", "negation", "minimum", cases("not", 20)),
        SuiteTest("both", "contrast", "minimum", cases("both", 2, group="g")),
        SuiteTest("ask", "questions", "minimum", cases("ask", 5, ("neutral",))),
    ),
)


def judged(run: str, wrong: set[str]):
    """A run that is wrong on the tests of these names alone."""
    rows = [[0.9, 0.1] if text.split()[0] in wrong else [0.2, 0.8] for text in SUITE.texts]
    return judge(run, SUITE, SIDES, np.array(rows))


@pytest.fixture
def behaved() -> Behaved:
    return Behaved({"bag": judged("bag", {"not", "plain"}), "deep": judged("deep", {"not"})}, "deep")


def test_the_page_s_run_stands_first_and_its_worst_capability_on_top(behaved):
    table = rates_marks(behaved, LOOK.tokens)
    assert [column.title for column in table.columns if column.axis] == ["deep", "bag"]
    assert [row.id for row in table.rows] == [
        "capability negation",
        "capability words",
        "capability contrast",
        "capability questions",
    ]
    assert [child.id for child in table.rows[0].children] == ["test not"]


def test_what_surely_fails_is_bold_and_coloured_and_what_cannot_be_told_has_a_ring(behaved):
    rows = {row.id.partition(" ")[2]: row.cells for row in rates_marks(behaved, LOOK.tokens).rows}
    failed, passed, still_open = (rows[name]["mark deep"] for name in ("negation", "words", "contrast"))
    assert (failed.value, failed.colour, failed.tie) == (1.0, LOOK.tokens.wrong, False)
    assert (passed.value, passed.colour, passed.tie) == (0.0, LOOK.tokens.right, False)
    assert still_open.tie and still_open.high > 0.3
    assert rows["negation"]["rate deep"].strong and not rows["words"]["rate deep"].strong
    assert "20 of 20 fail" in failed.said


def test_a_run_that_cannot_be_asked_has_a_dash_and_says_why(behaved):
    [row] = [row for row in rates_marks(behaved, LOOK.tokens).rows if row.id == "capability questions"]
    assert "mark deep" not in row.cells and row.cells["rate deep"].text == "–"
    assert "has no class that could be right" in row.cells["rate deep"].title


def test_the_finding_counts_names_and_says_where_runs_differ(behaved):
    said, behind = finding(behaved)
    assert said == "deep passes 1 of 3 capabilities, but fails negation."
    assert behind == (
        "Failure rate there: 1.00. 1 is undecided: its interval includes 0.3. It differs from bag on words."
    )
    alone = Behaved({"good": judged("good", set())}, "good")
    assert finding(alone)[0] == "good passes 2 of 3 capabilities and clearly fails none."


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcde"), "a, b, c and 2 more"),
    ],
)
def test_names_are_listed_as_a_person_does(names, words):
    assert listed(names) == words


def test_contrast_sets_are_counted_for_every_run(behaved):
    assert consistent(behaved) == "Contrast sets right as a whole, of 1: deep 1, bag 1."


def test_the_numbers_have_a_row_for_each_test_capability_and_run(behaved):
    table = rates_table(behaved)
    assert len(table) == 2 * (4 + 4)
    [row] = table.query("capability == 'words' and test == 'all' and run == 'bag'").to_dict("records")
    assert (row["n"], row["failed"], row["rate"], row["verdict"]) == (20, 20, 1.0, "fails")


def test_it_is_exported_by_itself(behaved):
    html = RATES.draw(behaved, LOOK).html("place")
    assert "negation" in html and "<script" not in html
