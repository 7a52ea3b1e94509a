"""Every subset of the words of a text, against a closed formula, and the fewest deletions, against brute force."""

from itertools import chain, combinations

import numpy as np
import pytest

from core.error_analysis.quiz import (
    compute_probabilities,
    find_flips,
    find_removable_words,
    iterate_subsets,
    predict_subsets,
)
from core.text.word_spans import remove_words
from core.text.words import split_words

WEIGHTS = {"good": 2.0, "bad": -3.0, "the": 1.2, "film": 0.1, "never": -0.7, "great": 1.1, "!": 0.4}


def answer(texts):
    """Two classes: the log-odds of the second are the sum of the weights, each as often as its word is there."""
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in split_words(text)) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], 1)


def answer_three(texts):
    """Three classes, of which each has a score of its own."""
    scores = np.array([[text.count("a"), text.count("e"), 0.5 * len(text)] for text in texts], float)
    odds = np.exp(scores - scores.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("After two washes, it fits.", ["After", "two", "washes", "it", "fits"]),
        ("Isn't it well-made, and 50/50?", ["Isn't", "it", "well-made", "and", "50/50"]),
        ("Cute café ☕ — wow!!", ["Cute", "café", "☕", "wow"]),
        ("这部电影很好，我喜欢。", ["这部电影很好", "我喜欢"]),
        ("— !!", []),
    ],
)
def test_words_that_can_be_deleted_are_no_marks_and_a_compound_is_one(text, words):
    assert [text[start:end] for start, end in find_removable_words(text)] == words


def test_a_row_is_the_text_without_the_words_of_its_bits():
    text = "Never good, the bad film!"
    found = predict_subsets(answer, text)
    assert found.subset == (0, 1, 2, 3, 4) and found.scores.shape == (32, 1)
    for bits, gone in enumerate(iterate_subsets(found.words)):
        left = [word for place, word in enumerate(["never", "good", "the", "bad", "film"]) if not bits >> place & 1]
        expected = sum(WEIGHTS[word] for word in left if word != "never") + WEIGHTS["!"]  # "Never" has no weight
        assert found.scores[bits, 0] == pytest.approx(expected)
        assert answer([remove_words(text, gone)])[0, 1] == pytest.approx(1 / (1 + np.exp(-expected)))
    assert found.predicted == 1
    np.testing.assert_allclose(found.effects, [0, 2.0, 1.2, -3.0, 0.1])  # towards the predicted class
    assert compute_probabilities(found.scores.T.tolist()) == pytest.approx(answer([text])[0].tolist())


def test_scores_of_three_classes_are_their_log_ratios():
    text = "a leaf else where"
    found = predict_subsets(answer_three, text)
    chances = answer_three([remove_words(text, gone) for gone in iterate_subsets(found.words)])
    np.testing.assert_allclose(found.scores, np.log(chances[:, 1:] / chances[:, :1]))
    assert compute_probabilities(found.scores.T.tolist(), 3) == pytest.approx(chances[3].tolist())


def test_of_a_long_text_only_the_words_with_most_effect_are_in_subsets():
    found = predict_subsets(answer, "film good film bad film the film never", most=3)
    assert [found.text[slice(*found.words[place])] for place in found.subset] == ["good", "bad", "the"]
    assert len(found.effects) == 8 and found.scores.shape == (8, 1)


TEXTS = ["good the film", "bad good the great film", "never good", "bad bad the", "great never the film good", "film"]


def brute(text, common):
    """Return the size of the smallest flip, and the first of that size."""
    words = find_removable_words(text)
    given = answer([text])[0]
    sets = chain.from_iterable(combinations(range(len(words)), size) for size in (1, 2) if size < len(words))
    flips = []
    for places in sets:
        chances = answer([remove_words(text, [words[place] for place in places])])[0]
        if chances.argmax() != given.argmax():
            dull = sum(text[slice(*words[place])] in common for place in places)
            flips.append((len(places), dull, chances[given.argmax()], places))
    return min(flips)[-1] if flips else ()


@pytest.mark.parametrize("common", [(), ("the", "never"), ("good", "bad")])
def test_the_fewest_deletions_that_flip_are_those_of_brute_force(common):
    found = find_flips(answer, [(text, find_removable_words(text)) for text in TEXTS], common)
    assert found == [brute(text, common) for text in TEXTS]
    assert {len(each) for each in found} == {0, 1, 2}


def test_a_common_word_is_a_reason_only_where_there_is_no_other():
    text = "good the bad film"
    words, find = (
        find_removable_words(text),
        lambda common: find_flips(answer, [(text, find_removable_words(text))], common)[0],
    )
    assert [text[slice(*words[place])] for place in find(())] == ["good"]
    assert [text[slice(*words[place])] for place in find(("good",))] == ["the"]
    assert [text[slice(*words[place])] for place in find(("good", "the", "great"))] == ["good"]
