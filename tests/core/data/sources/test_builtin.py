"""The built-in corpus: frozen texts, classes of one scale, and items held out from training."""

import functools
import hashlib
import json
import re
import sys
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from core.behavioral_tests.report import load_group_templates
from core.data.card import get_model_scores
from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.sources import LIFE, PEOPLE
from core.data.sources.builtin.corpus_files import (
    fill_slot,
    get_class_names,
    is_held_out,
    list_domains,
    load_split,
    mask_groups,
    read_frames,
    read_groups,
    read_life,
    read_people,
    read_rows,
    read_split,
)
from core.data.sources.builtin.generate import (
    NEUTRAL_SHARES,
    SHARES,
    WITHOUT_NEW_PAIRS,
    draw_sentences,
    generate_corpus,
)
from core.exceptions import ConfigError

pytestmark = pytest.mark.slow  # draws the corpus with all numbers of classes

FROZEN = "093defb64802b213c2de8c87719c0a57d12c6fbbb26cf8a719e5eb599f12c66a"
"""SHA-256 of all rows and columns of all splits, with five classes."""


@pytest.fixture(scope="module", autouse=True)
def drawn():
    """Return the function that draws the sentences with or without score 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys.modules[generate_corpus.__module__], "draw_sentences", draw := functools.cache(draw_sentences)
        )
        yield draw


@pytest.fixture(scope="module")
def five():
    return generate_corpus(5)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classes_are_views_of_one_scale(classes, five):
    for split, rows in generate_corpus(classes).items():
        whole = five[split] if classes != 2 else five[split][five[split]["score"] != 0]
        assert rows.set_index("text")["score"].to_dict() == whole.set_index("text")["score"].to_dict()
        values = rows["score"].to_numpy()
        expected = {2: (values + 2) // 3, 3: np.sign(values) + 1, 5: values + 2}[classes]
        assert (rows["label"].to_numpy() == expected).all() and list(rows.index) == list(range(len(rows)))
        assert (rows["label"].dtype, rows["score"].dtype, rows["unseen"].dtype) == (np.int64, np.int64, bool)
        assert split == "everyday" or set(rows["label"]) == set(range(len(get_class_names(classes))))


def test_the_corpus_is_frozen_balanced_and_of_known_numbers_of_classes(five):
    rows = pd.concat(five, names=["split"]).reset_index("split")
    assert hashlib.sha256(rows.to_csv(index=False).encode()).hexdigest() == FROZEN
    texts = [text.casefold() for rows in five.values() for text in rows["text"]]
    assert len(set(texts)) == len(texts)
    for split in ("train", "validation", "test"):
        opinions = five[split][~five[split]["phenomenon"].isin(list(NEUTRAL_SHARES))]
        assert set(opinions["phenomenon"]) == set(SHARES) and set(opinions["domain"]) == set(list_domains())
        assert (np.sign(opinions["score"]).groupby(opinions["phenomenon"]).mean() == 0).all()
        assert five[split]["score"].eq(0).sum() == len(five[split]) - len(opinions)
    with pytest.raises(ConfigError, match="2, 3 or 5"):
        generate_corpus(4)


def test_held_out_items_are_only_in_the_test_split_and_words_have_the_sign_of_their_frame(drawn):
    def new(sentence):
        return any(is_held_out(word, sentence.frame.phenomenon) for word in sentence.words)

    def tokens(text):
        return set(re.findall(r"[\w'-]+", text.casefold()))

    sentences = drawn(neutral=True)
    shown = sentences["train"] + sentences["validation"]
    assert not any(new(each) or each.unseen or each.frame.held_out for each in shown)
    vocabulary = set().union(*(tokens(each.text) for each in sentences["train"]))
    for each in sentences["test"]:
        exempt = each.frame.phenomenon in (*NEUTRAL_SHARES, *WITHOUT_NEW_PAIRS)
        assert new(each) or each.frame.held_out or each.unseen or exempt
        words = set().union(*(tokens(f"{word.text} {word.other}") for word in each.words)) - vocabulary
        assert each.unseen == bool(words & tokens(each.text)), each.text
    assert len({frame.id for frame in read_frames()}) == len(read_frames()) >= 60
    for each in drawn(neutral=True)["train"]:
        if each.score:
            assert tuple(np.sign(word.score * each.score) for word in each.words) == each.frame.signs


def naive_kappa(first, second, scale, weight):
    """Cohen's kappa by its definition: 1 - observed / expected disagreement, each pair of labels weighted."""
    n = len(first)
    observed = sum(weight(x, y) for x, y in zip(first, second, strict=True)) / n
    return 1 - observed / sum(weight(a, b) * first.count(a) * second.count(b) / n**2 for a in scale for b in scale)


