"""The lesson on TF-IDF: equal words, equal counts, equal answers, and the accuracies of the experiment."""

from collections import Counter

import pytest

from core.lessons.tfidf import OPTIONS
from core.papers.reported_results import read_theory

pytestmark = pytest.mark.slow


def test_equal_words_have_equal_tfidf_answers_and_bars_are_the_means_of_the_experiment(content):
    for texts, pair in zip(read_theory("same_words")["pairs"], content.figure["pairs"], strict=True):
        first, second = (Counter(text.lower().strip(".").replace(",", "").split()) for text in texts)
        assert first == second and texts[0] != texts[1]
        assert {word: counts for word, *counts in pair["counts"]} == {word: [n, n] for word, n in first.items()}
    kept = read_theory("same_words")["positive"]
    for pair, told in zip(content.figure["pairs"], kept, strict=True):
        assert told[0] == told[1] and pair["tfidf"] == [round(told[0], 3)] * 2
        assert pair["transformer"][0] > 0.9 > 0.2 > pair["transformer"][1]
    assert [question.choices[question.right].label for question in content.questions] == [OPTIONS[0]] * 2
    assert f"positive {kept[0][0]:.2f}" in content.stages[1].headline
    assert {each["name"]: each["accuracy"] for each in content.figure["models"]} == read_theory("markov")["means"]
    assert content.answers[2].startswith("From 16 words on")
