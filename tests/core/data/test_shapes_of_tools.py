import gzip
import json
import re

import openpyxl
import pytest
from refused import check_raises
from shapes_of_tools import FOLDERS, ROWS, SHAPES, choice, csv, labels, objects, tasks, texts, workbook, zip_of

from core.data import limits, sandbox
from core.data.card import check_dataset
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file, read_folder
from core.data.load import load_dataset
from core.data.stream import stream_rows
from core.exceptions import DataError

OF_ALL = {"small", "small-class", "duplicate", "several-labels"}
"""Findings that do not depend on the shape."""
GOOD_ONES = [shape for shape in SHAPES if not shape.refused]
BAD_ONES = [shape for shape in SHAPES if shape.refused]
TO_PREDICT = ("key.json", "nested.jsonl", "studio.json", "studio_none.json", "about_first.xlsx", "reviews.csv.gz")


def write_shape(shape, folder):
    """Write a shape, given itself or its name, into a folder."""
    shape = next(each for each in (*FOLDERS, *SHAPES) if shape in (each, each.name))
    shape.write(folder / shape.name)
    return folder / shape.name


@pytest.mark.parametrize("shape", GOOD_ONES, ids=lambda shape: shape.name)
def test_every_table_shape_is_read_as_a_reader_would(tmp_path, shape):
    file = read_file(write_shape(shape, tmp_path))
    report = file.report
    assert (report.text, report.label, report.task) == (shape.text, shape.label, shape.task)
    assert report.classes == shape.classes
    assert {each.kind: each.count for each in report.findings if each.kind not in OF_ALL} == shape.found
    assert not [text for text in file.rows["text"] if "__label__" in text or "@" in text]


@pytest.mark.parametrize("shape", BAD_ONES, ids=lambda shape: shape.name)
def test_refusals_describe_the_content_and_fit_the_format(tmp_path, shape):
    with pytest.raises(DataError) as error:
        read_file(write_shape(shape, tmp_path))
    assert str(error.value).startswith(shape.name) and shape.refused in str(error.value)
    assert "CLASS.txt" not in str(error.value)


@pytest.mark.parametrize("shape", FOLDERS, ids=lambda shape: shape.name)
def test_class_folders_and_competition_folders_are_read(tmp_path, shape):
    found = read_folder(write_shape(shape, tmp_path))
    rows = next(iter(found.splits.values()))
    assert rows["label"].value_counts().to_dict() == shape.classes and found.classes == ("bad", "good")
    assert set(rows["text"]) == set(texts())


def test_tables_without_labels_name_no_column_and_unlabeled_test_splits_are_left_out(tmp_path):
    report = inspect_file(write_shape("no_labels.json", tmp_path))
    assert (report.text, report.label, report.task, report.rows) == ("", "", "single", ROWS)
    result = check_dataset(DataConfig(name=str(write_shape("competition", tmp_path))))
    assert result["ok"] and result["splits"] == {"train": 32, "validation": 4, "test": 4}
    assert "test.csv: no column 'label', so its 10 rows are set aside" in result["notes"]


@pytest.mark.slow
def test_named_sheets_keys_and_archive_members_are_read(tmp_path):
    book = openpyxl.Workbook()
    for title, label in (("First", "a"), ("Second", "b")):
        sheet = book.create_sheet(title)
        for row in (("text", "label"), *[(text, f"{label}{n % 2}") for n, text in enumerate(texts())]):
            sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    (tmp_path / "a.json").write_text(json.dumps({"train": objects(), "more": {"test": objects()[:30]}}))
    (tmp_path / "a.zip").write_bytes(zip_of({"train.csv": csv(), "in/dev.csv": csv().replace("good", "fine")}))
    found = inspect_file(tmp_path / "a.xlsx")
    assert (found.sheet, found.sheets, set(found.classes)) == ("First", ("Sheet", "First", "Second"), {"a0", "a1"})
    assert set(inspect_file(tmp_path / "a.xlsx", sheet="Second").classes) == {"b0", "b1"}
    assert inspect_file(tmp_path / "a.json").sheets == ("train", "more.test")
    assert inspect_file(tmp_path / "a.json", sheet="more.test").rows == 30
    assert set(inspect_file(tmp_path / "a.zip", sheet="in/dev.csv").classes) == {"bad", "fine"}
    for name, said in (
        ("a.xlsx", "no sheet 'x' for data.sheet; the workbook has 'Sheet', 'First', 'Second'"),
        ("a.json", "no list of objects under 'x' for data.sheet; it has train, more.test"),
        ("a.zip", "no table 'x' for data.sheet (in the archive: train.csv, in/dev.csv)"),
    ):
        check_raises(DataError, re.escape(said), inspect_file, tmp_path / name, sheet="x")


