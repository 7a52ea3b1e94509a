import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.splits import cover_classes, cut_rows, cut_three_parts, find_strata, order_stratified, select_fold
from core.exceptions import ConfigError, DataError

labels_of = st.lists(st.integers(0, 4), min_size=3, max_size=200).map(np.array)
seeds = st.integers(0, 2**32)
kinds_of = st.lists(st.integers(0, 12), min_size=3, max_size=120).map(np.array)


@pytest.mark.slow
@given(labels_of, seeds, st.data())
def test_cuts_have_exact_sizes_and_the_class_shares_of_all_rows(labels, seed, data):
    order = order_stratified(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    size = data.draw(st.integers(0, len(labels)))
    classes, counts = np.unique(labels, return_counts=True)
    for label, count in zip(classes, counts, strict=True):
        taken = (labels[order[:size]] == label).sum()
        share = count / len(labels)
        assert abs(taken - size * share) <= 1.5 + len(classes) * share
    if size >= len(classes):
        assert set(labels[order[:size]]) == set(labels)
    first, rest = cut_rows(labels, size, seed)
    assert len(first) == size and sorted([*first, *rest]) == list(range(len(labels)))
    assert list(first) == sorted(first) and list(rest) == sorted(rest)
    assert set(cut_rows(labels, data.draw(st.integers(0, size)), seed)[0]) <= set(first), (
        "of fewer rows it is a part of it"
    )


@pytest.mark.slow
@given(labels_of, seeds, st.integers(2, 6))
def test_folds_divide_rows_and_classes_evenly(labels, seed, count):
    parts = [select_fold(labels, count, number, seed) for number in range(count)]
    assert sorted(row for held, _ in parts for row in held) == list(range(len(labels)))
    for held, rest in parts:
        assert sorted([*held, *rest]) == list(range(len(labels)))
        assert list(held) == sorted(held) and list(rest) == sorted(rest)
    for rows in [np.arange(len(labels)), *(np.flatnonzero(labels == label) for label in np.unique(labels))]:
        counts = [np.isin(rows, held).sum() for held, _ in parts]
        assert max(counts) - min(counts) <= 1


@pytest.mark.slow
@given(labels_of, seeds)
def test_three_parts_cover_all_rows_and_depend_on_the_seed(labels, seed):
    parts = cut_three_parts(labels, (0.8, 0.1, 0.1), seed)
    assert sorted(np.concatenate(parts)) == list(range(len(labels)))
    assert len(parts[0]) == int(0.8 * len(labels) + 1e-6)
    for part, again in zip(parts, cut_three_parts(labels, (0.8, 0.1, 0.1), seed), strict=True):
        assert np.array_equal(part, again)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "shares", "sizes"),
    [
        (68_221, (0.7, 0.15, 0.15), (47_754, 10_233, 10_234)),
        (700_000, (0.7, 0.15, 0.15), (490_000, 105_000, 105_000)),
        (1_600_000, (0.8, 0.1, 0.1), (1_280_000, 160_000, 160_000)),
        (10, (0.8, 0.1, 0.1), (8, 1, 1)),
    ],
)
def test_split_sizes_equal_those_of_the_papers(rows, shares, sizes):
    assert tuple(map(len, cut_three_parts(np.arange(rows) % 2, shares, 0))) == sizes


@pytest.mark.slow
@given(kinds_of, seeds, st.sampled_from([(0.8, 0.1, 0.1), (0.7, 0.15, 0.15), (0.1, 0.45, 0.45)]))
def test_a_class_of_three_rows_has_a_row_in_each_part(labels, seed, shares):
    before = cut_three_parts(labels, shares, seed)
    parts = cover_classes(labels, before, seed)
    assert sorted(np.concatenate(parts)) == list(range(len(labels)))
    classes, counts = np.unique(labels, return_counts=True)
    for label, count in zip(classes, counts, strict=True):
        there = [(labels[part] == label).any() for part in parts]
        assert all(there) if count >= 3 else there[0]
    for part, cut_before in zip(parts, before, strict=True):
        if all(len(each) >= len(classes) for each in before):
            assert len(part) == len(cut_before)
        assert list(part) == sorted(part)
    assert all(map(np.array_equal, parts, cover_classes(labels, before, seed)))


def test_fixed_orders_use_the_rarest_label_and_complete_parts_do_not_change():
    assert list(order_stratified(np.array([0, 0, 0, 0, 1, 1, 0, 1]), 7)) == [2, 4, 0, 6, 5, 1, 7, 3]
    has = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]])
    # Rows with each label: 5, 3, 2. Rows without labels are their own stratum.
    assert list(find_strata(has)) == [1, 0, 2, 3, 2, 1]
    labels = np.arange(300) % 3
    parts = cut_three_parts(labels, (0.8, 0.1, 0.1), 0)
    assert all(map(np.array_equal, cover_classes(labels, parts, 0), parts))
    labels = np.arange(10) % 2
    parts = cover_classes(labels, cut_three_parts(labels, (0.8, 0.1, 0.1), 0), 0)
    assert [len(part) for part in parts] == [6, 2, 2]


def rows(count, what):
    return pd.DataFrame({"text": [f"{what} {n}" for n in range(count)], "label": [n % 2 for n in range(count)]})


@pytest.fixture
def split_folder(tmp_path):
    for name, count in (("train", 40), ("validation", 10), ("test", 8)):
        rows(count, name).to_parquet(tmp_path / f"{name}.parquet")
    return str(tmp_path)


def load_folds(name, count, **more):
    return [load_dataset(DataConfig(name=name, folds=count, fold=number, **more)) for number in range(count)]


def texts(dataset, *names):
    return [text for name in names for text in dataset.splits[name]["text"]]


@pytest.mark.slow
def test_the_folds_test_every_row_of_train_and_validation_once(split_folder):
    found = load_folds(split_folder, 5)
    tested = [text for dataset in found for text in texts(dataset, "test")]
    assert sorted(tested) == sorted([*rows(40, "train")["text"], *rows(10, "validation")["text"]])
    for dataset in found:
        sizes = {name: len(split) for name, split in dataset.splits.items()}
        assert sizes == {"train": 36, "validation": 4, "test": 10}
        assert sorted(texts(dataset, "train", "validation", "test")) == sorted(tested)
        assert dataset.splits["test"]["label"].sum() == 5


def test_folds_are_noted_and_impossible_folds_refused(split_folder):
    assert load_dataset(DataConfig(name=split_folder, folds=5, fold=4)).notes == (
        "50 rows: fold 4 (of 0 to 4) is the test split; 36/4/10, stratified, seed 0",
        "cross-validation: the given test split (8 rows) is left out",
    )
    with pytest.raises(DataError, match="nothing is left for the test split"):
        load_dataset(DataConfig(name=split_folder, folds=60, fold=59))
    with pytest.raises(ConfigError, match="choose one"):
        DataConfig(folds=3, split="0.8/0.1/0.1")


def test_multilabel_folds_contain_each_rare_label(tmp_path):
    labels = ["rare;common" if n < 6 else "common" for n in range(60)]
    pd.DataFrame({"text": [f"t {n}" for n in range(60)], "label": labels}).to_csv(tmp_path / "s.csv", index=False)
    for dataset in load_folds(str(tmp_path / "s.csv"), 3):
        rare = dataset.classes.index("rare")
        assert [sum(rare in each for each in dataset.splits["test"]["label"])] == [2]
