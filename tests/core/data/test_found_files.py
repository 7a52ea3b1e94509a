from dataclasses import dataclass

import pytest

from core.data.labeled_files import inspect_file, read_file
from core.exceptions import DataError

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


def mixed_encodings():
    rows = lines(make_remarks(" à la crème brûlée")).splitlines()
    return b"\n".join(row.encode("utf-8" if n % 3 else "cp1252") for n, row in enumerate(rows))


ROWS = make_remarks()
PLAIN = [(text.replace(",", ""), label) for text, label in ROWS]
QUOTED, COMMAS = ("don't know", 'he said "no"', "R&D"), ("Anger, annoyance", "Grief, loss", "Joy, excitement")
NEGATED, INTENTS = ("bad", "good", "not", "not bad", "not good"), tuple(f"ask_{n}" for n in range(77))
BRANDS = [(str(n), f"brand{n % 7}", label, text) for n, (text, label) in enumerate(ROWS)]
BARRED = ("a|b", *(f"kind {n}" for n in range(9)))
MISSING, ERRORS = "missing-label missing-signs", (("#NAME?", "bad"), ("#N/A", "good"), ("fine", "#REF!"))
TITLE = "Report,,\nof May,,\n,,\nid,comment,label"
HEADERS = 'Id,Q1,Q2\nNumber,What was it,Overall\n"{""ImportId"":1}","{""ImportId"":2}","{""ImportId"":3}"'
RAGGED = "30 of 60 rows have another number of fields than the rest; put texts that hold the delimiter"
QUANTITY = "the label column has 60 different numbers, so it is a quantity rather than a class"
SHOP = {"overall": lambda n: n % 5 + 1, "verified": lambda n: n % 3 == 0}
POINTS = {"verified": lambda n: n % 3 == 0, "points": lambda n: n % 5}


@dataclass(frozen=True)
class File:
    """The content of a file with the expected result, or the expected refusal."""

    content: str | bytes
    kinds: str = ""
    """The kinds of findings, without those that every small file has."""
    classes: dict[str, int] | tuple[int, int] = (30, 30)
    """Rows by class, or the rows of `bad` and `good`."""
    columns: str = "text, label"
    encoding: str = "utf-8"
    refused: str = ""


def encoded(ending, encoding, kinds="encoding-guessed"):
    return File(lines(make_remarks(ending)).encode(encoding), kinds, encoding=encoding)


