"""Label columns of a table, and the forms of several labels; all texts are invented."""

import json

import numpy as np
import pandas as pd
import pytest

from core.data.columns import Layout
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.labels import read_labels
from core.data.load import load_dataset
from core.exceptions import DataError

SETS = [("calm",), ("calm", "joy"), (), ("joy",), ("calm", "fear", "joy"), ("fear",)]


def rows(count=24):
    return [SETS[n % len(SETS)] for n in range(count)]


def texts(count=24):
    return [f"a remark about thing {n}" for n in range(count)]


def make_bits(prefix="", count=24):
    return {f"{prefix}{name}": [int(name in row) for row in rows(count)] for name in ("calm", "fear", "joy")}


def read_frame(path, frame, **how):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return read_file(path, **how)


@pytest.mark.parametrize(
    ("name", "labels", "form"),
    [
        ("a.parquet", [list(row) for row in rows()], "list"),
        ("a.csv", [json.dumps(row) for row in rows()], "list"),
        ("a.csv", [str(list(row)) for row in rows()], "list"),
        *(("a.csv", [mark.join(row) for row in rows()], "separated") for mark in (";", "|", ", ", " ")),
    ],
)
def test_several_labels_are_read_from_lists_and_separated_words(tmp_path, name, labels, form):
    file = read_frame(tmp_path / name, pd.DataFrame({"text": texts(), "labels": labels}))
    assert file.report.task == "multi" and file.classes == ("calm", "fear", "joy")
    expected = rows() if form == "list" else [row for row in rows() if row]
    assert list(file.rows["label"]) == expected
    kinds = {finding.kind: finding.count for finding in file.report.findings}
    assert kinds["several-labels"] == 8
    # An empty list means no label applies; a row with an empty cell is left out.
    assert kinds.get("missing-label", 0) == (0 if form == "list" else 4)


def test_numbers_in_lists_become_plain_words(tmp_path):
    lists = [np.array([1.0, 0.0]), np.array([2.0])] * 12
    file = read_frame(tmp_path / "a.parquet", pd.DataFrame({"text": texts(), "labels": lists}))
    assert set(file.rows["label"]) == {("0", "1"), ("2",)}
    found = read_labels(pd.DataFrame({"labels": ["[0 3]"]}), Layout("text", ("labels",), "list"))[0]
    assert list(found) == [("0", "3")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prefix", "label"), [("y_", ""), ("y_", "y_*"), ("", "calm,fear,joy"), ("", "calm, joy,fear"), ("is_", "is_*")]
)
def test_0_1_columns_are_labels_by_prefix_or_name(tmp_path, prefix, label):
    file = read_frame(tmp_path / "a.csv", pd.DataFrame({"text": texts(), **make_bits(prefix)}), label=label)
    names = {"y_": ("calm", "fear", "joy"), "is_": ("is_calm", "is_fear", "is_joy"), "": ("calm", "fear", "joy")}
    assert file.report.task == "multi" and file.classes == names[prefix]
    assert [len(row) for row in file.rows["label"]] == [len(row) for row in rows()]
    assert list(file.rows.columns) == ["text", "label"]


def test_label_columns_are_preferred_to_0_1_columns(tmp_path):
    frame = pd.DataFrame({"text": texts(), "labels": [list(row) for row in rows()], **make_bits("y_")})
    file = read_frame(tmp_path / "a.parquet", frame)
    assert file.report.label == "labels"
    assert list(file.rows.columns) == ["text", "label"]  # a repeated label column is no data column
    path = tmp_path / "a.csv"
    pd.DataFrame({"text": texts(), "calm": [0, 1] * 12, "joy": [1, 0] * 12, "sad": [0, 0, 1] * 8}).to_csv(path)
    found = {finding.kind: finding.message for finding in inspect_file(path).findings}
    told = "2 columns hold only 0 and 1; if they are labels, name them: data.label=joy,sad"
    assert found["indicator-columns"] == told


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("calm,bliss", r"no column 'bliss' for data.label \(columns: text, calm, fear, joy, size\)"),
        ("calm,size", r"a.csv, field 'size': data.label=calm,size: several columns must hold nothing but 0 and 1"),
        ("cal*", r"data.label=cal\*: one column only \(calm\); name two or more"),
    ],
)
def test_impossible_label_columns_are_refused_with_their_name(tmp_path, label, message):
    with pytest.raises(DataError, match=message):
        read_frame(tmp_path / "a.csv", pd.DataFrame({"text": texts(), **make_bits(), "size": range(24)}), label=label)


def test_odd_label_cells_are_named_left_out_or_refused(tmp_path):
    frame = pd.DataFrame({"text": ["a", "b"], "y_a": [0, 1], "y_b": [1, 7]})
    with pytest.raises(DataError, match="row 2, field 'y_b': '7' is neither 0 nor 1"):
        read_labels(frame, Layout("text", ("y_a", "y_b"), "columns"))
    columns = make_bits("y_")
    columns["y_joy"] = [None, *columns["y_joy"][1:]]
    file = read_frame(tmp_path / "a.csv", pd.DataFrame({"text": texts(), **columns}))
    assert len(file.rows) == 23
    assert {f.kind: f.count for f in file.report.findings}["missing-label"] == 1
    (tmp_path / "a.json").write_text(json.dumps([{"text": text, "label": {"a": 1}} for text in texts()]))
    with pytest.raises(DataError, match="field 'label': a list of 24 objects: the cells hold objects, not"):
        read_file(tmp_path / "a.json")


def test_labels_without_training_rows_are_removed_from_other_splits(tmp_path):
    train = pd.DataFrame({"text": texts(), "labels": [["a"], ["b"], ["a", "b"]] * 8})
    other = pd.DataFrame({"text": ["x", "y", "z"], "labels": [["a", "c"], ["c"], []]})
    for name, frame in (("train", train), ("validation", other), ("test", other)):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    dataset = load_dataset(DataConfig(name=str(tmp_path)))
    assert dataset.classes == ("a", "b") and dataset.task == "multi"
    assert list(dataset.splits["test"]["label"]) == [(0,), ()]
    assert "test: the label of 2 rows of class 'c' left out, train has none" in dataset.notes
    assert dataset.get_targets("test").tolist() == [[1, 0], [0, 0]]


def test_the_fingerprint_depends_on_the_labels_of_each_row(tmp_path):
    def of(name, labels):
        frame = pd.DataFrame({"text": texts(), "labels": labels})
        frame.to_parquet(tmp_path / f"{name}.parquet")
        return load_dataset(DataConfig(name=str(tmp_path / f"{name}.parquet"))).fingerprint

    first = [["a", "b"], ["a"], ["b"]] * 8
    moved = [["a"], ["b", "a"], ["b"]] * 8
    assert of("one", first) == of("again", first) != of("moved", moved)
