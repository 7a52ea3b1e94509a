import io
import json
import os
import zipfile
import zlib
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refused import check_raises
from shapes_of_tools import zip_of

from core.data import limits, sandbox
from core.data import table_reader as archives
from core.data.config import DataConfig
from core.data.decoding import ENCODINGS, decode_bytes
from core.data.labeled_files import inspect_file
from core.data.limits import Limits
from core.data.load import load_dataset
from core.data.parquet import read_parquet
from core.exceptions import ConfigError, DataError, InputError

ENTITY = '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
ROWS = [(f"text number {n}", ("good", "bad")[n % 2]) for n in range(40)]


def write_content(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def table(folder, lines):
    return write_content(folder / "a.csv", "\n".join(["text,label", *lines]))


def fill_rows(rows):
    """Return the XML of a header and rows, each built from its number, text and label."""
    return "".join(f'<row r="{n}">{rows(n, *row)}</row>' for n, row in enumerate([("text", "label"), *ROWS], 1))


def workbook(sheet, **replaced):
    """Write an Excel file whose first sheet, or another part, is the given XML."""
    plain, out = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(plain)
    parts = {"xl/worksheets/sheet1.xml": sheet, **replaced}
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name, old.read(name)))
    return out.getvalue()


def sheet(rows, doctype=""):
    name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<?xml version="1.0"?>{doctype}<worksheet xmlns="{name}"><sheetData>{rows}</sheetData></worksheet>'


def build_cell(place, text):
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize(
    "codec", "zlib bz2 hex base64 uu rot13 punycode undefined idna unicode_escape \0 utf-9 antigravity".split(" ")
)
def test_unknown_encodings_are_refused_with_the_list(codec):
    with pytest.raises(DataError, match=f"unknown encoding .*; use one of utf-8, .*{ENCODINGS[-1]}"):
        decode_bytes(zlib.compress(b"a,b\n" * 1_000), codec)


@pytest.mark.parametrize(("said", "codec"), [("windows-1252", "cp1252"), ("EUC_KR", "euc-kr"), ("latin1", "latin-1")])
def test_encodings_have_aliases(said, codec):
    assert decode_bytes("text".encode(codec), said).text == "text"


def test_too_long_cells_are_refused_in_every_format(monkeypatch, tmp_path):
    monkeypatch.setenv(limits.VARIABLE, "characters=100")
    long = "x" * 101
    for file in [
        write_content(tmp_path / "a.csv", f"text,label\nshort,1\n{long},0\n"),
        write_content(tmp_path / "a.json", json.dumps([{"text": long, "label": 1}])),
        write_content(tmp_path / "a.xlsx", workbook(sheet(f'<row r="1">{build_cell("A1", long)}</row>'))),
        parquet(tmp_path / "a.parquet", text=[long], label=[1]),
    ]:
        check_raises(DataError, rf"^{file.name}.*: (a|the) cell has 101 characters; at most 100 ", inspect_file, file)


def test_only_regular_files_within_the_size_limit_are_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")  # a plain open would block for ever
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        check_raises(DataError, r"this is a (device|pipe); only plain files are read", inspect_file, path)
    monkeypatch.setenv(limits.VARIABLE, "size=1")
    with pytest.raises(DataError, match=r"the file has 2 MB; at most 1 MB are read"):
        inspect_file(write_content(tmp_path / "a.csv", b"a,b\n" * 2**19))


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "~nosuch/x", "a\0b", "elsewhere:a.csv"])
def test_every_reader_refuses_paths_without_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "elsewhere:a.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 20)
    for read in (sandbox.inspect_file, sandbox.read_labeled):
        check_raises(DataError, None, read, Path(name), {})
    with pytest.raises(InputError):
        load_dataset(DataConfig(name=name))


@pytest.mark.parametrize("encode", [pa.array, lambda words: pa.array(words).dictionary_encode()])
def test_parquet_dictionaries_are_measured_at_full_size(monkeypatch, tmp_path, encode):
    monkeypatch.setenv(limits.VARIABLE, "size=2")
    path = parquet(tmp_path / "a.parquet", text=encode(["x" * 10_000] * 500), label=pa.array([0, 1] * 250))
    assert path.stat().st_size < 5_000
    check_raises(DataError, r"its cells unpack to more; at most 2 MB are read", read_parquet, path)


def test_parquet_files_are_refused_by_their_metadata(monkeypatch, tmp_path):
    path = parquet(tmp_path / "a.parquet", **{f"c{n}": pa.array([0] * 30) for n in range(30)})
    for setting, said in (("rows=20", "more rows"), ("columns=20", "30 columns"), ("cells=800", "more cells")):
        monkeypatch.setenv(limits.VARIABLE, setting)
        check_raises(DataError, said, read_parquet, path)