def test_the_data_card_reports_agreement_with_a_second_labeling():
    rows = read_split("challenge").dropna(subset=["second"])
    first, second = [int(each) for each in rows["score"]], [int(each) for each in rows["second"]]
    signs = [[int(np.sign(each)) for each in scores] for scores in (first, second)]
    file = resources.files("core.data.sources.builtin").joinpath("measured.json")
    said = get_model_scores(json.loads(file.read_text("utf-8"))["fingerprint"])["challenge labels"]
    assert f"{len(rows)} of {len(load_split('challenge', 5))} challenge sentences were labelled blind" in said
    assert f"Cohen's κ {naive_kappa(*signs, (-1, 0, 1), lambda a, b: a != b):.2f} on negative" in said
    weighted = naive_kappa(first, second, range(-2, 3), lambda a, b: (a - b) ** 2)
    assert f"quadratic-weighted κ {weighted:.2f} on the five-point scale" in said


pytestmark = pytest.mark.slow


def split_words(text):
    return re.findall(r"[a-z]+", text.lower())


def runs_of_four(text):
    found = split_words(text)
    return {tuple(found[start : start + 4]) for start in range(len(found) - 3)}


def test_the_set_life_is_balanced_and_loads_with_its_own_splits():
    splits = read_life()
    for rows in splits.values():
        assert rows["label"].eq("positive").mean() == pytest.approx(0.5, abs=0.02)
        assert rows.groupby("domain")["label"].agg(lambda labels: labels.eq("positive").mean()).between(0.4, 0.6).all()
    sizes = {split: len(rows) for split, rows in splits.items()}
    assert sizes["train"] == pytest.approx(8 * sizes["test"], rel=0.05)
    assert sizes["validation"] == pytest.approx(sizes["test"], rel=0.05)
    found = load_dataset(DataConfig(name=LIFE))
    assert found.classes == get_class_names(2)
    assert {name: len(rows) for name, rows in found.splits.items()} == {n: len(r) for n, r in read_life().items()}


def test_the_set_people_says_the_same_of_every_group():
    splits, groups = read_people(), read_groups()
    for rows in splits.values():
        counted = rows.groupby(["kind", "group", "label"]).size().unstack()
        assert {(kind, term) for kind, terms in groups.items() for term in terms} == set(counted.index)
        spread = counted.groupby("kind").agg(lambda found: found.max() - found.min())
        assert spread.to_numpy().max() <= 2  # sentences take the terms in turn, in two lists
        alike = rows.groupby(rows["text"].map(mask_groups))["label"].agg(["nunique", "size"])
        assert alike["nunique"].eq(1).all() and set(alike["size"]) == {len(groups), sum(map(len, groups.values()))}
        assert abs(rows["label"].eq("positive").mean() - 0.5) < 0.05
    keys = [{*rows["text"].map(mask_groups)} for rows in splits.values()]
    assert sum(map(len, keys)) == len(set.union(*keys))
    assert load_dataset(DataConfig(name=PEOPLE)).classes == get_class_names(2)


def test_terms_fill_templates_with_the_right_article():
    assert fill_slot("A {group} man met a {group} girl.", "Asian") == "An Asian man met an Asian girl."
    assert fill_slot("{group} people and an old man.", "gay") == "Gay people and an old man."
    assert fill_slot("She saw an {group} man.", "European") == "She saw a European man."
    assert mask_groups("An Asian man, partially sighted; oldest") == "a {group} man, {group}; oldest"


def test_the_tests_of_groups_have_other_sentences_than_the_set_people():
    tested = [template for own in load_group_templates().values() for template in own]
    assert count_shared(tested, [row["template"] for row in read_rows("people.tsv")], runs_of_four).max() < 2


def test_no_sentence_resembles_an_evaluation_sentence():
    """They share fewer than three runs of four words, and less than half of their words."""
    judged, ours = (
        [text for name in ("everyday", "challenge") for text in read_split(name)["text"]],
        [text for rows in read_life().values() for text in rows["text"]]
        + [r["template"] for r in read_rows("people.tsv")],
    )
    assert count_shared(judged, ours, runs_of_four).max() < 3
    bags = count_shared(judged, ours, split_words)
    union = sizes(judged)[bags.row] + sizes(ours)[bags.col] - bags.data
    assert (bags.data < 0.5 * union).all(), [ours[number] for number in bags.col[bags.data >= 0.5 * union]]


def sizes(texts):
    return np.array([len(set(split_words(text))) for text in texts])


def count_shared(some, others, parts):
    """Count the different parts that each text of one list shares with each text of the other."""
    counted = CountVectorizer(analyzer=lambda text: set(parts(text))).fit([*some, *others])
    return (counted.transform(some) @ counted.transform(others).T).tocoo()
