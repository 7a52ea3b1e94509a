import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from refused import check_raises

from core.data.cells import NESTED, check_target, open_writer
from core.exceptions import InputError

TAGS = pa.field("tags", pa.string(), metadata=NESTED)
LABELS = pa.field("labels", pa.list_(pa.string()))
SCHEMA = pa.schema([("text", pa.string()), ("n", pa.int64()), TAGS, LABELS, ("chance", pa.float64())])
ROWS = [
    {"text": 'so, "good"\n', "n": 1, "tags": '["a", {"b": 1}]', "labels": ["calm", "joy"], "chance": 0.25},
    {"text": "schön 😀", "n": None, "tags": None, "labels": [], "chance": float("nan")},
]


def read_written(path):
    with open_writer(path, SCHEMA) as write:
        for row in ROWS:
            write(pa.RecordBatch.from_pylist([row], schema=SCHEMA))
    return path


def test_written_tables_are_read_back_in_every_format_without_formulas(tmp_path):
    frame = pd.read_csv(read_written(tmp_path / "a.csv"), keep_default_na=False, dtype=str)
    assert frame["text"].tolist() == [row["text"] for row in ROWS]
    assert frame["n"].tolist() == ["1", ""] and frame["labels"].tolist() == ["calm;joy", ""]
    assert frame["tags"][0] == ROWS[0]["tags"] and frame["chance"][0] == "0.25"
    lines = read_written(tmp_path / "a.jsonl").read_text("utf-8").split("\n")
    assert lines.pop() == ""
    first, second = map(json.loads, lines)
    assert first == {**ROWS[0], "tags": ["a", {"b": 1}]} and second == {**ROWS[1], "chance": None}
    table = pa.parquet.read_table(read_written(tmp_path / "a.parquet"))
    assert table.schema.types == SCHEMA.types and table.slice(0, 1).to_pylist() == ROWS[:1]
    schema = pa.schema([("=cmd", pa.string()), LABELS])
    cells = ['=HYPERLINK("http://a.b")', "+1+1", "-2", "-0.5e-3", "@SUM(A1)", "- good", "plain"]
    with open_writer(tmp_path / "a.csv", schema) as write:
        write(pa.RecordBatch.from_pylist([{"=cmd": cell, "labels": ["=a", "b"]} for cell in cells], schema=schema))
    frame = pd.read_csv(tmp_path / "a.csv", dtype=str)
    assert list(frame) == ["'=cmd", "labels"] and set(frame["labels"]) == {"'=a;b"}
    assert frame["'=cmd"].tolist() == ["'" + cells[0], "'+1+1", "-2", "-0.5e-3", "'@SUM(A1)", "'- good", "plain"]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_errors_leave_only_the_old_file(tmp_path, name):
    (tmp_path / name).write_text("old")
    with pytest.raises(ZeroDivisionError), open_writer(tmp_path / name, SCHEMA) as write:
        write(pa.RecordBatch.from_pylist(ROWS, schema=SCHEMA))
        raise ZeroDivisionError
    assert [each.name for each in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "old"


def test_wrong_output_files_are_refused_before_any_work(tmp_path):
    check_raises(InputError, r"must end in \.csv, \.jsonl, \.parquet", check_target, tmp_path / "a.xlsx")
    check_raises(InputError, "there is no folder", check_target, tmp_path / "none" / "a.csv")
    (tmp_path / "a.csv").mkdir()
    check_raises(InputError, "this is a folder", check_target, tmp_path / "a.csv")