def test_parquet_columns_with_invalid_utf8_are_named_and_repeated_names_numbered(tmp_path):
    offsets, words = pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xfeab")
    parquet(tmp_path / "a.parquet", text=pa.StringArray.from_buffers(2, offsets, words), label=[0, 1])
    with pytest.raises(DataError, match=r"a\.parquet, field 'text': holds text that is not UTF-8"):
        read_parquet(tmp_path / "a.parquet")
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["text", "text"]), tmp_path / "a.parquet")
    assert list(read_parquet(tmp_path / "a.parquet").columns) == ["text", "text (2)"]
    pd.DataFrame({"text": ["a", "b"]}, index=[7, 3]).to_parquet(tmp_path / "a.parquet")
    assert list(read_parquet(tmp_path / "a.parquet").columns) == ["text"]


def test_sheets_with_an_extreme_compression_ratio_are_refused_unread(monkeypatch, tmp_path):
    monkeypatch.setattr("core.data.excel._LARGE_PART", 2**20)
    path = write_content(tmp_path / "a.xlsx", workbook(sheet(f'<row r="1">{build_cell("A1", "x" * 2**21)}</row>')))
    with pytest.raises(DataError, match=r"xl/worksheets/sheet1\.xml is packed [\d,]+ to 1, as no filled sheet is"):
        inspect_file(path)
    monkeypatch.setenv(limits.VARIABLE, "size=1")
    check_raises(DataError, "it unpacks to 2 MB; at most 1 MB", inspect_file, path)


@pytest.mark.parametrize(
    "content",
    [
        workbook(sheet('<row r="1"><c r="A1"')),
        workbook(sheet(f'<row r="one">{build_cell("A1", "x")}</row>')),
        workbook(sheet(f'<row r="1">{build_cell("1A", "x")}</row>')),
        workbook(sheet('<row r="1"><c r="A1" t="s"><v>99</v></c></row>')),
        workbook(sheet('<row r="1"><c r="A1" t="s"><v>x</v></c></row>')),
        workbook(sheet('<row r="1"><c r="A1" t="b"><v>x</v></c></row>')),
        workbook(sheet(f'<row r="1"><c r="A1"><v>{"9" * 5_000}</v></c></row>')),
        workbook(sheet("", ENTITY) + "&a;"),
        workbook(sheet(f'<row r="1">{build_cell("A1", "&a;")}</row>', ENTITY)),
        workbook(sheet(""), **{"xl/workbook.xml": "<workbook/>"}),
        workbook(sheet(""), **{"xl/styles.xml": "<"}),
        workbook(sheet(""), **{"[Content_Types].xml": "<Types/>"}),
    ],
)
def test_damaged_workbooks_are_reported_as_damaged(tmp_path, content):
    with pytest.raises(DataError, match=r"a\.xlsx: (this is a zip archive but not a readable Excel workbook|the )"):
        inspect_file(write_content(tmp_path / "a.xlsx", content))


@pytest.mark.slow
def test_distant_cells_and_xml_entity_bombs_are_not_expanded(tmp_path):
    first = f'<row r="1">{build_cell("A1", "text")}{build_cell("XFD1", "label")}</row>'
    with pytest.raises(DataError, match=r"row 1 of the sheet has 16\u202f384 columns; at most 2\u202f000 columns"):
        inspect_file(
            write_content(tmp_path / "a.xlsx", workbook(sheet(f'{first}<row r="9">{build_cell("A9", "y")}</row>')))
        )
    last = f'<row r="1">{build_cell("A1", "x")}</row><row r="{10**15}">{build_cell("A2", "y")}</row>'
    with pytest.raises(DataError, match="a row has an impossible number"):
        inspect_file(write_content(tmp_path / "b.xlsx", workbook(sheet(last))))
    laughs = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    doctype = f'<!DOCTYPE l [<!ENTITY a "ha">{laughs}]>'
    with pytest.raises(DataError, match="not a readable Excel workbook"):
        inspect_file(
            write_content(tmp_path / "a.xlsx", workbook(sheet(f'<row r="1">{build_cell("A1", "&j;")}</row>', doctype)))
        )


@pytest.mark.slow
def test_endless_brackets_and_thousands_of_digits_are_ordinary_labels(tmp_path):
    rows = [{"text": text, "label": "[" * 50_000 + "]" if label == "bad" else "[calm]"} for text, label in ROWS]
    report = inspect_file(write_content(tmp_path / "a.json", json.dumps(rows)))
    assert report.problem == "" and len(report.classes) == 2
    lines = [f"{text},item {(9 if label == 'good' else 8) * 10**20}{'1' * 5_000}" for text, label in ROWS]
    assert len(inspect_file(table(tmp_path, lines)).classes) == 2


def test_superscripts_are_no_numbers_and_long_labels_are_shortened_in_messages(tmp_path):
    path = table(tmp_path, [f"{text},{'²' if label == 'good' else 'a³'}" for text, label in ROWS])
    assert set(inspect_file(path).classes) == {"²", "a³"}
    assert "no column '²' for data.text" in inspect_file(path, text="²").problem
    problem = inspect_file(table(tmp_path, [f"{text},{'z' * 5_000}" for text, _ in ROWS])).problem
    assert f"every row has the label '{'z' * 60}…'" in problem and len(problem) < 300