def test_other_tables_are_named_if_the_first_is_refused(tmp_path):
    def second(book):
        sheet = book.create_sheet("Second")
        for row in (("text", "label"), *zip(texts(), labels(), strict=True)):
            sheet.append(row)
        for row in range(2, ROWS + 2):
            book["Reviews"][f"B{row}"], book["Reviews"][f"C{row}"] = "=LEN(A2)", row

    workbook(second)(tmp_path / "a.xlsx")
    spans = [{"text": text, "label": [[0, 3, "X"]]} for text in texts(ROWS + 1)]
    (tmp_path / "a.json").write_text(json.dumps({"spans": spans, "reviews": objects()}))
    (tmp_path / "a.zip").write_bytes(zip_of({"train.csv": "", "dev.csv": csv()}))
    for name, sheets, said in (
        ("a.xlsx", ("Reviews", "Second"), "'label' has 40 formulas without a value"),
        ("a.json", ("spans", "reviews"), "the cells hold spans"),
        ("a.zip", ("train.csv", "dev.csv"), "the file is empty"),
    ):
        found = inspect_file(tmp_path / name)
        assert (found.sheets, found.sheet, found.columns) == (sheets, sheets[0], ()) and said in found.problem
        assert inspect_file(tmp_path / name, sheet=sheets[1]).classes == {"bad": 20, "good": 20}
        assert sandbox.inspect_file(tmp_path / name, DataConfig().get_read_settings()) == found
        check_raises(DataError, re.escape(said), read_file, tmp_path / name)


def test_the_sheet_is_a_setting_of_the_data_set(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"train": objects(), "new": objects()[:30]}))
    dataset = load_dataset(DataConfig(name=str(tmp_path / "a.json"), sheet="new"))
    assert sum(map(len, dataset.splits.values())) == 30
    assert dataset.fingerprint != load_dataset(DataConfig(name=str(tmp_path / "a.json"))).fingerprint


@pytest.mark.slow
def test_several_choices_or_prefixes_are_several_labels(tmp_path):
    rows = tasks()
    rows[0]["annotations"] = [choice("good", "bad")]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    lines = [f"__label__{row['label']} {row['text']}" for row in objects()]
    (tmp_path / "a.txt").write_text("\n".join([f"__label__good {lines[0]}", *lines[1:]]))
    for name in ("a.json", "a.txt"):
        report = inspect_file(tmp_path / name)
        assert (report.task, report.classes) == ("multi", {"bad": 20, "good": 21})


def test_splits_of_class_folders_are_kept_and_zipped_ones_give_train_or_the_named_split(tmp_path):
    found = read_folder(write_shape("movies", tmp_path))
    assert {split: len(rows) for split, rows in found.splits.items()} == {"train": ROWS, "test": ROWS}
    assert found.notes == (
        "one class per folder, one text per file: bad, good",
        "`train/unsup` has no label and is left out",
    )
    assert list(found.splits["train"]["text"][:2]) == [texts()[0], texts()[2]]  # by number, not by alphabet
    path = write_shape("movies.zip", tmp_path)
    found = inspect_file(path)
    assert (found.sheet, found.sheets) == ("train", ("train", "test"))
    left = "the texts in `train` are read; left out: `test`; data.sheet names another, and the unpacked folder has all"
    assert left in [each.message for each in found.findings] and inspect_file(path, sheet="test").sheet == "test"
    assert [each.what for each in found.decisions if each.what in ("encoding", "sheet")] == ["sheet", "encoding"]
    assert list(read_file(path).rows["text"][:2]) == [texts()[0], texts()[2]]  # by number, not by alphabet
    with pytest.raises(DataError, match=re.escape("no split 'x' for data.sheet (in the archive: train, test)")):
        inspect_file(path, sheet="x")
    assert sandbox.read_labeled(path, DataConfig().get_read_settings()).rows.equals(read_file(path).rows)


