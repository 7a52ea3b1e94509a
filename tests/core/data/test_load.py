import json

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core.config import compose
from core.data import sandbox
from core.data.card import count_duplicates
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.load import load_dataset
from core.exceptions import ConfigError, DataError, InputError, NotAvailable
from core.text.text_pairs import join_pair, split_pair

UNKNOWN = "no hub repository is known for '{}'; give a local copy with --data PATH"
KORNLI = ("entailment", "neutral", "contradiction")
ROWS = [(f"text {row}", f"other {row % 7}", ("yes", "no")[row % 2]) for row in range(20)]


def frame(count, start=0, classes=2):
    return pd.DataFrame([(f"text {start + n}", n % classes) for n in range(count)], columns=["text", "label"])


def folder(path, **sizes):
    path.mkdir(exist_ok=True)
    for number, (name, size) in enumerate(sizes.items()):
        (size if isinstance(size, pd.DataFrame) else frame(size, 10_000 * number)).to_parquet(path / f"{name}.parquet")
    return path


def sizes(dataset):
    return {name: len(rows) for name, rows in dataset.splits.items()}


def join_splits(dataset):
    return sorted(text for rows in dataset.splits.values() for text in rows["text"])


@pytest.mark.parametrize(
    ("given", "cut", "note"),
    [
        ({"train": 40, "validation": 21}, (40, 10, 11), "no test split: validation halved into 10 and 11"),
        ({"train": 60, "test": 8}, (54, 6, 8), "no validation split: 6 rows (10 %) of train taken"),
    ],
)
def test_missing_splits_are_cut_from_others(tmp_path, given, cut, note):
    dataset = load_dataset(DataConfig(name=str(folder(tmp_path, **given))))
    assert tuple(sizes(dataset).values()) == cut and dataset.notes == (f"{note}, stratified, seed 0",)
    assert dataset.splits["validation"]["label"].sum() == cut[1] / 2


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_single_table_is_cut_80_10_10(tmp_path, kind):
    path = folder(tmp_path, train=100)
    dataset = load_dataset(DataConfig(name=str(path / "train.parquet" if kind == "file" else path)))
    assert sizes(dataset) == {"train": 80, "validation": 10, "test": 10}
    assert "cut 0.8/0.1/0.1 into 80/10/10, stratified, seed 0" in dataset.notes[-1]
    assert join_splits(dataset) == sorted(frame(100)["text"])


def test_a_new_split_pools_all_given_splits(tmp_path):
    path = folder(tmp_path, train=60, validation=20, test=20)
    dataset = load_dataset(DataConfig(name=str(path), split="0.7/0.15/0.15"))
    assert sizes(dataset) == {"train": 70, "validation": 15, "test": 15} and len(set(join_splits(dataset))) == 100
    other = load_dataset(DataConfig(name=str(path), split="0.7/0.15/0.15", seed=1))
    assert set(other.splits["test"]["text"]) != set(dataset.splits["test"]["text"])
    assert load_dataset(DataConfig(name=str(path), split="0.7/0.15/0.15")).fingerprint == dataset.fingerprint


def test_classes_without_training_rows_are_removed_from_other_splits_with_a_note(tmp_path):
    path = folder(tmp_path, train=frame(40).replace({"label": {1: 2}}), validation=8, test=frame(9, classes=3))
    (path / "labels.json").write_text(json.dumps({"classes": {"0": "bad", "1": "mixed", "2": "good"}}))
    dataset = load_dataset(DataConfig(name=str(path)))
    assert dataset.classes == ("bad", "good") and sizes(dataset) == {"train": 40, "validation": 4, "test": 6}
    assert dataset.notes == (
        "validation: 4 rows of class 'mixed' left out, train has none",
        "test: 3 rows of class 'mixed' left out, train has none",
    )
    assert list(dataset.splits["test"]["label"]) == [0, 1] * 3


def test_the_limit_cuts_only_train_and_smaller_samples_are_nested(tmp_path):
    path = str(folder(tmp_path, train=200, validation=20, test=20))
    small, large = (load_dataset(DataConfig(name=path, limit=limit)) for limit in (20, 50))
    assert sizes(small) == {"train": 20, "validation": 20, "test": 20}
    assert set(small.splits["train"]["text"]) < set(large.splits["train"]["text"])
    assert small.splits["train"]["label"].mean() == 0.5
    assert small.notes == ("train cut from 200 to 20 rows, stratified, seed 0",)
    assert sizes(load_dataset(DataConfig(name=path, limit=10_000)))["train"] == 200
    check_raises(ConfigError, r"data.limit=1: at least 2", load_dataset, DataConfig(name=path, limit=1))


