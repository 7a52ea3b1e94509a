import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from answering import answering, code_rows, right_where, texts
from refused import check_raises

from core.error_analysis import annotation_store
from core.error_analysis.annotation_files import (
    format_annotations,
    format_codebook,
    import_annotations,
    import_codebook,
    import_file,
)
from core.error_analysis.codebook import Codes
from core.error_analysis.predictions_table import read_table
from core.exceptions import InputError
from core.formatting import BOM, escape_formula, strip_apostrophe
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


def export_all(table, codes):
    return format_annotations(table, [True] * len(table), codes, codes.read_annotations()).decode()


@pytest.mark.parametrize("text", [*NASTY, "", "plain", "'+", "'''=", "\t=x"])
def test_the_import_removes_apostrophes(text):
    assert strip_apostrophe(escape_formula(text)) == text
    assert escape_formula(text).lstrip("'") == escape_formula(text) or not escape_formula(text).startswith(
        ("=", "+", "-", "@")
    )


@pytest.mark.slow
def test_an_exported_file_imports_without_changes(tmp_path, table, codes):
    for place, text in enumerate(NASTY):
        key = table.frame["key"][place]
        codes.write_note(key, text, author="ann")
        if name := " ".join(text.split()):
            codes.add_code(name, definition=text, example=text)
            code_rows(codes, [key], [name], author="=ben" if place % 2 else "ann")
    out = export_all(table, codes)
    rows = list(csv.reader(io.StringIO(out.removeprefix(BOM), newline="")))
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert len(rows) - 1 == len(NASTY) + len(NASTY) // 2, "of a row that two have coded there are two lines"
    assert {"id", "data:author", "key", "true", "predicted", "p_predicted"} <= set(rows[0])
    (tmp_path / "out.csv").write_text(out, encoding="utf-8", newline="")
    (tmp_path / "book.csv").write_text(format_codebook(codes), encoding="utf-8", newline="")
    other = Codes(tmp_path / "other", "reviews.csv")
    added = [each.name for each in codes.list_codes()]
    assert import_codebook(other, tmp_path / "book.csv") == {"codes": len(NASTY), "added": added}
    assert import_annotations(other, table, tmp_path / "out.csv") == {"rows": len(NASTY) + len(NASTY) // 2, "added": []}
    assert other.read_annotations().given == codes.read_annotations().given
    assert other.read_annotations().notes == codes.read_annotations().notes
    assert other.list_codes() == codes.list_codes()
    again = pd.read_csv(io.StringIO(export_all(table, other))).drop(columns="time")
    pd.testing.assert_frame_equal(again, pd.read_csv(io.StringIO(out)).drop(columns="time"))


def test_an_import_changes_only_named_rows_and_is_one_undo_step(tmp_path, table, codes):
    keys = table.frame["key"].tolist()
    codes.add_code("irony")
    code_rows(codes, keys[:3], ["irony"], author="ann")
    before = codes.read_annotations()
    lines = [("key", "codes", "author"), (keys[0], "label; irony", "ann"), (keys[1], "", "ann"), (keys[5], "", "")]
    (tmp_path / "in.csv").write_text("\n".join(",".join(line) for line in lines), encoding="utf-8-sig")
    assert import_annotations(codes, table, tmp_path / "in.csv", author="ann") == {"rows": 2, "added": ["label"]}
    assert codes.read_annotations().given == {keys[0]: {"ann": ("irony", "label")}, keys[2]: {"ann": ("irony",)}}
    codes.undo_last("ann")
    assert codes.read_annotations() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("key,codes\nKEY,irony\nabc,irony\n", r"in\.csv, row 2, field 'key': no sentence of one, test has the key"),
        ("key,codes\n1.2E+11,irony\n", "a spreadsheet may have made a number of it"),
        (f"key,codes\nKEY,{'x' * 61}\n", r"in\.csv, row 1, field 'codes': code 'x"),
        (f"key,codes,note\nKEY,irony,{'x' * 100_001}\n", r"in\.csv, row 1, field 'note': 'x"),
        ("key,codes\nKEY,irony\nKEY,label\n", r"in\.csv, row 2, field 'key': this sentence and author are given twice"),
        ("key,code\nKEY,irony\n", r"in\.csv, field 'codes': there is no such column; it has key, code"),
        ("key,codes\nKEY,irony,more\n", r"in\.csv, row 1: it has 3 fields, the header 2"),
        ("", r"in\.csv, field 'key': there is no such column; it has no column"),
        ("key,codes\n" + "abc,irony\n" * 9, "and 4 further rows"),
    ],
)
def test_bad_rows_are_listed_and_nothing_is_imported(tmp_path, table, codes, content, said):
    (tmp_path / "in.csv").write_text(content.replace("KEY", table.frame["key"][0]))
    check_raises(InputError, said, import_annotations, codes, table, tmp_path / "in.csv")
    assert codes.read_annotations().given == {} and codes.list_codes() == []


