"""Words by their mean effect over texts, against a loop of single predictions."""

import numpy as np
import pytest
from small_readers import CLASSES, reader

from core.interpret.attention_findings import describe_words
from core.interpret.attribution import LEAST, measure_words

TEXTS = [
    *["very very good , but never bad", "Never good", "bad , very bad", "good , very good", "very bad , never good"],
    *["good very", "#good bad", "but good"],
]


def test_effects_are_those_of_single_deletions():
    own = reader("ndt-pm1-n3")

    def odds(text):
        chances = own.predict([text]).probabilities[0].astype(float)
        return np.log(chances) - np.log(1 - chances)

    found, several = {}, {}
    for text in TEXTS:
        words, lost = text.split(), {}
        for at, word in enumerate(words):
            if word.isalpha():
                without = " ".join(words[:at] + words[at + 1 :])
                lost.setdefault(word.lower(), []).append(odds(text) - odds(without))
        for word, each in lost.items():
            found.setdefault(word, []).append(np.mean(each, 0))
    several = {word: each for word, each in found.items() if len(each) >= LEAST}
    rows = measure_words(own, TEXTS)
    assert {row["word"] for row in rows} == set(several) == {"good", "very"}
    for row in rows:
        each = np.array(several[row["word"]])[:, CLASSES.index(row["class"])]
        assert (row["texts"], row["value"]) == (len(each), pytest.approx(each.mean(), abs=1e-5))
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
    for name in CLASSES:
        values = [row["value"] for row in rows if row["class"] == name]
        assert values == sorted(values, reverse=True) and len(values) == 2
    assert [row["class"] for row in rows] == ["bad", "bad", "good", "good"]


def test_a_finding_names_the_first_word_of_each_class_above_zero():
    rows = [
        {"class": "bad", "word": "meh", "texts": 5, "value": 2.0, "interval": [-1.0, 3.0]},
        {"class": "bad", "word": "poor", "texts": 9, "value": 1.5, "interval": [1.0, 2.0]},
        {"class": "good", "word": "fine", "texts": 7, "value": 0.5, "interval": [0.1, 0.9]},
    ]
    said = describe_words({"words": {"rows": rows}})
    assert said.endswith("bad “poor” (+1.50, 9 texts), good “fine” (+0.50, 7 texts).")
    assert describe_words({"words": {"rows": rows[:1]}}) == "No word has an effect."