def test_class_folders_and_zipped_texts_are_decoded_with_one_legacy_encoding(tmp_path):
    for label, word in (("gut", "schön"), ("schlecht", "öde")):
        (tmp_path / "all" / label).mkdir(parents=True)
        for n in range(12):
            (tmp_path / "all" / label / f"{n}").write_bytes(f"die Fahrt {n} war {word if n else 'so'}".encode("cp1252"))
    (tmp_path / "all" / "gut" / "90").write_text("schön wäre es")
    found = read_folder(tmp_path)
    assert {"die Fahrt 3 war schön", "schön wäre es"} <= set(found.splits["all"]["text"])
    said = [(each.chosen, each.guessed, each.file) for each in found.decisions]
    guess, certain = said if said[0][1] else said[::-1]
    assert guess[:2] == ("latin-1", True) and guess[2].endswith(" and 19 more")
    assert certain == ("utf-8", False, "all/gut/90")
    result = check_dataset(DataConfig(name=str(tmp_path)))
    assert [each["guessed"] for each in result["decisions"]] == [each.guessed for each in found.decisions]
    words = (("gut", "schön"), ("schlecht", "öde und fürchterlich"))
    members = {f"{label}/{n}.txt": f"{n} {word}".encode("cp1252") for label, word in words for n in range(20)}
    (tmp_path / "a.zip").write_bytes(zip_of({**members, "gut/0.txt": "schön wäre es"}))
    found = read_file(tmp_path / "a.zip")
    assert {"1 schön", "schön wäre es"} <= set(found.rows["text"])
    said = {each.chosen: each.guessed for each in found.report.decisions if each.what == "encoding"}
    assert said == {"latin-1": True, "utf-8": False}


def test_names_at_the_end_of_tweets_and_lists_of_strings_are_no_classes(tmp_path):
    lines = [f"{text}\t{label}\tto @user{n}" for n, (text, label) in enumerate(zip(texts(), labels(), strict=True))]
    (tmp_path / "a.tsv").write_text("\n".join(["text\tlabel\tend", *lines]))
    assert inspect_file(tmp_path / "a.tsv").label == "label"
    (tmp_path / "a.json").write_text(json.dumps({"bericht": texts(), "urteil": labels()}))
    report = inspect_file(tmp_path / "a.json")
    assert (report.text, report.label, report.classes) == ("bericht", "urteil", {"bad": 20, "good": 20})


def test_limits_apply_to_zipped_class_folders_and_classes_as_keys(monkeypatch, tmp_path):
    large = {f"{label}/{n}.txt": b"long " * 60_000 for label in "ab" for n in range(4)}
    (tmp_path / "a.zip").write_bytes(zip_of(large))
    (tmp_path / "b.zip").write_bytes(zip_of({name: "short" for name in large}))
    (tmp_path / "c.json").write_text(json.dumps({"good": ["a"] * 9, "bad": ["b"] * 12}))
    (tmp_path / "d.zip").write_bytes(zip_of({"a/train.csv": csv(), "a/../../b.csv": csv()}))
    for chosen, name, said in (
        ("size=1", "a.zip", "it unpacks to more; at most 1 MB are read"),
        ("rows=5", "b.zip", "the table has more rows"),
        ("rows=15", "c.json", "the table has more rows"),
        ("characters=4", "b.zip", "a text has 5 characters"),
        ("rows=99", "d.zip", "the path `a/../../b.csv` leads out of the archive"),
    ):
        monkeypatch.setenv(limits.VARIABLE, chosen)
        with pytest.raises(DataError, match=re.escape(said)):
            sandbox.read_labeled(tmp_path / name, DataConfig().get_read_settings())


