"""Codes go out as CSV and come back as they were, whatever is written in them; bad rows are named."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from answering import answering, right_where, texts

from core.cells import no_formula, unguarded
from core.exceptions import InputError
from core.failures.coded_csv import book_written, read_back, read_book, written
from core.failures.codes import Codes
from core.failures.table import read_table
from core.runs.store import RunStore

NASTY = ("=1+1", "'=1+1", "''@x", "-", "it's", "two\nlines", 'say "so", yes', " =x", "＝wide", "naïve 😀", "'", "a\rb")


@pytest.fixture
def table(tmp_path):
    store, labels = RunStore(tmp_path / "runs"), np.arange(len(NASTY)) % 2
    rows = texts(labels, id=[f"t-{n}" for n in labels], author=[*NASTY])
    answering(store, "one", right_where(labels > 0, labels), rows, data__name="reviews.csv")
    return read_table(store, "one")


@pytest.fixture
def codes(tmp_path):
    return Codes(tmp_path / "runs", "reviews.csv")


@pytest.mark.parametrize("text", [*NASTY, "", "plain", "'+", "'''=", "\t=x"])
def test_a_guard_is_taken_off_again(text):
    assert unguarded(no_formula(text)) == text
    assert no_formula(text).lstrip("'") == no_formula(text) or not no_formula(text).startswith(("=", "+", "-", "@"))


def test_out_and_in_leaves_everything_as_it_is(tmp_path, table, codes):
    for place, text in enumerate(NASTY):
        key = table.frame["key"][place]
        codes.note(key, text, author="ann")
        if name := " ".join(text.split()):
            codes.add(name, definition=text, example=text)
            codes.code([key], [name], author="=ben" if place % 2 else "ann")
    out = written(table, [True] * len(table), codes)
    rows = list(csv.reader(io.StringIO(out, newline="")))
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert len(rows) - 1 == len(NASTY) + len(NASTY) // 2, "of a row that two have coded there are two lines"
    assert {"id", "data:author", "key", "truth", "said", "p_said"} <= set(rows[0])
    (tmp_path / "out.csv").write_text(out, encoding="utf-8", newline="")
    (tmp_path / "book.csv").write_text(book_written(codes), encoding="utf-8", newline="")
    other = Codes(tmp_path / "other", "reviews.csv")
    assert read_book(other, tmp_path / "book.csv") == len(NASTY)
    taken = read_back(other, table, tmp_path / "out.csv")
    assert taken == {"rows": len(NASTY) + len(NASTY) // 2, "added": []}
    assert other.coded().given == codes.coded().given and other.coded().notes == codes.coded().notes
    assert other.book() == codes.book()
    again = pd.read_csv(io.StringIO(written(table, [True] * len(table), other))).drop(columns="time")
    pd.testing.assert_frame_equal(again, pd.read_csv(io.StringIO(out)).drop(columns="time"))


def test_a_file_sets_what_it_names_leaves_the_rest_and_is_undone_at_once(tmp_path, table, codes):
    keys = table.frame["key"].tolist()
    codes.add("irony")
    codes.code(keys[:3], ["irony"], author="ann")
    before = codes.coded()
    lines = [("key", "codes", "author"), (keys[0], "label; irony", "ann"), (keys[1], "", "ann"), (keys[5], "", "")]
    (tmp_path / "in.csv").write_text("\n".join(",".join(line) for line in lines), encoding="utf-8-sig")
    assert read_back(codes, table, tmp_path / "in.csv", author="ann") == {"rows": 2, "added": ["label"]}
    assert codes.coded().given == {keys[0]: {"ann": ("irony", "label")}, keys[2]: {"ann": ("irony",)}}
    codes.undo("ann")
    assert codes.coded() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "key,codes\nKEY,irony\nabc,irony\n",
            r"in\.csv, row 2, field 'key': no sentence of one, test has the key",
        ),
        ("key,codes\n1.2E+11,irony\n", "a spreadsheet may have made a number of it"),
        (f"key,codes\nKEY,{'x' * 61}\n", r"in\.csv, row 1, field 'codes': code 'x"),
        (f"key,codes,note\nKEY,irony,{'x' * 4001}\n", r"in\.csv, row 1, field 'note': 'x"),
        (
            "key,codes\nKEY,irony\nKEY,label\n",
            r"in\.csv, row 2, field 'key': this sentence and author stand there",
        ),
        ("key,code\nKEY,irony\n", r"in\.csv, field 'codes': there is no such column; it has key, code"),
        ("key,codes\nKEY,irony,more\n", r"in\.csv, row 1: it has 3 fields, the header 2"),
        ("", r"in\.csv, field 'key': there is no such column; it has no column"),
        ("key,codes\n" + "abc,irony\n" * 9, "and 4 further rows"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_taken(tmp_path, table, codes, content, said):
    (tmp_path / "in.csv").write_text(content.replace("KEY", table.frame["key"][0]))
    with pytest.raises(InputError, match=said):
        read_back(codes, table, tmp_path / "in.csv")
    assert codes.coded().given == {} and codes.book() == []


def test_a_file_that_is_no_text_is_refused(tmp_path, table, codes):
    (tmp_path / "in.csv").write_bytes(b"key,codes\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"in\.csv: no CSV in UTF-8"):
        read_back(codes, table, tmp_path / "in.csv")
