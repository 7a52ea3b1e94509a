import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core.data.columns import Layout
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.labels import read_labels, sort_names
from core.data.load import load_dataset
from core.exceptions import DataError

SETS = [("calm",), ("calm", "joy"), (), ("joy",), ("calm", "fear", "joy"), ("fear",)]


def table(path, count=40, **columns):
    texts = [f"sentence {n} is about the weather" for n in range(count)]
    pd.DataFrame({"text": texts, "label": ["bad", "good"] * (count // 2), **columns}).to_csv(path, index=False)
    return path


def list_kinds(report):
    return {finding.kind: (finding.level, finding.count) for finding in report.findings}


@pytest.mark.slow
@pytest.mark.parametrize("write", ["to_parquet", "to_json", "to_jsonl", "to_excel", "to_tsv"])
def test_a_table_is_read_equally_in_every_format(tmp_path, write):
    frame = pd.read_csv(table(tmp_path / "a.csv"))
    path = tmp_path / "same"
    {
        "to_parquet": lambda: frame.to_parquet(path),
        "to_json": lambda: frame.to_json(path, orient="records"),
        "to_jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "to_excel": lambda: frame.to_excel(path, index=False, engine="openpyxl"),
        "to_tsv": lambda: frame.to_csv(path, sep="\t", index=False),
    }[write]()
    pd.testing.assert_frame_equal(read_file(path).rows, read_file(tmp_path / "a.csv").rows)


@pytest.mark.slow
@pytest.mark.parametrize("write", ["to_csv", "to_excel"])
def test_the_first_row_is_data_if_the_user_says_so(tmp_path, write):
    frame, path = pd.read_csv(table(tmp_path / "a.csv")), tmp_path / ("b.xlsx" if write == "to_excel" else "b.csv")
    getattr(frame, write)(path, index=False)
    rows = read_file(path, header="no").rows
    assert len(rows) == 41 and list(rows.iloc[0][["text", "label"]]) == ["text", "label"]
    assert not inspect_file(path, header="no").header


def test_odd_rows_are_counted_and_case_variants_and_rare_classes_cause_warnings(tmp_path):
    texts = [f"text number {n}" for n in range(120)]
    labels = ["0", "1"] * 60
    texts[0], texts[1], texts[2], labels[3] = None, "   ", None, None
    texts[10] = texts[12]  # same label
    texts[20] = texts[21]  # other label
    texts[30] = "x" * 10_001
    pd.DataFrame({"text": texts, "label": labels}).to_parquet(tmp_path / "a.parquet")
    file = read_file(tmp_path / "a.parquet")
    assert len(file.rows) == 116
    assert list_kinds(file.report) == {
        "missing-text": ("warning", 2),
        "blank-text": ("warning", 1),
        "missing-label": ("warning", 1),
        "duplicate": ("note", 2),
        "conflict": ("warning", 1),
        "long": ("warning", 1),
    }
    assert "2 rows without a text left out" in [finding.message for finding in file.report.findings]
    report = inspect_file(table(tmp_path / "a.csv", 200, label=["Good", "good", "bad", "bad"] * 49 + ["odd"] * 4))
    assert list_kinds(report) == {"case": ("warning", 1), "small-class": ("warning", 1)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["good"] * 40, "every row has the label 'good'; a classifier needs at least two classes"),
        (["good"] * 38 + ["bad"] * 2, "too small: 40 rows, and fewer than two classes have 3 rows"),
        (list(range(40)), "the label column has 40 different numbers, so it is a quantity .* data.label"),
        ([f"note {n}" for n in range(40)], "the label column has 40 different values, so it is not a class"),
        ([None] * 40, "no column looks like a label|no row has both"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(tmp_path, labels, message):
    path = table(tmp_path / "a.csv", label=labels)
    check_raises(DataError, message, read_file, path, label="label")
    assert inspect_file(path, label="label").problem.startswith("a.csv: ")


def test_reports_have_kind_columns_and_classes_and_missing_columns_are_named(tmp_path):
    report = inspect_file(table(tmp_path / "a.csv"))
    assert (report.file, report.kind, report.encoding) == ("a.csv", "csv", "utf-8")
    assert (report.delimiter, report.header) == ("comma", True)
    assert (report.rows, report.text, report.label, report.problem) == (40, "text", "label", "")
    assert report.classes == {"bad": 20, "good": 20}
    assert report.preview[1] == {"text": "sentence 1 is about the weather", "label": "good"}
    assert [(c.name, c.distinct, c.numeric) for c in report.columns] == [("text", 40, False), ("label", 2, False)]
    assert list_kinds(report) == {"small": ("warning", 40)}
    path = table(tmp_path / "a.csv")
    said = r"no column 'lable' for data.label; did you mean 'label'\? \(columns: text, label\)"
    check_raises(DataError, said, read_file, path, label="lable")
    check_raises(DataError, "'text' cannot be both", read_file, path, text="text", label="text")


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        *(([4.0, 0.0], ("0", "4")), ([True, False], ("false", "true")), ([10, 9], ("9", "10")), ([-1, 1], ("-1", "1"))),
        *((["item 10", "item 2"], ("item 2", "item 10")), ([" good", "bad "], ("bad", "good"))),
    ],
)
def test_label_values_become_names_in_natural_order(tmp_path, values, classes):
    pd.DataFrame({"text": [f"text {n}" for n in range(20)], "label": values * 10}).to_parquet(tmp_path / "a.parquet")
    assert read_file(tmp_path / "a.parquet").classes == classes


@pytest.mark.parametrize(
    ("values", "classes", "told"),
    [
        (["1", "1.0", "0", "0.0"], {"0": 20, "1": 20}, {"labels-merged": ("warning", 4)}),
        (["1", "1.0", "0", "0.5"], {"0": 10, "0.5": 10, "1": 20}, {"labels-merged": ("warning", 2)}),
        (["bad", "bad\u200b", "\ufeffgood", "good"], {"bad": 20, "good": 20}, {"labels-merged": ("warning", 4)}),
        (["caf\u00e9", "cafe\u0301", "bar", "bar "], {"bar": 20, "caf\u00e9": 20}, {"labels-merged": ("warning", 2)}),
        (
            ["1", "2", "\\N", "#N/A"],
            {"1": 10, "2": 10},
            {"missing-signs": ("warning", 20), "missing-label": ("warning", 20), "small": ("warning", 20)},
        ),
        (
            ["NA", "None", "nan", "null"],
            {"NA": 10, "nan": 10, "None": 10, "null": 10},
            {"unknown-label": ("warning", 4)},
        ),
        (["ＯＫ", "ok", "no", "n o"], {"n o": 10, "no": 10, "ok": 10, "ＯＫ": 10}, {"case": ("warning", 1)}),
        (
            ["👩\u200d💻", "👩", "x\u200d", "x"],
            {"x": 20, "👩": 10, "👩\u200d💻": 10},
            {"labels-merged": ("warning", 2)},
        ),
    ],
)
def test_labels_are_compared_by_their_appearance(tmp_path, values, classes, told):
    report = inspect_file(table(tmp_path / "a.csv", label=values * 10))
    assert report.classes == classes and list_kinds(report) == {"small": ("warning", 40), **told}
    merged = [each.proof for each in report.decisions if (each.what, each.chosen) == ("labels", "merged")]
    assert bool(merged) == ("labels-merged" in told)


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (['["up"]', '["down"]'], "single", {"down": 20, "up": 20}),
        (['{"choices": ["up", "down"]}', "up"], "multi", {"down": 20, "up": 40}),
        (['{"choices": ["up"]}', "down"], "single", {"down": 20, "up": 20}),
    ],
)
def test_json_in_a_label_cell_is_unpacked(tmp_path, values, task, classes):
    report = inspect_file(table(tmp_path / "a.csv", label=values * 20))
    assert (report.task, report.classes) == (task, classes)


