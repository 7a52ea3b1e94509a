import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core.data.labels import UnmatchedLabels
from core.exceptions import InputError
from core.runs.evaluation_data import DataRequest, EvaluationData, format_command, predict_rows, read_evaluation_data


@pytest.fixture
def record(loaded):
    return loaded.record


@pytest.fixture
def given(tmp_path, record):
    """given(labels, **wanted) → evaluation data from a file with these labels; texts are `text 0` …"""

    def take(labels, **wanted) -> EvaluationData:
        frame = pd.DataFrame({"text": [f"text {n}" for n in range(len(labels))], "label": labels})
        frame.assign(source=[f"s{n}" for n in range(len(labels))]).to_csv(tmp_path / "other.csv", index=False)
        return read_evaluation_data(record, DataRequest(str(tmp_path / "other.csv"), **wanted))

    return take


@pytest.mark.slow
def test_the_default_rows_are_the_runs_test_split(record, loaded, finished):
    own = read_evaluation_data(record, DataRequest())
    kept = pd.read_parquet(finished / "mine/evaluation/test/predictions.parquet")
    assert own.split == "test" and own.data == record.config.data.name
    assert own.rows["text"].tolist() == kept["text"].tolist()
    assert [record.classes[label] for label in own.rows["label"]] == kept["label"].tolist()
    said = predict_rows(loaded, own).probabilities
    np.testing.assert_allclose(said, kept[[f"probability:{name}" for name in record.classes]], atol=1e-6)


@pytest.mark.slow
def test_counterexamples_are_not_evaluated(record, tmp_path):
    (tmp_path / "abc123.json").write_text(json.dumps([{"text": "kept by hand", "label": record.classes[0]}]))
    data = dataclasses.replace(record.config.data, examples=str(tmp_path / "abc123.json"))
    taught = dataclasses.replace(record, config=dataclasses.replace(record.config, data=data))
    plain, found = (
        read_evaluation_data(each, DataRequest(split="train")).rows["text"].tolist() for each in (record, taught)
    )
    assert found == plain and "kept by hand" not in found


def test_a_single_file_gives_all_rows_and_columns_and_left_out_labels(given):
    found = given(["positive", "Negative", "positive"])
    assert found.split == "all" and found.rows["label"].tolist() == [1, 0, 1]
    assert found.rows["label"].dtype == np.int64 and found.rows["source"].tolist() == ["s0", "s1", "s2"]
    assert found.renamed == {"Negative": "negative"}
    found = given(["positive", "neutral", "neutral", "bad"], rename={"neutral": "", "bad": "negative"})
    assert found.rows["text"].tolist() == ["text 0", "text 3"] and list(found.rows.index) == [0, 1]
    assert found.dropped == {"neutral": 2} and found.notes[-1] == "left out: label 'neutral' (2 rows)"
    check_raises(InputError, "nothing is left of 2 rows", given, ["neutral"] * 2, rename={"neutral": ""})
    found = given(["positive", "bad"], rename={"bda": "negative", "bad": "negative"})
    assert found.notes[-1] == "no row has the label 'bda', which is to be renamed or left out"
    for labels in (["positive"] * 2, ["positive"]):
        assert len(given(labels).rows) == len(labels), "one class or one row is enough"


def test_unknown_labels_are_refused_with_a_command(given, tmp_path):
    with pytest.raises(UnmatchedLabels) as raised:
        given(["pos", "-1", "meh"], limit=2)
    file = tmp_path / "other.csv"
    start = f"sentiscope evaluate mine --data {file} --limit 2 --map"
    assert f"{start} -1= --map meh= --map pos=positive or say" in str(raised.value)
    assert str(raised.value).endswith(f"{start} -1=negative --map meh= --map pos=positive")
    wanted = DataRequest("my data.csv", "", {"so so": ""}, settings={"data.label": "stars"})
    pasted = "sentiscope evaluate first --data 'my data.csv' --set data.label=stars --map 'so so='"
    assert format_command("first", wanted) == pasted, "it can be pasted into a shell"


def test_limits_give_a_stratified_sample_and_rows_with_several_labels_are_refused(given):
    found = given(["positive"] * 30 + ["negative"] * 10, limit=8)
    assert np.bincount(found.rows["label"]).tolist() == [2, 6]
    assert found.notes[-1] == "8 of 40 rows, stratified, seed 0"
    assert found.rows["text"].tolist() == given(["positive"] * 30 + ["negative"] * 10, limit=8).rows["text"].tolist()
    with pytest.raises(InputError, match=r"2 rows have several labels or none \(row 1: 2\); run 'mine' gives each"):
        given(["positive;negative", "positive", "negative;positive"])


def folder(path, **splits):
    path.mkdir()
    for name, labels in splits.items():
        frame = pd.DataFrame({"text": [f"{name} {n}" for n in range(len(labels))], "label": labels})
        frame.to_csv(path / f"{name}.csv", index=False)
    return DataRequest(str(path))


@pytest.mark.parametrize("name", ["test", "all", "validation"])
def test_a_folder_needs_no_train_file(tmp_path, record, name):
    found = read_evaluation_data(record, folder(tmp_path / "data", **{name: ["positive"]}))
    assert (found.split, found.rows["text"].tolist()) == (name, [f"{name} 0"])


def test_splits_come_from_files_with_named_columns_or_are_split_as_for_training(tmp_path, record):
    both = folder(tmp_path / "both", train=["positive"], test=["negative"])
    assert read_evaluation_data(record, both).rows["text"].tolist() == ["test 0"]
    assert read_evaluation_data(record, dataclasses.replace(both, split="train")).rows["text"].tolist() == ["train 0"]
    halves = folder(tmp_path / "halves", train=["positive", "negative"] * 5, validation=["positive", "negative"] * 4)
    found = read_evaluation_data(record, halves)
    assert found.split == "test" and len(found.rows) == 4
    assert set(found.rows["text"]) < {f"validation {n}" for n in range(8)}
    with pytest.raises(InputError, match="--split tset: both has train, "):
        read_evaluation_data(record, dataclasses.replace(both, split="tset"))
    with pytest.raises(UnmatchedLabels, match=r"'-1' \(3 rows\).* -1="):
        read_evaluation_data(record, folder(tmp_path / "withheld", test=[-1, -1, -1]))
    frame = pd.DataFrame({"a": ["x", "y"], "text": ["one", "two"], "stars": ["negative", "positive"]})
    frame.assign(label="none of these").to_csv(tmp_path / "other.csv", index=False)
    found = read_evaluation_data(
        record, DataRequest(str(tmp_path / "other.csv"), settings={"data.text": "a", "data.label": "stars"})
    )
    assert found.rows["text"].tolist() == ["x", "y"] and found.rows["label"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (DataRequest(split="dev"), "--split dev: .* has train, validation, test"),
        (DataRequest("nowhere.csv"), "nowhere.csv"),
        (DataRequest(settings={"data.text": "a"}), "--set data.text: .* --data"),
        (DataRequest("built-in", settings={"training.lr": "1"}), "--set training.lr: the run is trained"),
    ],
)
def test_invalid_requests_are_refused(record, wanted, reason):
    check_raises(InputError, reason, read_evaluation_data, record, wanted)
