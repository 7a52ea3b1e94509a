"""The data set `life`: above all, no sentence resembles an evaluation sentence."""

import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.sources import LIFE
from core.data.sources.builtin.corpus_files import get_class_names, read_life, read_split

pytestmark = pytest.mark.slow


def split_words(text):
    return re.findall(r"[a-z]+", text.lower())


def runs_of_four(text):
    found = split_words(text)
    return {tuple(found[start : start + 4]) for start in range(len(found) - 3)}


def test_half_of_each_split_and_domain_is_positive():
    splits = read_life()
    for rows in splits.values():
        assert rows["label"].eq("positive").mean() == pytest.approx(0.5, abs=0.02)
        assert rows.groupby("domain")["label"].agg(lambda labels: labels.eq("positive").mean()).between(0.4, 0.6).all()
    sizes = {split: len(rows) for split, rows in splits.items()}
    assert sizes["train"] == pytest.approx(8 * sizes["test"], rel=0.05)
    assert sizes["validation"] == pytest.approx(sizes["test"], rel=0.05)


def test_the_set_life_loads_with_its_own_splits():
    found = load_dataset(DataConfig(name=LIFE))
    assert found.classes == get_class_names(2)
    assert {name: len(rows) for name, rows in found.splits.items()} == {n: len(r) for n, r in read_life().items()}


def test_no_sentence_resembles_an_evaluation_sentence():
    """They share fewer than three runs of four words, and less than half of their words."""
    judged, ours = (
        [text for name in ("everyday", "challenge") for text in read_split(name)["text"]],
        [text for rows in read_life().values() for text in rows["text"]],
    )
    runs = count_shared(judged, ours, runs_of_four)
    assert runs.max() < 3
    bags = count_shared(judged, ours, split_words)
    union = sizes(judged)[bags.row] + sizes(ours)[bags.col] - bags.data
    assert (bags.data < 0.5 * union).all(), [ours[number] for number in bags.col[bags.data >= 0.5 * union]]


def sizes(texts):
    """Count the different words of each text."""
    return np.array([len(set(split_words(text))) for text in texts])


def count_shared(some, others, parts):
    """Count the different parts that each text of one list shares with each text of the other."""
    counted = CountVectorizer(analyzer=lambda text: set(parts(text))).fit([*some, *others])
    return (counted.transform(some) @ counted.transform(others).T).tocoo()
