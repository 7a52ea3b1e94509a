import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import examples

from core.data.columns import has_header
from core.data.delimited_text import parse_table
from core.data.labeled_files import inspect_file
from core.exceptions import DataError

ROWS = [("text", "label"), *((f"a rather good day number {n}", "good" if n % 2 else "bad") for n in range(30))]
field = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20).filter(str.strip)
DATA = [f"text number {n},{'good' if n % 2 else 'bad'}" for n in range(40)]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|", "|||", "::"])
def test_the_delimiter_is_found(delimiter):
    parsed = parse_table("\n".join(delimiter.join(row) for row in ROWS))
    assert parsed.delimiter == delimiter and parsed.head.named
    assert parsed.columns == ("text", "label") and parsed.rows[0] == list(ROWS[1])


@pytest.mark.parametrize("sign", ["\n", "\r", '"', "'"])
def test_line_ends_and_quotes_are_no_delimiters(sign):
    with pytest.raises(DataError, match="is not a delimiter: line ends divide rows, and quotes enclose cells"):
        parse_table("a b\nc d\n", sign)
    assert parse_table(f"sep={sign}\na,b\nc,d\n", quoting="single").delimiter != sign


def test_quoted_fields_keep_delimiters_and_prose_with_commas_is_one_column():
    parsed = parse_table('text,label\r\n"first\nsecond, with ""quotes""",1\r\nplain,0\r\n')
    assert parsed.quoted and parsed.rows == [['first\nsecond, with "quotes"', "1"], ["plain", "0"]]
    lines = ['1\t"so good', '0\tshe said "no', '1\t"loved" it', '0\t5" too long'] * 5
    parsed = parse_table("\n".join(lines))
    assert not parsed.quoted and len(parsed.rows) == 20
    assert [row[1] for row in parsed.rows[:4]] == ['"so good', 'she said "no', '"loved" it', '5" too long']
    lines = ["well, this, is a text", "no comma here", "one, only", "a, b, c, d"] * 10
    parsed = parse_table("\n".join(lines))
    assert parsed.delimiter == "" and parsed.rows[0] == [lines[0]]
    column = 'text\n"well, yes"\n"she said ""no"" and\nleft"\nplain\n'
    assert parse_table(column).rows == [["well, yes"], ['she said "no" and\nleft'], ["plain"]]
    assert parse_table('"So, yes," she said.\n"No, never"\n').rows[0] == ['"So, yes," she said.']
    good = [f"text {n},{n % 2}" for n in range(40)]
    parsed = parse_table("\n".join(["text,label", *good[:2], "too,many,fields", *good[2:], "few"]))
    assert parsed.ragged == (3, 42) and len(parsed.rows) == 40


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["text", "label"], ["a", "b"]], True),
        ([["0", "what a day"], ["1", "so bad"]], False),
        ([["klass", "words"], ["1", "so bad"], ["0", "so good"]], True),
        ([["neutral", "one thing"], *[["neutral", f"thing {n}"] for n in range(30)]], False),
        ([["mood", "wording"], *[["good" if n % 2 else "bad", f"thing {n}"] for n in range(30)]], True),
        ([["", "cleaned", "kind"], ["0", "some words", "a"], ["1", "more words", "b"]], True),
        ([["", "text", "classes"], ["0", "some words", "a"], ["1", "more words", "b"]], True),
        ([["text", "label"]], False),
    ],
)
def test_headers_are_detected(rows, expected):
    assert has_header(rows) is expected


@pytest.mark.parametrize(("header", "columns", "rows"), [("yes", ("good", "fine"), 1), ("no", ("0", "1"), 2)])
def test_the_header_setting_overrides_detection(header, columns, rows):
    parsed = parse_table("good,fine\nbad,dull\n", ",", header)
    assert (parsed.head.named, parsed.columns, len(parsed.rows)) == (header == "yes", columns, rows)


@pytest.mark.slow
@examples(60)
def test_fully_quoted_csv_is_read_back(count):
    @settings(max_examples=count)
    @given(st.lists(st.tuples(field, st.sampled_from("01")), min_size=3, max_size=20), st.sampled_from(",;\t"))
    def holds(rows, delimiter):
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
        parsed = parse_table(out.getvalue(), delimiter)
        assert parsed.head.named and [tuple(row) for row in parsed.rows] == rows

    holds()


def rows(quote, mark=","):
    cells = [(f"a day number {n}{mark} really", ("bad", "good")[n % 2]) for n in range(30)]
    return [",".join(f"{quote}{cell}{quote}" for cell in row) for row in cells]


