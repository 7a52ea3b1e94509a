"""The everyday set: what was promised of its 200 sentences."""

import itertools
import re
from collections import Counter

import pytest

from core.data.sources.builtin import challenge, everyday, generate
from core.text.config import TextConfig
from core.text.normalise import prepare_all


def words(text):
    return re.findall(r"[\w']+", text.lower())


def runs_of_five(text):
    found = words(text)
    return {tuple(found[start : start + 5]) for start in range(len(found) - 4)}


def coarse(texts):
    """Lower case without names, digits and marks."""
    return list(prepare_all(list(texts), TextConfig(normaliser="tweet-clean")))


def test_200_short_sentences_half_of_them_positive():
    rows = everyday.load()
    assert len(rows) == 200
    assert rows["label"].sum() == 100
    assert rows["text"].map(lambda text: 3 <= len(words(text)) <= 15).all()
    assert (rows["text"].str.strip() == rows["text"]).all()


def test_twenty_walks_of_life_each_with_five_of_a_side():
    sides = everyday.load().groupby("domain")["label"].agg(["size", "sum"])
    assert len(sides) == 20
    assert (sides["size"] == 10).all() and (sides["sum"] == 5).all()


@pytest.mark.parametrize(
    ("classes", "expected"),
    [(2, {-2: 0, -1: 0, 1: 1, 2: 1}), (3, {-2: 0, -1: 0, 1: 2, 2: 2}), (5, {-2: 0, -1: 1, 1: 3, 2: 4})],
)
def test_each_has_a_side_in_every_view_of_the_scale(classes, expected):
    rows = everyday.load(classes)
    assert len(rows) == 200
    assert dict(zip(rows["score"], rows["label"], strict=True)) == expected


def test_columns_are_those_of_the_other_splits():
    rows, others = everyday.load(), challenge.load()
    assert rows.dtypes.to_dict() == others.dtypes.to_dict()
    assert set(rows["phenomenon"]) == {"everyday"}
    assert set(rows["frame"]) == {""} and not rows["unseen"].any()


def test_they_are_typed_as_people_type():
    texts = everyday.load()["text"]
    assert 0.15 < texts.str[0].str.islower().mean() < 0.4
    assert 0.03 < texts.str.endswith("!").mean() < 0.15
    assert 0.03 < texts.str.contains(r"\b(?:not|no|never|nobody|nothing|\w+n't)\b", case=False).mean() < 0.3


@pytest.mark.slow
def test_no_two_are_alike_nor_like_one_of_the_challenge_set():
    texts = everyday.load()["text"].tolist()
    others = challenge.read()["text"].tolist()
    bags = {text: set(words(text)) for text in texts + others}
    for one, other in (*itertools.combinations(texts, 2), *itertools.product(texts, others)):
        assert len(bags[one] & bags[other]) / len(bags[one] | bags[other]) < 0.4, (one, other)
    runs = Counter(run for text in texts + others for run in runs_of_five(text))
    assert max(runs.values()) == 1


@pytest.mark.slow
def test_none_stands_in_another_split_read_without_case_and_marks():
    splits = generate(5)
    own = set(coarse(splits.pop("everyday")["text"]))
    assert len(own) == 200
    for rows in splits.values():
        assert not own & set(coarse(rows["text"]))