@pytest.mark.parametrize(("name", "used"), [("intent", True), ("number", False)])
def test_over_fifty_numbers_are_classes_if_the_column_name_says_so(tmp_path, name, used):
    frame = pd.DataFrame({"text": [f"a text {n}" for n in range(600)], name: [n % 60 for n in range(600)]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert (not inspect_file(tmp_path / "a.csv", label=name).problem) == used


def test_labels_json_next_to_a_file_names_its_classes(tmp_path):
    path = table(tmp_path / "a.csv", label=[0, 1] * 20)
    (tmp_path / "labels.json").write_text('{"type": "single", "classes": {"1": "up", "0": "down"}}')
    assert read_file(path).classes == ("up", "down")
    (tmp_path / "labels.json").write_text("{}")
    check_raises(DataError, r"labels.json: expected", read_file, path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"  \n \n", "the file is empty"),
        (bytes(range(256)) * 8, "not a text file"),
        (gzip.compress(b"text,label\na,b\n", mtime=0)[:-9], "this gzip file is damaged or cut short"),
        (pickle.dumps({"text": ["a"]}), "pickle, which can run code and is never opened"),
        (b"PAR1 but nothing else", "Parquet file is damaged"),
        (b"PK\x03\x04 but no workbook", "not a readable Excel workbook"),
        (b"%PDF-1.7 ...", "it is a PDF"),
        (b'[{"text": "a", "label": "b"}, 3]', "row 2: every row must be an object"),
        (b"[" * 100_000, "JSON that cannot be read"),
        (b'[{"text": "a", "label": ' + b"9" * 5000 + b"}]", "JSON that cannot be read"),
        (b'{"text": "a", "label": 1}\n{"text": ', "row 2: this line is not valid JSON"),
        (b'[{"text": "a", "label": "b", "text": "c"}]', "has the key 'text' twice"),
        (b'{"text": "a", "label": 1}\n{"label": 1, "label": 2}', "row 2: this line is not valid JSON: .*'label' twice"),
        (b'text,label\nfine,"[{""a"": ""x"", ""a"": ""y""}]"\ndull,"[""y""]"', "field 'label': .*'a' twice"),
        (b"[]", "holds no rows"),
    ],
)
def test_unusable_content_is_refused_with_a_reason(tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    check_raises(DataError, message, read_file, path)


def test_missing_files_and_folders_are_refused_and_the_home_folder_is_expanded(tmp_path, monkeypatch):
    check_raises(DataError, "no such file", inspect_file, tmp_path / "absent.csv")
    check_raises(DataError, "folder, not a file", inspect_file, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    table(tmp_path / "a.csv")
    assert inspect_file(Path("~/a.csv")).rows == 40


def test_labels_with_quotes_and_many_ragged_rows_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["text;label", *(f'a "text" {n};{["so", "no"][n % 2]}"' for n in range(40))]))
    check_raises(DataError, r'the label no" begins or ends with a quote, .* name it with data.quoting', read_file, path)
    assert read_file(path, quoting="none").classes == ('no"', 'so"')
    path = tmp_path / "a.csv"
    good = [f"a text {n},{n % 2}" for n in range(100)]
    path.write_text("\n".join(["text,label", *good[:50], "one, two, three", *good[50:]]))
    assert list_kinds(inspect_file(path))["ragged-rows"] == ("warning", 1)
    path.write_text("\n".join(["text,label", *(f"well, {row}" if n % 2 else row for n, row in enumerate(good))]))
    check_raises(DataError, "put texts that hold the delimiter into double quotes", inspect_file, path, delimiter=",")