def test_given_splits_are_kept_row_for_row_and_the_fingerprint_names_the_content(tmp_path):
    dataset = load_dataset(DataConfig(name=str(folder(tmp_path / "d", train=40, validation=8, test=6))))
    assert sizes(dataset) == {"train": 40, "validation": 8, "test": 6} and dataset.notes == ()
    assert dataset.name == "d" and dataset.classes == ("0", "1") and dataset.source == str(tmp_path / "d")
    train = dataset.splits["train"]
    assert list(train["text"]) == [f"text {n}" for n in range(40)]
    assert str(train["label"].dtype) == "int64" and str(train["text"].dtype) == "str"
    assert list(train.index) == list(range(40))
    first = load_dataset(DataConfig(name=str(folder(tmp_path / "a", train=40, validation=8, test=6))))
    same = load_dataset(DataConfig(name=str(folder(tmp_path / "b", train=40, validation=8, test=6))))
    changed = frame(6, 20_000)
    changed.loc[0, "text"] += "!"
    other = load_dataset(DataConfig(name=str(folder(tmp_path / "c", train=40, validation=8, test=changed))))
    assert first.fingerprint == same.fingerprint != other.fingerprint and len(first.fingerprint) == 64


def test_file_findings_become_notes(tmp_path):
    rows = frame(30)
    rows.loc[0, "text"] = None
    rows.to_parquet(tmp_path / "f.parquet")
    assert load_dataset(DataConfig(name=str(tmp_path / "f.parquet"))).notes[0] == "1 row without a text left out"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("stt2", DataError, "no data set and no file is called 'stt2' .did you mean 'sst2'"),
        ("absent.csv", DataError, "absent.csv: no such file"),
        ("~/absent-folder/x.csv", DataError, "no such file"),
        *((name, NotAvailable, UNKNOWN.format(name)) for name in ("caves", "kornli", "us_airline")),
    ],
)
def test_unknown_data_names_are_reported(monkeypatch, name, error, message):
    monkeypatch.delenv("SENTISCOPE_DATA", raising=False)
    check_raises(error, message, load_dataset, DataConfig(name=name))


def test_sst2_and_imdb_have_splits_of_their_own_rules_and_missing_sets_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    folder(tmp_path / "sst2", train=200, validation=20, test=30)
    dataset = load_dataset(DataConfig(name="sst2"))
    assert sizes(dataset) == {"train": 180, "validation": 20, "test": 20}
    assert list(dataset.splits["test"]["text"]) == list(frame(20, 10_000)["text"])
    assert dataset.notes[:2] == (
        "the official dev split (20 rows) is the test split",
        "the given test split (30 rows) is left out",
    )
    assert dataset.language == "en" and "Socher" in dataset.source
    again = load_dataset(DataConfig(name="sst2", split="0.7/0.15/0.15"))
    assert sizes(again) == {"train": 154, "validation": 33, "test": 33}
    assert not set(again.splits["test"]["text"]) & set(frame(30, 20_000)["text"])
    assert again.notes[0] == "the given test split (30 rows) is not pooled and left out"
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    folder(tmp_path / "imdb", train=100, test=100)
    assert sizes(load_dataset(DataConfig(name="imdb"))) == {"train": 80, "validation": 20, "test": 100}
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    with pytest.raises(NotAvailable, match="there is no folder 'ohsumed' in SENTISCOPE_DATA="):
        load_dataset(DataConfig(name="ohsumed"))


def write_stars(path, **settings):
    """Load texts of 1 to 5 stars and of −1, twelve each, with these settings."""
    rows = [f"text {n} of {star},{star}" for n in range(12) for star in (1, 2, 3, 4, 5, -1)]
    path.write_text("text,stars\n" + "\n".join(rows) + "\n")
    return load_dataset(DataConfig(name=str(path), **settings))


def test_labels_are_renamed_merged_left_out_and_keep_their_order_without_another(tmp_path):
    named = "1=negative,2=negative,3=so so,4=positive,5=positive,-1="
    found = write_stars(tmp_path / "stars.csv", rename=named, order="negative,so so,positive")
    assert found.classes == ("negative", "so so", "positive") and found.ordered and found.scale
    rows = pd.concat(found.splits.values())
    assert rows["label"].value_counts().to_dict() == {0: 24, 1: 12, 2: 24}
    assert rows[rows["text"].str.endswith("of 3")]["label"].unique().tolist() == [1]
    assert "all: 12 rows without a label after data.rename left out" in found.notes
    found = write_stars(tmp_path / "stars.csv", rename='5=good,4=good,1=bad,2=bad,-1=bad,"3=fair, I guess"')
    assert found.classes == ("bad", "fair, I guess", "good") and not found.ordered


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"rename": "6=bad"}, "data.rename: no label '6'; the labels are -1, 1, 2, 3, 4, 5"),
        ({"rename": "bad"}, "data.rename: write label=class and not 'bad'"),
        ({"order": "1,2,3"}, "data.order='1,2,3': every class once; they are -1, 1, 2, 3, 4, 5"),
        ({"order": "1,2,2"}, "'2' is given twice"),
        ({"order": "1"}, "two classes or more"),
        ({"order": "1\n2,3"}, "one line each"),
        ({"rename": "1=,2=,3=,4=,-1="}, "every row has the label '5'"),
    ],
)
def test_impossible_renames_and_orders_are_refused(tmp_path, chosen, reason):
    check_raises(InputError, reason, write_stars, tmp_path / "stars.csv", **chosen)