def test_trailing_empty_cells_are_no_columns_and_merged_cells_fill_only_existing_rows(tmp_path):
    rows = fill_rows(lambda n, text, label: f'{build_cell(f"A{n}", text)}{build_cell(f"B{n}", label)}<c r="XFD{n}"/>')
    assert len(inspect_file(write_content(tmp_path / "a.xlsx", workbook(sheet(rows)))).columns) == 2
    rows = fill_rows(
        lambda n, text, label: build_cell(f"A{n}", text) + (build_cell(f"B{n}", label) if n in (1, 2, 22) else "")
    )
    merged = '<mergeCell ref="B2:B21"/><mergeCell ref="B22:B1048576"/><mergeCell ref="C9:XFD1048576"/>'
    content = sheet(rows).replace("</sheetData>", f"</sheetData><mergeCells>{merged}</mergeCells>")
    report = inspect_file(write_content(tmp_path / "a.xlsx", workbook(content)))
    assert report.rows == 40 and [column.name for column in report.columns] == ["text", "label"]
    assert [each.count for each in report.findings if each.kind == "merged-cells"] == [38]


def test_lone_surrogates_are_replaced(tmp_path):
    rows = [{"text\ud800": text, "label": label, "tags": ["\udc00"]} for text, label in ROWS]
    report = inspect_file(write_content(tmp_path / "a.json", json.dumps(rows)))
    assert [column.name for column in report.columns] == ["text\ufffd", "label", "tags"]
    assert report.preview[0]["tags"] == r"['\udc00']"
    with pytest.raises(DataError, match="not valid JSON"):
        inspect_file(write_content(tmp_path / "b.jsonl", "{'a': " + "(" * 99_999))


def test_huge_deep_or_encrypted_archives_are_refused(monkeypatch, tmp_path):
    def refused(members, locked=False):
        data = bytearray(zip_of(members))
        if locked:
            data[data.index(b"PK\x01\x02") + 8] |= 1
        with pytest.raises(DataError) as error:
            inspect_file(write_content(tmp_path / "a.zip", bytes(data)))
        return str(error.value)

    assert "`train.csv` in it has a password" in refused({"train.csv": "text,label\n"}, locked=True)
    assert "its files have a password" in refused({"good/1.txt": "a", "bad/1.txt": "b"}, locked=True)
    assert "an archive of 201 folders in each other" in refused({"a/" * 200 + "1.txt": "a"})
    monkeypatch.setattr(archives, "_MOST_MEMBERS", 3)
    assert "an archive of 4 files" in refused({f"{number}.csv": "" for number in range(4)})


def test_late_rows_with_too_many_keys_and_deeply_nested_cells_are_named(tmp_path):
    rows = [{f"k{row}-{key}": 1 for key in range(50)} for row in range(400)]
    with pytest.raises(DataError, match=r"row 41: the rows have 2\u202f050 different keys; at most 2\u202f000 columns"):
        inspect_file(write_content(tmp_path / "a.json", json.dumps(rows)))
    rows = '{"text": "a", "label": 1}\n{"text": "b", "label": ' + "[" * 900 + "]" * 900 + "}\n"
    with pytest.raises(DataError, match=r"a\.jsonl, row 2, field 'label': the cell is nested more than 20 levels"):
        inspect_file(write_content(tmp_path / "a.jsonl", rows))
    content = '{"a":' * 900 + "[]" + "}" * 900
    with pytest.raises(DataError, match="an object is no table of texts and labels"):
        inspect_file(write_content(tmp_path / "a.json", content))


def test_one_environment_variable_changes_any_limit(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "rows=5000000, memory=8000")
    assert limits.get_limits() == Limits(memory=8_000, rows=5_000_000)


@pytest.mark.parametrize("settings", ["row=5", "rows", "rows=", "rows=0", "rows=-1", "rows=²", "rows=1e6", "5"])
def test_unknown_limits_are_refused_with_the_known_names(monkeypatch, settings):
    monkeypatch.setenv(limits.VARIABLE, settings)
    check_raises(ConfigError, r"SENTISCOPE_LIMITS: '.*' is no limit; .* memory, seconds, size, rows", limits.get_limits)


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (11, 1, r"more rows; at most 10 rows are read\. .* SENTISCOPE_LIMITS=rows="),
        (1, 6, r"6 columns; at most 5 columns .* SENTISCOPE_LIMITS=columns="),
        (10, 5, r"more cells; at most 40 cells .* SENTISCOPE_LIMITS=cells="),
    ],
)
def test_rows_columns_and_cells_of_tables_are_limited(monkeypatch, rows, columns, said):
    monkeypatch.setenv(limits.VARIABLE, "rows=10,columns=5,cells=40")
    limits.check_shape(10, 4, file="a.csv")
    check_raises(DataError, rf"^a\.csv: the table has {said}", limits.check_shape, rows, columns, file="a.csv")