def test_class_order_does_not_depend_on_row_order():
    names = ["nan", "-1", "0", "+1", "1", "1.0", "1.5", "a", "A", "item 2", "item 10"]
    orders = {sort_names(pd.Series(names[at:] + names[:at], dtype="str")) for at in range(len(names))}
    assert orders == {("-1", "0", "+1", "1", "1.0", "1.5", "A", "a", "item 2", "item 10", "nan")}


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
    assert list(file.rows["label"]) == (rows() if form == "list" else [row for row in rows() if row])
    kinds = {finding.kind: finding.count for finding in file.report.findings}
    assert kinds["several-labels"] == 8
    # An empty list means no label applies; a row with an empty cell is left out.
    assert kinds.get("missing-label", 0) == (0 if form == "list" else 4)


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


def test_guessed_label_columns_prefer_ratings_to_flags_and_known_names_to_0_1_columns(tmp_path):
    goods = [(f"a remark about thing number {n}", n % 2 == 0, n % 5, f"town {n % 7}") for n in range(60)]
    pd.DataFrame(goods, columns=["words", "bought", "points", "place"]).to_csv(tmp_path / "a.csv", index=False)
    report = inspect_file(tmp_path / "a.csv")
    message = {each.kind: each.message for each in report.findings}["label-guessed"]
    assert report.label == "points"
    assert message == "the label column is a guess: 'points'; it could be 'place', 'bought'; data.label chooses"
    frame = pd.DataFrame({"text": texts(), "labels": [list(row) for row in rows()], **make_bits("y_")})
    file = read_frame(tmp_path / "a.parquet", frame)
    assert file.report.label == "labels"
    assert list(file.rows.columns) == ["text", "label"]  # a repeated label column is no data column


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


def test_numbers_in_lists_become_words_and_odd_label_cells_are_named_or_refused(tmp_path):
    lists = [np.array([1.0, 0.0]), np.array([2.0])] * 12
    file = read_frame(tmp_path / "a.parquet", pd.DataFrame({"text": texts(), "labels": lists}))
    assert set(file.rows["label"]) == {("0", "1"), ("2",)}
    found = read_labels(pd.DataFrame({"labels": ["[0 3]"]}), Layout("text", ("labels",), "list"))[0]
    assert list(found) == [("0", "3")]
    frame = pd.DataFrame({"text": ["a", "b"], "y_a": [0, 1], "y_b": [1, 7]})
    with pytest.raises(DataError, match="row 2, field 'y_b': '7' is neither 0 nor 1"):
        read_labels(frame, Layout("text", ("y_a", "y_b"), "columns"))
    columns = make_bits("y_")
    columns["y_joy"] = [None, *columns["y_joy"][1:]]
    file = read_frame(tmp_path / "a.csv", pd.DataFrame({"text": texts(), **columns}))
    assert len(file.rows) == 23 and {f.kind: f.count for f in file.report.findings}["missing-label"] == 1
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
        pd.DataFrame({"text": texts(), "labels": labels}).to_parquet(tmp_path / f"{name}.parquet")
        return load_dataset(DataConfig(name=str(tmp_path / f"{name}.parquet"))).fingerprint

    first = [["a", "b"], ["a"], ["b"]] * 8
    assert of("one", first) == of("again", first) != of("moved", ([["a"], ["b", "a"], ["b"]] * 8))
