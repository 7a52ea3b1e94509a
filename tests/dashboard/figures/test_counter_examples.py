"""A class's counter-examples as a table: what runs say beside each, and which links may be followed."""

from __future__ import annotations

import pytest

from core.cells import csv_text
from core.failures.counter_examples import Answer, CounterExample
from dashboard.figures.counterfactuals import COUNTER_EXAMPLES, ClassList, examples_table, inner_link
from dashboard.figures.theme import Look


def example(text, label="positive"):
    return CounterExample(text, text, label, "=note", "ann", "sentence?text=x", "2026-01-31T12:00:00+00:00")


SHOWN = ClassList(
    [example("not bad"), example("=1+1"), example("fine", "so so")],
    {"one": [Answer("negative", 0.25, True), Answer("positive", 0.75, False), Answer("positive", None, None)]},
    "one",
    3,
)


def test_the_note_counts_where_the_run_is_wrong_and_has_the_class():
    assert COUNTER_EXAMPLES.say(COUNTER_EXAMPLES.note, SHOWN) == "3 kept · one is wrong on 1 of 2 today"
    drawn = COUNTER_EXAMPLES.draw(SHOWN, Look()).rows
    assert list(drawn["one"]) == ["✕ negative, 0.25", "✓ positive, 0.75", "– positive"]
    assert list(drawn["time"]) == ["2026-01-31"] * 3


def test_its_csv_can_be_trained_on_and_holds_no_formula():
    table = examples_table(SHOWN)
    assert list(table)[:3] == ["text", "label", "note"] and list(table["one, P(label)"])[:2] == [0.25, 0.75]
    assert "'=1+1,positive,'=note" in csv_text(table)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("sentence?run=one&text=a%20b", "sentence?run=one&text=a%20b"),
        ("/base/sentence?run=one", "sentence?run=one"),
        ("https://host:8501/sentence?run=one#x", "sentence?run=one"),
        ("javascript:alert(1)//sentence?x", ""),
        ("data:text/html,<script>/sentence?x", ""),
        ("//[broken/sentence?x", ""),
        ("https://elsewhere/other?x=1", ""),
        ("sentence", ""),
        ("", ""),
    ],
)
def test_only_a_link_into_the_dashboard_is_shown_as_one(link, shown):
    assert inner_link(link) == shown
