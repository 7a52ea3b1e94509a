"""Counterexamples are added to the training split only."""

import json

import pandas as pd
import pytest

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.exceptions import DataError


@pytest.fixture
def table(tmp_path):
    rows = [(f"sentence number {n} is {'good' * (n % 2) or 'bad'}", ("minus", "plus")[n % 2]) for n in range(60)]
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(tmp_path / "own.csv", index=False)
    return str(tmp_path / "own.csv")


@pytest.fixture
def keep(tmp_path):
    def keep(*pairs):
        file = tmp_path / "abc123.json"
        file.write_text(json.dumps([{"text": text, "label": label} for text, label in pairs]))
        return str(file)

    return keep


def test_counterexamples_follow_the_training_rows(table, keep):
    config = DataConfig(name=table, examples=keep(("not bad at all", "plus"), ("hardly good", "minus")))
    plain, found = load_dataset(DataConfig(name=table)), load_dataset(config)
    train = found.splits["train"]
    assert train["text"].tolist() == [*plain.splits["train"]["text"], "not bad at all", "hardly good"]
    assert train["label"].tolist()[-2:] == [found.classes.index("plus"), found.classes.index("minus")]
    assert (train["corpus"] == NAME).sum() == 2 and train["label"].dtype == "int64"
    for split in ("validation", "test"):
        pd.testing.assert_frame_equal(found.splits[split], plain.splits[split])
    assert found.fingerprint != plain.fingerprint
    assert f"{NAME}: 2 rows joined train" in found.notes


def test_counterexamples_of_other_splits_and_classes_are_left_out(table, keep):
    plain = load_dataset(DataConfig(name=table))
    judged = plain.splits["test"]["text"][0], plain.splits["validation"]["text"][0].upper()
    kept = keep(*((text, "plus") for text in judged), ("fine", "so so"), ("new", "plus"))
    found = load_dataset(DataConfig(name=table, examples=kept))
    assert found.splits["train"]["text"].tolist() == [*plain.splits["train"]["text"], "new"]
    assert f"{NAME}: 1 row of other classes left out" in found.notes
    assert f"{NAME}: 2 rows left out, read alike in the other splits" in found.notes


def test_counterexample_labels_are_renamed_and_not_read_for_evaluation(table, keep, tmp_path):
    given = keep(("new", "plus"), ("newer", "good"))
    found = load_dataset(DataConfig(name=table, rename="plus=good", limit=10, examples=given))
    assert len(found.splits["train"]) == 12 and found.splits["train"]["text"].tolist()[-2:] == ["new", "newer"]
    config = DataConfig(name=table, examples=str(tmp_path / "gone.json"))
    assert "corpus" not in load_dataset(config, to_train=False).splits["train"]
    with pytest.raises(DataError, match=r"gone\.json: no such file"):
        load_dataset(config)


@pytest.mark.parametrize("content", ["{}", "[1]", '[{"text": 1, "label": "plus"}]', "no json", '[{"text": "a"}]'])
def test_snapshots_with_other_content_are_refused(table, tmp_path, content):
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"other\.json: no kept counter-examples"):
        load_dataset(DataConfig(name=table, examples=str(file)))


def test_counterexamples_of_multilabel_data_have_sets_of_labels(tmp_path, keep):
    rows = pd.DataFrame({"text": [f"text {n}" for n in range(40)], "label": ["a;b", "a", "b", ""] * 10})
    rows.to_csv(tmp_path / "several.csv", index=False)
    kept = keep(("new", "b;a"), ("newer", "a"), ("nothing of it", ""), ("other", "a;c"))
    plain = load_dataset(DataConfig(name=str(tmp_path / "several.csv")))
    found = load_dataset(DataConfig(name=str(tmp_path / "several.csv"), examples=kept))
    train = found.splits["train"]
    assert found.task == "multi" and train["text"].tolist()[-3:] == ["new", "newer", "nothing of it"]
    assert train["label"].tolist()[-3:] == [(0, 1), (0,), ()]
    assert f"{NAME}: 1 row of other classes left out" in found.notes and f"{NAME}: 3 rows joined train" in found.notes
    for split in ("validation", "test"):
        pd.testing.assert_frame_equal(found.splits[split], plain.splits[split])