@pytest.mark.slow
def test_known_scales_are_ordered_unless_renamed():
    assert load_dataset(DataConfig(name="built-in", classes=5)).scale
    assert not load_dataset(DataConfig(name="built-in", classes=3, rename="neutral=positive")).ordered


@pytest.fixture(scope="module")
def read_reviews(tmp_path_factory):
    """A file of 200 rows without splits; only the last three are of the class `rare`."""
    labels = [*np.random.default_rng(4).choice(["bad", "fine", "good"], 197, p=[0.5, 0.2, 0.3]), *["rare"] * 3]
    texts = [f"text number {n} of {label}" for n, label in enumerate(labels)]
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    return str(path), sandbox.read_labeled(path, {})


@pytest.fixture
def reviews(read_reviews, monkeypatch):
    path, found = read_reviews
    monkeypatch.setattr(sandbox, "read_labeled", lambda *_: found)
    return path


def split_of(dataset):
    return {text: split for split, rows in dataset.splits.items() for text in rows["text"]}


@pytest.mark.slow
@pytest.mark.parametrize("cut", [{}, {"split": "0.6/0.2/0.2"}, {"folds": 4, "fold": 1}, {"seed": 5, "limit": 50}])
def test_class_order_and_names_do_not_change_splits(reviews, cut):
    before = split_of(load_dataset(DataConfig(name=reviews, **cut)))
    same = [{"order": "rare,good,bad,fine"}, {"rename": "bad=worst,good=best"}]
    for named in [*same, {"rename": "bad=z,fine=a", "order": "rare,a,good,z"}]:
        assert split_of(load_dataset(DataConfig(name=reviews, **cut, **named))) == before, named


@pytest.mark.parametrize("rename", ["fine=good", "fine=", "rare=good,fine="])
def test_merging_or_dropping_classes_moves_no_other_row(reviews, rename):
    before = split_of(load_dataset(DataConfig(name=reviews)))
    after = split_of(load_dataset(DataConfig(name=reviews, rename=rename)))
    left_out = {text for text in before if text.endswith("fine")} if "fine=" in rename.split(",") else set()
    assert after == {text: split for text, split in before.items() if text not in left_out}


@pytest.mark.parametrize("cut", [{"seed": seed} for seed in range(4)] + [{"split": "0.5/0.25/0.25"}])
def test_a_class_of_three_rows_is_in_every_split(reviews, cut):
    dataset = load_dataset(DataConfig(name=reviews, **cut))
    for rows in dataset.splits.values():
        assert (rows["label"] == dataset.classes.index("rare")).sum() == 1
    assert sizes(dataset) == sizes(load_dataset(DataConfig(name=reviews, **cut, split_rule=1)))