@pytest.mark.parametrize("name", ["a.csv.gz", "a.zip"])
def test_files_that_unpack_too_large_are_refused_with_advice(monkeypatch, tmp_path, name):
    monkeypatch.setenv(limits.VARIABLE, "size=1")
    large = csv().encode() * 1_000
    packed = gzip.compress(large, mtime=0) if name.endswith("gz") else zip_of({"train.csv": large})
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(DataError, match=r"it unpacks to more; at most 1 MB are read\. .*head -n 100000 > part\.csv"):
        sandbox.inspect_file(tmp_path / name, DataConfig().get_read_settings())


@pytest.mark.parametrize(
    ("chosen", "content", "said"),
    [
        ("columns=3", {"data": [{"review": {"text": "a", "b": 1, "c": 2, "d": 3}}] * 9}, "columns"),
        ("rows=20", {"data": objects()}, "the table has more rows"),
        ("characters=30", {"data": objects()}, "field 'text': the cell has 3"),
        ("rows=20", {"text": dict(enumerate(texts())), "label": dict(enumerate(labels()))}, "the table has more rows"),
    ],
)
def test_limits_apply_to_nested_rows(monkeypatch, tmp_path, chosen, content, said):
    monkeypatch.setenv(limits.VARIABLE, chosen)
    (tmp_path / "a.json").write_text(json.dumps(content))
    check_raises(DataError, said, inspect_file, tmp_path / "a.json")


@pytest.mark.parametrize("name", [*TO_PREDICT, "kaggle.zip"])
def test_rows_to_predict_need_no_labels(tmp_path, name):
    found = stream_rows(write_shape(name, tmp_path))
    assert [text for batch in found.batches for text in batch.column(found.text).to_pylist()] == texts()


def test_label_studio_annotations_give_their_first_result_and_all_its_answers(tmp_path):
    rows = tasks()
    rows[0]["annotations"] = [choice("good", was_cancelled=True), choice("bad"), choice("good")]
    rows[1]["annotations"].append(choice("good"))
    (tmp_path / "a.json").write_text(json.dumps(rows))
    report = inspect_file(tmp_path / "a.json")
    assert report.classes == {"bad": 20, "good": 20}
    said = "2 tasks with more than one annotation, of which the first is read; 1 of them differ"
    assert said in [each.message for each in report.findings]
    given = [{"result": [*choice(label)["result"], *choice("long")["result"]]} for label in labels()]
    exported = [{"id": n, "data": {"text": text}, "annotations": [given[n]]} for n, text in enumerate(texts())]
    (tmp_path / "a.json").write_text(json.dumps(exported))
    assert inspect_file(tmp_path / "a.json").classes == {"bad": ROWS // 2, "good": ROWS // 2, "long": ROWS}
    (tmp_path / "a.json").write_text(json.dumps(tasks({"result": 5})))
    check_raises(DataError, "a list of 1 Label Studio task without an annotation", read_file, tmp_path / "a.json")


def test_nested_archives_and_prodigy_exports_without_accepted_rows_are_refused(tmp_path):
    inside = gzip.compress(csv().encode(), mtime=0)
    (tmp_path / "a.gz").write_bytes(gzip.compress(inside, mtime=0))
    (tmp_path / "b.zip").write_bytes(zip_of({"train.csv.gz": inside}))
    for name in ("a.gz", "b.zip"):
        check_raises(DataError, "an archive inside an archive", inspect_file, tmp_path / name)
    rows = [{**row, "accept": [row["label"]], "answer": "ignore", "_task_hash": 1} for row in objects()]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match=rf"none of {ROWS} rows was accepted in Prodigy \(ignore {ROWS}\)"):
        inspect_file(tmp_path / "a.jsonl")
