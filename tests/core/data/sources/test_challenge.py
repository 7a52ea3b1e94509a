import itertools
import re

import numpy as np
import pytest

from core.data.sources.builtin import challenge

ONE_SIDED = {"mixed", "neutral fact"}
POLAR = {
    "plain",
    "negation",
    "long-range negation",
    "contrast",
    "intensifier",
    "diminisher",
    "comparative",
    "irony",
    "conditional",
    "concession",
    "double negation",
    "reported opinion",
    "unmet expectation",
    "implicit",
    "question",
}
FUNCTION_WORDS = set(
    (
        "a an the this that these those i you he she it we they me him her us them my your his its our their is are was"
        " were be been am do does did has have had will would could should can may might must not no never"
        " nothing nobody none n't and or but so if unless though although despite than as of in on at to for"
        " from with by about after before until up down out off very really too more most less least much many some"
        " any all every each just only even still who what which when where why how there here"
        " isn't don't didn't wasn't can't won't wouldn't it's i'd"
    ).split()
)


def words(text):
    return re.findall(r"[\w']+", text.lower())


def skeleton(text):
    """The sentence with every content word masked: two fillings of one template share it."""
    return tuple(word if word in FUNCTION_WORDS else "_" for word in words(text))


def naive_kappa(first, second, scale, weight):
    """Cohen's kappa by its definition: 1 - observed / expected disagreement, each pair of labels weighted."""
    n = len(first)
    share_first = {a: sum(x == a for x in first) / n for a in scale}
    share_second = {b: sum(y == b for y in second) / n for b in scale}
    observed = sum(weight(x, y) for x, y in zip(first, second, strict=True)) / n
    expected = sum(weight(a, b) * share_first[a] * share_second[b] for a in scale for b in scale)
    return 1 - observed / expected


def second_labelled():
    rows = challenge.read().dropna(subset=["second"])
    return [int(x) for x in rows["score"]], [int(x) for x in rows["second"]], rows


def test_has_at_least_300_different_sentences():
    texts = challenge.read()["text"]
    assert len(texts) >= 300
    assert len({" ".join(words(text)) for text in texts}) == len(texts)
    assert (texts.str.strip() == texts).all()
    assert texts.map(lambda text: 3 <= len(words(text)) <= 45).all()


def test_no_two_sentences_share_most_of_their_words():
    bags = [set(words(text)) for text in challenge.read()["text"]]
    closest = max(len(a & b) / len(a | b) for a, b in itertools.combinations(bags, 2))
    assert closest < 0.5


def test_no_two_sentences_come_from_one_template():
    """No template: equal skeletons (content words masked) would be one pattern with other words in its slots."""
    skeletons = [skeleton(text) for text in challenge.read()["text"]]
    telling = [s for s in skeletons if sum(word != "_" for word in s) >= 3]
    assert len(telling) > 200
    assert len(set(telling)) == len(telling)


def test_no_two_sentences_share_a_run_of_five_words():
    seen = {}
    for text in challenge.read()["text"]:
        tokens = words(text)
        for run in {tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)}:
            assert run not in seen, (text, seen[run])
            seen[run] = text


def test_each_phenomenon_has_at_least_15_sentences_and_both_polarities():
    rows = challenge.read()
    assert set(rows["phenomenon"]) == POLAR | ONE_SIDED
    assert rows["phenomenon"].value_counts().min() >= 15
    for name in POLAR:
        scores = rows.loc[rows["phenomenon"] == name, "score"]
        assert (scores < 0).sum() >= 3, name
        assert (scores > 0).sum() >= 3, name
    assert set(rows.loc[rows["phenomenon"].isin(list(ONE_SIDED)), "score"]) == {0}


def test_scores_use_the_whole_scale_and_a_seventh_is_neutral_or_mixed():
    score = challenge.read()["score"]
    assert set(score) == {-2, -1, 0, 1, 2}
    assert 0.12 <= (score == 0).mean() <= 0.18
    assert 0.4 <= (score[score != 0] > 0).mean() <= 0.6


@pytest.mark.parametrize(
    ("classes", "expected"),
    [(2, {-2: 0, -1: 0, 1: 1, 2: 1}), (3, {-2: 0, -1: 0, 0: 1, 1: 2, 2: 2}), (5, {-2: 0, -1: 1, 0: 2, 1: 3, 2: 4})],
)
def test_one_scale_is_seen_as_two_three_or_five_classes(classes, expected):
    rows = challenge.load(classes)
    assert dict(zip(rows["score"], rows["label"], strict=True)) == expected
    assert rows["label"].dtype == np.int64
    assert list(rows.index) == list(range(len(rows)))
    assert len(rows) == (challenge.read()["score"].isin(list(expected))).sum()


def test_columns_align_with_the_generated_splits():
    rows = challenge.load()
    assert list(rows.columns) == ["text", "label", "phenomenon", "score", "domain", "frame", "unseen"]
    assert set(rows["domain"]) == {"challenge"}
    assert set(rows["frame"]) == {""}
    assert not rows["unseen"].any()


def test_quotes_and_emoji_survive_reading():
    texts = set(challenge.read()["text"])
    assert "the brochure says 'cosy', I say cramped" in texts
    assert "fast shipping 👍 cracked lid 👎" in texts


def test_a_hundred_sentences_of_every_phenomenon_have_a_second_label():
    _, second, rows = second_labelled()
    assert len(second) == 100
    assert set(second) <= {-2, -1, 0, 1, 2}
    assert set(rows["phenomenon"]) == POLAR | ONE_SIDED


def test_kappa_is_that_of_its_definition():
    first, second, _ = second_labelled()
    found = challenge.agreement()
    signs = [np.sign(x) for x in first], [np.sign(y) for y in second]
    assert found["n"] == 100
    assert found["observed"] == pytest.approx(np.mean([a == b for a, b in zip(*signs, strict=True)]))
    assert found["observed_five"] == pytest.approx(np.mean([a == b for a, b in zip(first, second, strict=True)]))
    assert found["kappa"] == pytest.approx(naive_kappa(*signs, (-1, 0, 1), lambda a, b: a != b))
    assert found["weighted_kappa"] == pytest.approx(naive_kappa(first, second, range(-2, 3), lambda a, b: (a - b) ** 2))


def test_statement_of_the_data_card_gives_the_computed_kappa():
    first, second, _ = second_labelled()
    kappa = naive_kappa(np.sign(first), np.sign(second), (-1, 0, 1), lambda a, b: a != b)
    weighted = naive_kappa(first, second, range(-2, 3), lambda a, b: (a - b) ** 2)
    text = challenge.statement()
    assert text.startswith(f"100 of {len(challenge.read())} challenge sentences")
    assert f"Cohen's κ {kappa:.2f} on" in text
    assert f"quadratic-weighted κ {weighted:.2f} on" in text


def test_statement_says_that_no_person_labelled():
    text = challenge.statement()
    assert "Both labellings are by language models" in text
    assert "flatter the agreement between people" in text