def test_unnamed_labels_are_removed_and_rare_ones_are_in_every_split(tmp_path):
    rows = [f"text {n},{labels}" for n in range(20) for labels in ("calm;joy", "joy", "noise", "noise;calm")]
    (tmp_path / "several.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    found = load_dataset(DataConfig(name=str(tmp_path / "several.csv"), rename="noise=,joy=glad"))
    assert found.classes == ("calm", "glad")
    assert pd.concat(found.splits.values())["label"].value_counts().to_dict() == {(0, 1): 20, (1,): 20, (0,): 20}
    rows = pd.DataFrame({"text": [f"text {n}" for n in range(60)], "label": ["warm;cold", "warm", "cold"] * 20})
    rows.loc[[3, 30, 57], "label"] = "warm;rare"
    rows.to_csv(tmp_path / "several.csv", index=False)
    dataset = load_dataset(DataConfig(name=str(tmp_path / "several.csv"), separator=";"))
    rare = dataset.classes.index("rare")
    assert [sum(rare in each for each in rows["label"]) for rows in dataset.splits.values()] == [1, 1, 1]
    ordered = load_dataset(DataConfig(name=str(tmp_path / "several.csv"), separator=";", order="warm,rare,cold"))
    assert split_of(dataset) == split_of(ordered)


@pytest.mark.parametrize(
    ("chosen", "digest"),
    [  # computed before there was a second rule
        ({}, "87377c747692272d"),
        ({"order": "rare,bad,fine,good"}, "ca9598614d8a5ac2"),
        ({"rename": "fine=good,rare="}, "156329f8bab9fb8e"),
        ({"folds": 4, "fold": 1, "order": "good,fine,bad,rare"}, "434044c755f70df2"),
        ({"limit": 50, "order": "good,fine,bad,rare", "seed": 3}, "a0861470de31e305"),
        ({"split": "0.6/0.2/0.2", "rename": "bad=awful"}, "232eb963dc3443a7"),
    ],
)
def test_splits_of_older_runs_do_not_change(reviews, chosen, digest):
    assert load_dataset(DataConfig(name=reviews, split_rule=1, **chosen)).fingerprint.startswith(digest)


def test_the_new_split_rule_moves_no_row_without_rare_classes(tmp_path):
    path = folder(tmp_path / "d", all=frame(100, classes=4))
    assert (
        load_dataset(DataConfig(name=str(path))).fingerprint
        == load_dataset(DataConfig(name=str(path), split_rule=1)).fingerprint
    )


def write_pairs(path, columns, rows=ROWS):
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("names", [("sentence1", "sentence2"), ("premise", "hypothesis"), ("Question1", "Question2")])
def test_pair_columns_are_found_by_their_names(tmp_path, names):
    found = read_file(write_pairs(tmp_path / "a.csv", [*names, "label"]))
    assert (found.report.text, found.report.pair, found.report.label) == (*names, "label")
    assert found.rows["text"].tolist() == [join_pair(first, second) for first, second, _ in ROWS]
    assert list(found.rows) == ["text", "label"]
    notes = [each.message for each in found.report.findings if each.kind == "pairs"]
    told = f"each row is a pair of texts, '{names[0]}' and '{names[1]}'; data.pair=none reads the first alone"
    assert notes == [told]


def test_pair_columns_can_be_set_or_turned_off_but_not_be_one_column(tmp_path):
    path = write_pairs(tmp_path / "a.csv", ["review", "reply", "label"])
    assert inspect_file(path).pair == ""
    found = read_file(path, text="review", pair="reply")
    assert split_pair(found.rows["text"][3]) == ("text 3", "other 3")
    assert read_file(path, text="0", pair="1").rows.equals(found.rows)
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"])
    found = read_file(path, text="sentence1", pair="none")
    assert found.rows["text"].tolist() == [first for first, _, _ in ROWS] and "sentence2" in found.rows
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"])
    check_raises(DataError, "cannot be both texts of a pair", read_file, path, text="sentence1", pair="sentence1")
    with pytest.raises(DataError, match=r"no column 'sentenc2' for data\.pair; did you mean 'sentence2'"):
        read_file(path, pair="sentenc2")
    (tmp_path / "b.txt").write_text("good film", encoding="utf-8")
    with pytest.raises(DataError, match="'0' is the only column, and the second text of a pair needs a first"):
        read_file(tmp_path / "b.txt", pair="0")


def test_duplicate_pairs_have_two_equal_texts():
    train = pd.DataFrame({"text": [join_pair("a", "b"), join_pair("a", "c"), join_pair("a", "b")], "label": [0, 1, 1]})
    test = pd.DataFrame({"text": [join_pair("A", "b"), join_pair("b", "a")], "label": [0, 1]})
    found = count_duplicates({"train": train, "test": test}, compose("vanilla").text)
    assert found["within"] == {"train": 1, "test": 0} and found["conflicting"] == 1
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


def test_rows_without_a_second_text_are_named_and_escapes_make_no_pair(tmp_path):
    rows = [*ROWS[:4], ("text 4", None, "yes"), *ROWS[5:]]
    path = write_pairs(tmp_path / "a.csv", ["sentence1", "sentence2", "label"], rows)
    with pytest.raises(DataError, match=r"a\.csv, row 5, .*sentence2.*: the second text is missing") as error:
        read_file(path)
    assert error.value.row == 5 and error.value.field == "sentence2"
    rows = [{"premise": rf"first \u2016 rest {n}", "hypothesis": f"second {n}", "label": n % 2} for n in range(20)]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    assert split_pair(read_file(tmp_path / "a.csv").rows["text"][0]) == ("first | rest 0", "second 0")
    frame = pd.DataFrame({"text": [f"alpha ‖ beta {n}" for n in range(20)], "label": [n % 2 for n in range(20)]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert all(split_pair(text) is None for text in read_file(tmp_path / "a.csv").rows["text"])
