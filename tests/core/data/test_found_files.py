from dataclasses import dataclass

import pytest

from core.data.labeled_files import inspect_file, read_file

PLACES = ("the ferry", "our hostel", "this kettle", "the night bus", "her lecture", "that bakery")
HEADER = ("text", "label")


def make_remarks(ending="", count=60):
    opinions = (("was a let-down", "bad"), ("made my day", "good"))
    found = [(PLACES[n % len(PLACES)], n, *opinions[n % 2]) for n in range(count)]
    return [(f"{place} {opinion}, number {n}{ending}", label) for place, n, opinion, label in found]


def lines(rows, mark="\t", header=HEADER):
    return "\n".join(mark.join(row) for row in [header, *rows]) + "\n"


def format_rows(header, form, rows=None, first=1):
    """Format a header and a line for each row, from its number, text and label."""
    return "\n".join([header, *(form.format(n, *row) for n, row in enumerate(rows or PLAIN, first))])


def quote_rows(rows, sign='""', mark=",", header="text,label"):
    first, last = sign
    return "\n".join([header, *(mark.join(f"{first}{cell}{last}" for cell in row) for row in rows)]) + "\n"


def labeled(labels, name="label"):
    """Write a table with alternating labels, of 60 rows or one for each label."""
    rows = make_remarks(count=max(60, len(labels)))
    return lines([(text, labels[n % len(labels)]) for n, (text, _) in enumerate(rows)], header=("text", name))


def add_columns(columns, text="text"):
    rows = [(remark, *(str(value(n)) for value in columns.values())) for n, (remark, _) in enumerate(ROWS)]
    return lines(rows, header=(text, *columns))


ROWS = make_remarks()
PLAIN = [(text.replace(",", ""), label) for text, label in ROWS]
QUOTED, COMMAS = ("don't know", 'he said "no"', "R&D"), ("Anger, annoyance", "Grief, loss", "Joy, excitement")
NEGATED, INTENTS = ("bad", "good", "not", "not bad", "not good"), tuple(f"ask_{n}" for n in range(77))
BRANDS = [(str(n), f"brand{n % 7}", label, text) for n, (text, label) in enumerate(ROWS)]
BARRED = ("a|b", *(f"kind {n}" for n in range(9)))
SHOP = {"overall": lambda n: n % 5 + 1, "verified": lambda n: n % 3 == 0}


@dataclass(frozen=True)
class File:
    """The content of a file with the expected result."""

    content: str
    kinds: str = ""
    """The kinds of findings, without those that every small file has."""
    classes: dict[str, int] | tuple[int, int] = (30, 30)
    """Rows by class, or the rows of `bad` and `good`."""
    columns: str = "text, label"


FILES = {
    "control-z": File(lines(ROWS) + "\x1a"),
    "old mac": File(lines(ROWS).replace("\n", "\r")),
    "line separators": File(lines(make_remarks("\u2028more\x85or\x0bless\x0c"))),
    "lines in cells": File(quote_rows([(f"{text}\nsecond line", label) for text, label in ROWS])),
    "blank texts": File(lines([*ROWS[3:], *((" ", label) for _, label in ROWS[:3])]), "blank-text", (28, 29)),
    "unbalanced quote": File(lines([(text if n % 9 else f'"{text}', label) for n, (text, label) in enumerate(ROWS)])),
    "a tab too few": File(lines(ROWS).replace("\tbad", " bad", 1), "ragged-rows", (29, 30)),
    "index without a name": File(format_rows(",text,label", "{0},{1},{2}", first=0)),
    "empty names": File(format_rows("v1,v2,,", "{2},{1},,"), columns="v2, v1"),
    "header in Chinese": File(lines(PLAIN, ",", ("文本", "标签")), columns="文本, 标签"),
    "no header": File(lines(BRANDS[1:], header=BRANDS[0]), "label-guessed", columns="3, 2"),
    "blanks behind": File(labeled(["bad ", "good\u00a0", " bad", "good"])),
    "names with quotes inside": File(labeled(QUOTED), classes=dict.fromkeys(QUOTED, 20)),
    "one bar in ten names": File(labeled(BARRED * 10), classes=dict.fromkeys(BARRED, 10)),
    "commas in names": File(labeled(COMMAS), classes=dict.fromkeys(COMMAS, 20)),
    "negated names": File(labeled(NEGATED), classes=dict.fromkeys(NEGATED, 12)),
    "77 intents": File(labeled(INTENTS * 8, "intent"), "small-class", dict.fromkeys(INTENTS, 8), "text, intent"),
    "online shop": File(
        add_columns(SHOP, "reviewText"), classes={str(n): 12 for n in range(1, 6)}, columns="reviewText, overall"
    ),
}
"""Oddity → file."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_found_files_give_columns_classes_and_findings(tmp_path, name):
    file, path = FILES[name], tmp_path / "file.csv"
    path.write_bytes(file.content.encode())
    report = inspect_file(path)
    assert (report.problem, f"{report.text}, {report.label}") == ("", file.columns)
    bad_and_good = isinstance(file.classes, tuple)
    assert report.classes == (dict(zip(("bad", "good"), file.classes, strict=True)) if bad_and_good else file.classes)
    assert {finding.kind for finding in report.findings} - {"small", "duplicate"} == set(file.kinds.split())
    rows = read_file(path).rows
    assert rows["text"].str.match(r'"?(the|our|this|her|that) ').all()
    assert not rows["text"].str.contains(r"[“”'\"\\]$", regex=True).any()
