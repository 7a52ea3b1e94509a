"""Text pairs: columns found by name or setting, joined in every row, refused if a text is missing."""

import pandas as pd
import pytest

from core.config import compose
from core.data.card import count_duplicates
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.load import load_dataset
from core.exceptions import DataError
from core.text.text_pairs import join_pair, split_pair

KORNLI = ("entailment", "neutral", "contradiction")
ROWS = [(f"text {row}", f"other {row % 7}", ("yes", "no")[row % 2]) for row in range(20)]


def write_pairs(path, columns, rows=ROWS):
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("names", [("sentence1", "sentence2"), ("premise", "hypothesis"), ("Question1", "Question2")])
def test_pair_columns_are_found_by_their_names(tmp_path, names):
    path = write_pairs(tmp_path / "a.csv", [*names, "label"])
    found = read_file(path)
    assert (found.report.text, found.report.pair, found.report.label) == (*names, "label")
    assert found.rows["text"].tolist() == [join_pair(first, second) for first, second, _ in ROWS]
    assert list(found.rows) == ["text", "label"]
    notes = [each.message for each in found.report.findings if each.kind == "pairs"]
    told = f"each row is a pair of texts, '{names[0]}' and '{names[1]}'; data.pair=none reads the first alone"
    assert notes == [told]


def test_pair_columns_can_be_set_or_turned_off(tmp_path):
    path = write_pairs(tmp_path / "a.csv", ["review", "reply", "label"])
    assert inspect_file(path).pair == ""
    found = read_file(path, text="review", pair="reply")
    assert split_pair(found.rows["text"][3]) == ("text 3", "other 3")
    assert read_file(path, text="0", pair="1").rows.equals(found.rows)
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"])
    found = read_file(path, text="sentence1", pair="none")
    assert found.rows["text"].tolist() == [first for first, _, _ in ROWS]
    assert "sentence2" in found.rows


def test_rows_without_a_second_text_are_named_with_the_column(tmp_path):
    rows = [*ROWS[:4], ("text 4", None, "yes"), *ROWS[5:]]
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"], rows)
    with pytest.raises(DataError, match=r"a\.csv, row 5, .*sentence2.*: the second text is missing") as error:
        read_file(path)
    assert error.value.row == 5
    assert error.value.field == "sentence2"


def test_one_column_cannot_be_both_texts_of_a_pair(tmp_path):
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"])
    with pytest.raises(DataError, match="cannot be both texts of a pair"):
        read_file(path, text="sentence1", pair="sentence1")
    with pytest.raises(DataError, match=r"no column 'sentenc2' for data\.pair; did you mean 'sentence2'"):
        read_file(path, pair="sentenc2")
    (tmp_path / "b.txt").write_text("good film", encoding="utf-8")
    with pytest.raises(DataError, match="'0' is the only column, and the second text of a pair needs a first"):
        read_file(tmp_path / "b.txt", pair="0")


def test_duplicate_pairs_have_two_equal_texts():
    train = pd.DataFrame({"text": [join_pair("a", "b"), join_pair("a", "c"), join_pair("a", "b")], "label": [0, 1, 1]})
    test = pd.DataFrame({"text": [join_pair("A", "b"), join_pair("b", "a")], "label": [0, 1]})
    found = count_duplicates({"train": train, "test": test}, compose("vanilla").text)
    assert found["within"] == {"train": 1, "test": 0}
    assert found["conflicting"] == 1
    assert found["as_read"]["from_train"]["test"]["rows"] == 1
    assert found["from_train"]["test"]["mirrored"] == 1, "of a and b"


@pytest.mark.parametrize(
    ("name", "columns", "labels", "classes"),
    [
        ("kornli", ["sentence1", "sentence2", "gold_label"], list(KORNLI), KORNLI[::-1]),
        ("paws_x_ko", ["id", "sentence1", "sentence2", "label"], ["0", "1"], ("different", "paraphrase")),
        ("question_pair", ["id", "qid1", "qid2", "question1", "question2", "is_duplicate"], ["0", "1"], ("0", "1")),
    ],
)
def test_registered_pairs_load_from_published_files(tmp_path, monkeypatch, name, columns, labels, classes):
    folder = tmp_path / name
    folder.mkdir()
    for split, count in (("train", 30), ("dev", 12), ("test", 12)):
        numbers = [[str(row)] * (len(columns) - 3) for row in range(count)]
        rows = [[*numbers[row], f"문장 {row}", f"다른 문장 {row}", labels[row % len(labels)]] for row in range(count)]
        pd.DataFrame(rows, columns=columns).to_csv(folder / f"{split}.tsv", sep="\t", index=False)
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    found = load_dataset(DataConfig(name=name))
    assert found.classes == classes
    assert {split: len(rows) for split, rows in found.splits.items()} == {"train": 30, "validation": 12, "test": 12}
    assert split_pair(found.splits["test"]["text"][0]) == ("문장 0", "다른 문장 0")


def test_escapes_cannot_turn_a_single_text_into_a_pair(tmp_path):
    rows = [{"premise": rf"first \u2016 rest {n}", "hypothesis": f"second {n}", "label": n % 2} for n in range(20)]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    found = read_file(tmp_path / "a.csv")
    assert split_pair(found.rows["text"][0]) == ("first | rest 0", "second 0")
    frame = pd.DataFrame({"text": [f"alpha ‖ beta {n}" for n in range(20)], "label": [n % 2 for n in range(20)]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert all(split_pair(text) is None for text in read_file(tmp_path / "a.csv").rows["text"])
