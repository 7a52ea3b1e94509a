"""Everyday life: what was promised of its sentences, above all that nobody is judged on what stands in them."""

import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.sources import LIFE, life
from core.data.sources.builtin.handwritten import read_split

pytestmark = pytest.mark.slow


def words(text):
    return re.findall(r"[a-z]+", text.lower())


def runs_of_four(text):
    found = words(text)
    return {tuple(found[start : start + 4]) for start in range(len(found) - 3)}


def test_half_are_positive_in_every_split_and_in_every_domain():
    splits = life.read_splits()
    for rows in splits.values():
        assert rows["label"].eq("positive").mean() == pytest.approx(0.5, abs=0.02)
        assert rows.groupby("domain")["label"].agg(lambda labels: labels.eq("positive").mean()).between(0.4, 0.6).all()
    sizes = {split: len(rows) for split, rows in splits.items()}
    assert sizes["train"] == pytest.approx(8 * sizes["test"], rel=0.05)
    assert sizes["validation"] == pytest.approx(sizes["test"], rel=0.05)


def test_it_loads_under_its_name_with_its_own_splits():
    found = load_dataset(DataConfig(name=LIFE))
    assert found.classes == life.CLASSES
    assert {name: len(rows) for name, rows in found.splits.items()} == {
        n: len(r) for n, r in life.read_splits().items()
    }


def test_no_sentence_is_like_one_that_models_are_judged_on():
    """Neither three runs of four words in common nor half of all their words."""
    judged, ours = (
        [text for name in ("everyday", "challenge") for text in read_split(name)["text"]],
        [text for rows in life.read_splits().values() for text in rows["text"]],
    )
    runs = shared(judged, ours, runs_of_four)
    assert runs.max() < 3
    bags = shared(judged, ours, words)
    union = sizes(judged)[bags.row] + sizes(ours)[bags.col] - bags.data
    assert (bags.data < 0.5 * union).all(), [ours[number] for number in bags.col[bags.data >= 0.5 * union]]


def sizes(texts):
    """How many different words each has."""
    return np.array([len(set(words(text))) for text in texts])


def shared(some, others, parts):
    """How many different parts each text of the one list has in common with each of the other."""
    counted = CountVectorizer(analyzer=lambda text: set(parts(text))).fit([*some, *others])
    return (counted.transform(some) @ counted.transform(others).T).tocoo()
