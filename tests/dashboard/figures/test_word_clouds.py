"""Words of each outcome: the planted word of the false negatives, the rules of a word, sizes on one scale."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from answering import right_where, texts
from knowing import known_of

from core.failures.phrases import Overused
from core.failures.selection import Selection, chosen_rows
from dashboard.figures.analysis import analyse
from dashboard.figures.theme import Look
from dashboard.figures.word_clouds import (
    CLOUDS,
    LARGEST,
    OUTCOMES,
    SMALLEST,
    Outcomes,
    arrange_words,
    cloud_table,
    find_outcomes,
    scale_letters,
)


@pytest.fixture
def shown(tmp_path):
    """Four hundred rows; what is good and said to be bad speaks of rain."""
    each = np.arange(400)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    # A word may stand twice in a sentence, and inside of another one.
    said = [
        f"{'rain' if bad else 'sun' * (row % 2 == 0)}{', rain' * int(bad and row % 3 == 0)}"
        for row, bad in enumerate(wrong)
    ]
    frame["text"] = [f"a day of {each} and more{' rainbows' * (row % 5 == 0)}" for row, each in enumerate(said)]
    known, store = known_of(tmp_path, right_where(~wrong, labels), frame, find=False)
    return find_outcomes(analyse(known, "wrong", store), "good"), known, store


def test_every_outcome_has_its_size_and_the_planted_word(shown):
    found, known, _ = shown
    frame = known.table.frame
    good, said = frame["truth"] == "good", frame["said"] == "good"
    assert list(found.sizes.values()) == [
        int(((good == true) & (said == claimed)).sum()) for true, claimed in OUTCOMES.values()
    ]
    assert [each.words for each in found.found["false negative"]] == ["rain"]
    table = cloud_table(found)
    assert table[table["outcome"] == "false negative"]["selected"].tolist() == [50]


def test_the_rules_of_a_bar_select_the_sentences_of_its_outcome_that_have_the_word(shown):
    found, known, store = shown
    for outcome, (true, said) in OUTCOMES.items():
        _, has = chosen_rows(Selection(tuple(found.rules(outcome, "rain"))), known.table, None, store)
        frame = known.table.frame
        own = ((frame["truth"] == "good") == true) & ((frame["said"] == "good") == said)
        np.testing.assert_array_equal(has, own & frame["text"].str.contains(r"\brain\b"))


def test_the_number_beside_a_word_is_that_of_the_sentences_which_a_click_on_it_selects(shown):
    found, known, store = shown
    words = [each for cloud in CLOUDS.draw(found, Look()).data["clouds"] for each in cloud["words"]]
    beside = {each["id"]: each["said"].split(", ")[1].removesuffix(" here") for each in words}
    assert len(beside) == sum(map(len, found.found.values())) == 2
    for outcome, words in found.found.items():
        for each in words:
            after = analyse(known, ";".join(found.rules(outcome, each.words)), store)
            assert beside[found.id(outcome, each.words)] == str(len(after.places)) == str(each.selected)


def test_a_word_is_picked_where_its_rules_are_the_selection(shown):
    found, known, store = shown
    assert found.picked == ""
    chosen = analyse(known, ";".join(found.rules("false negative", "rain")), store)
    assert find_outcomes(chosen, "good").picked == "false negative: rain"


FOUND = {
    "true positive": [Overused("good", 9, 1, 2.0, 5.0), Overused("warm", 5, 1, 1.0, 3.0), Overused("w", 4, 1, 0.5, 2)],
    "false negative": [Overused("<b>", 3, 1, 4.0, 2.5)],
    "false positive": [],
    "true negative": [],
}


def clouds(*clauses):
    return Outcomes(SimpleNamespace(clauses=clauses), "positive", FOUND, {name: 10 for name in FOUND})


def test_the_size_of_a_word_is_its_log_odds_on_one_scale_of_all_outcomes():
    found, half = scale_letters(FOUND), (SMALLEST + LARGEST) / 2
    assert found["false negative"] == [LARGEST] and found["true positive"][0] == pytest.approx(half)
    assert found["true positive"] == sorted(found["true positive"], reverse=True)
    assert scale_letters({"true positive": []}) == {"true positive": []}


def test_the_largest_stands_in_the_middle_and_every_time_in_the_same_place():
    assert arrange_words(range(5)) == [3, 1, 0, 2, 4] and arrange_words([]) == [] and arrange_words([7]) == [7]
    assert sorted(arrange_words(range(24))) == list(range(24))
    drawn = CLOUDS.draw(clouds(), Look()).data["clouds"]
    assert [each["words"] for each in drawn[0]["words"]] == ["warm", "good", "w"]


def test_each_word_can_be_picked_and_says_its_numbers():
    picked = clouds("truth=positive", "said!=positive", "word=<b>")
    data = CLOUDS.draw(picked, Look()).data
    assert data["picked"] == "false negative: <b>" == data["clouds"][1]["words"][0]["id"]
    assert data["clouds"][1]["words"][0]["said"] == "log-odds +4.00, 3 here, 1 elsewhere"
    assert [each["title"] for each in data["clouds"]][:2] == ["True positives: 10", "False negatives: 10"]
    t = Look().tokens
    assert [each["colour"] for each in data["clouds"]] == [t.ink, t.wrong, t.wrong, t.ink]
    assert list(cloud_table(picked)["words"]) == ["good", "warm", "w", "<b>"]