@pytest.fixture
def clock(monkeypatch):
    """Make every change a second later than the one before."""
    seconds = iter(range(60))
    monkeypatch.setattr(annotation_store, "get_timestamp", lambda: f"2026-01-01T00:00:{next(seconds):02}+00:00")


@pytest.mark.slow
@pytest.mark.parametrize(
    "since",
    [
        lambda codes, key: code_rows(codes, [key], ["label"], author="ann"),
        lambda codes, key: code_rows(codes, [key], [], author="ann"),
        lambda codes, key: codes.write_note(key, "seen again", author="ann"),
        lambda codes, key: codes.undo_last("ann"),
    ],
    ids=["coded", "taken off", "noted", "taken back"],
)
def test_an_import_does_not_overwrite_later_changes(tmp_path, table, codes, clock, since):
    keys = table.frame["key"].tolist()
    codes.add_code("irony")
    codes.add_code("label")
    code_rows(codes, keys[:2], ["irony"], author="ann")
    (tmp_path / "in.csv").write_text(export_all(table, codes), encoding="utf-8", newline="")
    code_rows(codes, [keys[5]], ["label"], author="ben")
    code_rows(codes, [keys[0]], ["irony", "label"], author="ann")
    code_rows(codes, [keys[0]], ["irony"], author="ann")
    assert import_annotations(codes, table, tmp_path / "in.csv")["rows"] == 2, "what is as the file says is no conflict"
    since(codes, keys[0])
    before = codes.read_annotations()
    with pytest.raises(InputError, match=r"in\.csv, row 1, field 'time': ann has changed this sentence here after"):
        import_annotations(codes, table, tmp_path / "in.csv")
    assert codes.read_annotations() == before
    timeless = pd.read_csv(tmp_path / "in.csv", dtype=str).drop(columns="time")
    timeless.to_csv(tmp_path / "in.csv", index=False, quoting=csv.QUOTE_ALL)
    import_annotations(codes, table, tmp_path / "in.csv")
    assert codes.read_annotations().given[keys[0]] == {"ann": ("irony",)}, "without times the file wins"


def test_an_exported_sheet_can_be_coded_and_imported(tmp_path, table, codes, clock):
    keys = table.frame["key"].tolist()
    codes.add_code("irony")
    code_rows(codes, keys[:1], ["irony"], author="ben")
    sheet = pd.read_csv(
        io.StringIO(format_annotations(table, [True] * len(table), codes, codes.read_annotations("ben")).decode()),
        dtype=str,
    )
    sheet.loc[0, "codes"], sheet.loc[1, "codes"] = "IRONY; label", "irony"
    sheet.to_csv(tmp_path / "in.csv", index=False, quoting=csv.QUOTE_ALL)
    assert import_annotations(codes, table, tmp_path / "in.csv", author="ben") == {"rows": 2, "added": ["label"]}
    assert codes.read_annotations().given == {keys[0]: {"ben": ("irony", "label")}, keys[1]: {"ben": ("irony",)}}


@pytest.mark.parametrize("time", ["1.5.26 9:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_changed_by_a_spreadsheet_is_reported(tmp_path, table, codes, time):
    (tmp_path / "in.csv").write_text(f"key,codes,time\n{table.frame['key'][0]},irony,{time}\n")
    with pytest.raises(InputError, match=rf"row 1, field 'time': '{re.escape(time)}' is no time as it went out"):
        import_annotations(codes, table, tmp_path / "in.csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_files_written_by_excel_are_read(tmp_path, table, codes, encoding):
    content = f"key;codes;note\r\n{table.frame['key'][0]};Übermut, leise;naïve\r\n"
    (tmp_path / "in.csv").write_bytes(content.encode(encoding))
    assert import_file(codes, table, tmp_path / "in.csv", "ann") == {"rows": 1, "codes": 0, "added": ["Übermut, leise"]}
    assert codes.read_annotations().notes == {table.frame["key"][0]: {"ann": "naïve"}}


def test_a_codebook_is_recognised_by_its_header(tmp_path, table, codes):
    (tmp_path / "in.csv").write_text(f"codes,key\nirony,{table.frame['key'][0]}\n")
    assert import_file(codes, table, tmp_path / "in.csv") == {"rows": 1, "codes": 0, "added": ["irony"]}
    (tmp_path / "in.csv").write_text("definition,code\nthe opposite,Irony\nits name,label\n")
    assert import_file(codes, table, tmp_path / "in.csv", "ann") == {"rows": 0, "codes": 2, "added": ["label"]}
    assert (codes.list_codes()[0].name, codes.list_codes()[0].definition) == ("irony", "the opposite")
    (tmp_path / "twice.csv").write_text("code\nirony\nIRONY\n")
    check_raises(InputError, "the code 'IRONY' is given twice", import_codebook, codes, tmp_path / "twice.csv")
    assert codes.undo_last("ann")["said"] == "2 codes from in.csv"
    assert [(code.name, code.definition) for code in codes.list_codes()] == [("irony", "")]