@pytest.mark.parametrize(
    ("lines", "kind", "first"),
    [
        (rows('"'), "double", ["a day number 0, really", "bad"]),
        (rows("'"), "single", ["a day number 0, really", "bad"]),
        ([line.replace(',"', ', "') for line in rows('"')], "double", ["a day number 0, really", "bad"]),
        ([re.sub('"([^"]*)"', r"“\1”", line) for line in rows('"')], "curly", ["a day number 0, really", "bad"]),
        ([rf'"she said \"no {n}, thanks\" twice",{n % 2}' for n in range(30)], "backslash", None),
        ([f"'tis number {n},{n % 2}" for n in range(30)], "none", ["'tis number 0", "0"]),
        ([f'"so" it goes {n}\t{n % 2}' for n in range(30)], "none", ['"so" it goes 0', "0"]),
    ],
)
def test_the_quoting_without_stray_quotes_is_chosen(lines, kind, first):
    mark = "\t" if "\t" in lines[0] else ","
    parsed = parse_table("\n".join([f"text{mark}label", *lines]))
    assert (parsed.quoting.kind, parsed.columns, len(parsed.rows)) == (kind, ("text", "label"), 30)
    assert parsed.rows[0] == (first or ['she said "no 0, thanks" twice', "0"])


@pytest.mark.parametrize(
    ("lines", "columns", "told"),
    [
        (["sep=,", "text,label", *DATA], ("text", "label"), (0, 0, 0)),
        (["text,label", *(f"{line}," for line in DATA)], ("text", "label", "column 2"), (0, 0, 0)),
        (["text,label", *(f"{n},{line}" for n, line in enumerate(DATA))], ("row", "text", "label"), (0, 0, 0)),
        (["v1,v2,,", *(f"{line},," for line in DATA)], ("v1", "v2", "column 2", "column 3"), (0, 0, 0)),
        (["Report of May,", ",", "text,label", *DATA], ("text", "label"), (2, 0, 0)),
        (["# free to use", "text,label", *DATA], ("text", "label"), (1, 0, 0)),
        (["text,label", *DATA[:20], "text,label", *DATA[20:]], ("text", "label"), (0, 0, 1)),
        (["Q1,Q2", "How was it,Overall", '{"ImportId": 1},{"ImportId": 2}', *DATA], ("Q1", "Q2"), (0, 2, 0)),
    ],
)
def test_headers_between_title_and_further_rows_are_found(lines, columns, told):
    parsed = parse_table("\n".join(lines), ",")
    assert (parsed.columns, len(parsed.rows), parsed.ragged) == (columns, 40, ())
    assert (parsed.head.titles, parsed.head.further, parsed.repeated) == told
    assert parsed.separator_line == (lines[0] == "sep=,")


def test_wrong_delimiters_and_short_headers_are_refused_unless_confirmed():
    parsed = parse_table("good # it works well\nbad # it broke at once\n", " # ")
    assert parsed.rows == [["good", "it works well"], ["bad", "it broke at once"]]
    assert parse_table("a\tb\nc\td\n", "tab").rows == [["a", "b"], ["c", "d"]]
    with pytest.raises(DataError, match="semicolon does not divide its lines into columns; the file seems to use tab"):
        parse_table("\n".join("\t".join(row) for row in ROWS), ";")
    text = "text,label\n" + "\n".join(rows("'", ""))
    assert parse_table(text).rows[0][1] == "bad" and parse_table(text, quoting="none").rows[0][1] == "'bad'"
    parsed = parse_table("\n".join(["so,odd", *(f"{line}," for line in DATA)]), ",", "yes")
    assert (parsed.columns, len(parsed.rows)) == (("so", "odd", "column 2"), 40)
    lines = ["text,label", *(f"so good, so fine,{n % 2}" for n in range(40))]
    with pytest.raises(DataError, match="the header has 2 fields and most rows 3; put texts that hold the delimiter"):
        parse_table("\n".join(lines))
    assert len(parse_table("\n".join(lines), header="no").rows) == 40


def test_unmatched_quotes_are_reported_and_add_no_columns(tmp_path):
    lines = [f'"the tram {n} as ever",{n % 2}' for n in range(60)]
    lines[20] = lines[20].replace('ever"', "ever")
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *lines]))
    report = inspect_file(tmp_path / "a.csv")
    said = [each.message for each in report.findings if each.kind == "joined-rows"]
    assert report.rows == 59 and said[0].startswith("a quote is out of place, and 1 row may hold the next one too (fi")
    assert "row 21" in said[0]
    parsed = parse_table("\n".join(["text,label", *(line.replace(" as", ", as") for line in lines)]))
    assert (parsed.quoting.kind, parsed.columns) == ("double", ("text", "label"))
    assert (len(parsed.rows), parsed.ragged) == (58, (21,))
