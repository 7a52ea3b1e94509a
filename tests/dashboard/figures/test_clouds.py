"""Clouds: sizes in a line with log-odds on one scale, always arranged alike, errors told by more than colour."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from core.failures.phrases import Overused
from dashboard.figures.clouds import CLOUDS, LARGEST, SMALLEST, Clouds, arranged, cloud_table, sizes
from dashboard.figures.outcomes import Outcomes
from dashboard.figures.theme import Look

FOUND = {
    "true positive": [Overused("good", 9, 1, 2.0, 5.0), Overused("warm", 5, 1, 1.0, 3.0), Overused("w", 4, 1, 0.5, 2)],
    "false negative": [Overused("<b>", 3, 1, 4.0, 2.5)],
    "false positive": [],
    "true negative": [],
}


def shown(*clauses):
    return Clouds(Outcomes(SimpleNamespace(clauses=clauses), "positive", FOUND, {name: 10 for name in FOUND}))


def test_the_size_of_a_word_is_its_log_odds_on_one_scale_of_all_outcomes():
    found, half = sizes(FOUND), (SMALLEST + LARGEST) / 2
    assert found["false negative"] == [LARGEST] and found["true positive"][0] == pytest.approx(half)
    assert found["true positive"] == sorted(found["true positive"], reverse=True)
    assert sizes({"true positive": []}) == {"true positive": []}


def test_the_largest_stands_in_the_middle_and_every_time_in_the_same_place():
    assert arranged(range(5)) == [3, 1, 0, 2, 4] and arranged([]) == [] and arranged([7]) == [7]
    assert sorted(arranged(range(24))) == list(range(24))
    drawn = CLOUDS.draw(shown(), Look()).data["clouds"]
    assert [each["words"] for each in drawn[0]["words"]] == ["warm", "good", "w"]


def test_each_word_can_be_picked_and_says_its_numbers():
    picked = shown("truth=positive", "said!=positive", "word=<b>")
    data = CLOUDS.draw(picked, Look()).data
    assert data["picked"] == "false negative: <b>" == data["clouds"][1]["words"][0]["id"]
    assert data["clouds"][1]["words"][0]["said"] == "log-odds +4.00, 3 here, 1 elsewhere"
    assert [each["title"] for each in data["clouds"]][:2] == ["True positives: 10", "False negatives: 10"]
    t = Look().tokens
    assert [each["colour"] for each in data["clouds"]] == [t.ink, t.wrong, t.wrong, t.ink]
    assert list(cloud_table(picked)["words"]) == ["good", "warm", "w", "<b>"]