FILES = {
    "tabs": File(lines(ROWS)),
    "byte-order mark": File(b"\xef\xbb\xbf" + quote_rows(ROWS, header='"text","label"').encode(), encoding="utf-8-sig"),
    "utf-16 of a spreadsheet": encoded("", "utf-16", ""),
    "pound sign": encoded(" for £4", "latin-1"),
    "typographic quotes": encoded(" – it’s “fine”", "cp1252"),
    "mac roman": encoded(" — it’s naïve at the café", "mac-roman"),
    "two encodings": File(mixed_encodings(), "two-encodings", encoding="utf-8+cp1252"),
    "NUL bytes": File(lines(ROWS).replace("ferry", "fer\0ry", 2), "nul-bytes"),
    "control-z": File(lines(ROWS) + "\x1a"),
    "garbled before": File(lines(make_remarks(" at the café")).encode().decode("cp1252"), "garbled"),
    "old mac": File(lines(ROWS).replace("\n", "\r")),
    "line separators": File(lines(make_remarks("\u2028more\x85or\x0bless\x0c"))),
    "lines in cells": File(quote_rows([(f"{text}\nsecond line", label) for text, label in ROWS])),
    "blank texts": File(lines([*ROWS[3:], *((" ", label) for _, label in ROWS[:3])]), "blank-text", (28, 29)),
    "unbalanced quote": File(lines([(text if n % 9 else f'"{text}', label) for n, (text, label) in enumerate(ROWS)])),
    "a tab too few": File(lines(ROWS).replace("\tbad", " bad", 1), "ragged-rows", (29, 30)),
    "trailing commas": File(format_rows("text,label", "{1},{2},")),
    "sep line": File("sep=;\r\n" + lines(ROWS, ";"), "separator-line"),
    "backslashes": File(format_rows("text,label", r'"they say \"{1}\" twice",{2}', ROWS), "quoting"),
    "single quotes": File(quote_rows(ROWS, "''"), "quoting"),
    "curly quotes": File(quote_rows(ROWS, "“”"), "quoting"),
    "blank after the comma": File(quote_rows(ROWS, mark=", ", header="text, label")),
    "doubled quotes": File(format_rows("text,label", '"so ""{1}""","{2}"', ROWS)),
    "row names": File(format_rows("text\tlabel", "{0}\t{1}\t{2}", ROWS)),
    "row names, blanks": File(format_rows('"text" "label"', '"{0}" "{1}" "{2}"', ROWS)),
    "index without a name": File(format_rows(",text,label", "{0},{1},{2}", first=0)),
    "header again": File(lines([*PLAIN[:20], HEADER, *PLAIN[20:40], HEADER, *PLAIN[40:]], ","), "repeated-header"),
    "empty names": File(format_rows("v1,v2,,", "{2},{1},,"), columns="v2, v1"),
    "title above": File(format_rows(TITLE, "{0},{1},{2}"), "title-rows", columns="comment, label"),
    "three headers": File(format_rows(HEADERS, "R{0},{1},{2}"), "header-rows", columns="Q1, Q2"),
    "comments": File("# free to use\n# made by hand\n" + lines(PLAIN, ","), "title-rows"),
    "header in Chinese": File(lines(PLAIN, ",", ("文本", "标签")), columns="文本, 标签"),
    "no header": File(lines(BRANDS[1:], header=BRANDS[0]), "label-guessed", columns="3, 2"),
    "unquoted commas": File(lines([*ROWS[::2], *PLAIN[1::2]], ","), refused=RAGGED),
    "only a header": File(
        "text,label\n", refused="holds a single row; if that is a header, the rows below it are missing"
    ),
    "spreadsheet errors": File(lines([*PLAIN[3:], *ERRORS]), f"missing-text {MISSING}", (28, 29)),
    "database nulls": File(labeled(["bad", "good", "\\N"]), MISSING, (20, 20)),
    "blanks behind": File(labeled(["bad ", "good\u00a0", " bad", "good"])),
    "names with quotes inside": File(labeled(QUOTED), classes=dict.fromkeys(QUOTED, 20)),
    "one bar in ten names": File(labeled(BARRED * 10), classes=dict.fromkeys(BARRED, 10)),
    "commas in names": File(labeled(COMMAS), classes=dict.fromkeys(COMMAS, 20)),
    "negated names": File(labeled(NEGATED), classes=dict.fromkeys(NEGATED, 12)),
    "plus and minus": File(labeled(["-1", "0", "+1"]), classes={"-1": 20, "0": 20, "+1": 20}),
    "77 intents": File(labeled(INTENTS * 8, "intent"), "small-class", dict.fromkeys(INTENTS, 8), "text, intent"),
    "scores": File(labeled([f"{n / 100}" for n in range(60)], "score"), refused=QUANTITY),
    "online shop": File(
        add_columns(SHOP, "reviewText"), classes={str(n): 12 for n in range(1, 6)}, columns="reviewText, overall"
    ),
    "flag and points": File(
        add_columns(POINTS, "words"), "label-guessed", {str(n): 12 for n in range(5)}, "words, points"
    ),
}
"""Oddity → file."""


def write_found_file(folder, name):
    content = FILES[name].content
    (folder / "file.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "file.csv"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, file in FILES.items() if not file.refused])
def test_found_files_give_columns_classes_and_findings(tmp_path, name):
    file, path = FILES[name], write_found_file(tmp_path, name)
    report = inspect_file(path)
    assert (report.problem, report.encoding, f"{report.text}, {report.label}") == ("", file.encoding, file.columns)
    bad_and_good = isinstance(file.classes, tuple)
    assert report.classes == (dict(zip(("bad", "good"), file.classes, strict=True)) if bad_and_good else file.classes)
    assert {finding.kind for finding in report.findings} - {"small", "duplicate"} == set(file.kinds.split())
    rows = read_file(path).rows
    assert rows["text"].str.match(r'("|so "|they say ")?(the|our|this|her|that) ').all()
    if name not in ("doubled quotes", "typographic quotes"):
        assert not rows["text"].str.contains(r"[“”'\"\\]$", regex=True).any()


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.refused])
def test_unusable_files_are_refused_with_the_reason(tmp_path, name):
    with pytest.raises(DataError) as refused:
        read_file(write_found_file(tmp_path, name))
    assert FILES[name].refused in str(refused.value)
