"""The panel of codes: whose are counted, shares only where they can be told, κ with whom most rows are shared."""

from __future__ import annotations

import pytest

from core.evaluation.intervals import wilson
from core.failures.code_rates import draw, draws
from core.failures.codes import Codes
from dashboard.figures.codes import codes_shape, codes_table, note

KEYS = [f"k{n:02}" for n in range(20)]


@pytest.fixture
def codes(tmp_path):
    found = Codes(tmp_path, "reviews")
    for name in ("irony", "label"):
        found.add(name, f"what {name} is")
    return found


def shape(codes, author, keys=KEYS):
    return codes_shape(codes.coded().seen_by(author), author, keys, draws(codes))


def test_half_a_draw_has_counts_and_a_whole_one_shares(codes):
    made = draw(codes, KEYS, 8, 0, "wrong")
    codes.code(made.keys[:6], ["irony"], author="ann")
    half = shape(codes, "ann")
    assert note(half).startswith("6 of 8 coded, drawn at random from 20")
    assert [column.key for column in codes_table(half).marks.columns] == ["code", "n"]
    codes.code(made.keys[6:], ["label"], author="ann")
    table = codes_table(shape(codes, "ann")).marks
    first = table.rows[0].cells
    assert [row.id for row in table.rows] == ["irony", "label"] and first["share"] == "0.75"
    codes.code([key for key in KEYS if key not in made.keys][:5], ["label"], author="ann")
    beyond = codes_table(shape(codes, "ann")).marks.rows
    assert [(row.id, row.cells["n"], row.cells["share"]) for row in beyond] == [
        ("irony", "6", "0.75"),
        ("label", "2", "0.25"),
    ], "n is of the rows that the share is of"
    assert (first["mark"].low, first["mark"].high) == wilson(6, 8) and first["code"].title == "what irony is"


def test_who_codes_sees_others_row_by_row_and_who_reads_sees_all(codes):
    codes.code(KEYS, ["irony"], author="ann")
    codes.code(KEYS[:2], ["label"], author="ben")
    assert shape(codes, "carl").found["coded"] == 0 and shape(codes, "").found["coded"] == 20
    codes.code(KEYS[2:4], ["irony"], author="ben")
    some = shape(codes, "ben")
    assert some.found["coded"] == 4 and some.pair["n"] == 4 and some.pair["same"] == 2
    assert "κ with ann 0.00" in note(some) and len(some.pair["apart"]) == 2, "of the four that both have coded"


def test_an_empty_book_and_an_empty_selection_have_no_rows(tmp_path, codes):
    assert codes_table(shape(Codes(tmp_path, "other"), "")).marks.rows == ()
    none = shape(codes, "", [])
    assert note(none) == "No row is selected" and [row.cells["n"] for row in codes_table(none).marks.rows] == ["0", "0"]
