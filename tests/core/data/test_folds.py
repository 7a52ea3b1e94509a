"""Cross-validation: each labelled row is tested once, and a given test split is not used."""

import pandas as pd
import pytest

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.exceptions import ConfigError, DataError


def rows(count, what):
    return pd.DataFrame({"text": [f"{what} {n}" for n in range(count)], "label": [n % 2 for n in range(count)]})


@pytest.fixture
def given(tmp_path):
    for name, count in (("train", 40), ("validation", 10), ("test", 8)):
        rows(count, name).to_parquet(tmp_path / f"{name}.parquet")
    return str(tmp_path)


def load_folds(name, count, **more):
    return [load_dataset(DataConfig(name=name, folds=count, fold=number, **more)) for number in range(count)]


def texts(dataset, *names):
    return [text for name in names for text in dataset.splits[name]["text"]]


@pytest.mark.slow
def test_the_folds_test_every_row_of_train_and_validation_once(given):
    found = load_folds(given, 5)
    tested = [text for dataset in found for text in texts(dataset, "test")]
    assert sorted(tested) == sorted([*rows(40, "train")["text"], *rows(10, "validation")["text"]])
    for dataset in found:
        sizes = {name: len(split) for name, split in dataset.splits.items()}
        assert sizes == {"train": 36, "validation": 4, "test": 10}
        assert sorted(texts(dataset, "train", "validation", "test")) == sorted(tested)
        assert dataset.splits["test"]["label"].sum() == 5


def test_folds_are_noted_and_impossible_folds_refused(given):
    assert load_dataset(DataConfig(name=given, folds=5, fold=4)).notes == (
        "50 rows: fold 4 (of 0 to 4) is the test split; 36/4/10, stratified, seed 0",
        "cross-validation: the given test split (8 rows) is left out",
    )
    with pytest.raises(DataError, match="nothing is left for the test split"):
        load_dataset(DataConfig(name=given, folds=60, fold=59))
    with pytest.raises(ConfigError, match="choose one"):
        DataConfig(folds=3, split="0.8/0.1/0.1")


def test_multilabel_folds_contain_each_rare_label(tmp_path):
    labels = ["rare;common" if n < 6 else "common" for n in range(60)]
    pd.DataFrame({"text": [f"t {n}" for n in range(60)], "label": labels}).to_csv(tmp_path / "s.csv", index=False)
    for dataset in load_folds(str(tmp_path / "s.csv"), 3):
        rare = dataset.classes.index("rare")
        assert [sum(rare in each for each in dataset.splits["test"]["label"])] == [2]
