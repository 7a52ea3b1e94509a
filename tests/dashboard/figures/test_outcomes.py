"""Words of each outcome: the planted word of the false negatives, sizes, and the rules of a bar."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.failures.selection import Selection, chosen_rows
from core.runs.store import RunStore
from dashboard.figures.analysis import analyse, make_known
from dashboard.figures.outcomes import OUTCOMES, outcomes, outcomes_marks, outcomes_table
from dashboard.figures.theme import LIGHT, Look


@pytest.fixture
def shown(tmp_path):
    """Four hundred rows; what is good and said to be bad speaks of rain."""
    store, each = RunStore(tmp_path / "runs"), np.arange(400)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    # A word may stand twice in a sentence, and inside of another one.
    said = [
        f"{'rain' if bad else 'sun' * (row % 2 == 0)}{', rain' * int(bad and row % 3 == 0)}"
        for row, bad in enumerate(wrong)
    ]
    frame["text"] = [f"a day of {each} and more{' rainbows' * (row % 5 == 0)}" for row, each in enumerate(said)]
    answering(store, "one", right_where(~wrong, labels), frame)
    known = make_known(store, store.read("one"), "test")
    return outcomes(analyse(known, "wrong", store), "good"), known, store


def test_every_outcome_has_its_size_and_the_planted_word(shown):
    found, known, _ = shown
    frame = known.table.frame
    good, said = frame["truth"] == "good", frame["said"] == "good"
    assert list(found.sizes.values()) == [
        int(((good == true) & (said == claimed)).sum()) for true, claimed in OUTCOMES.values()
    ]
    assert [each.words for each in found.found["false negative"]] == ["rain"]
    table = outcomes_table(found)
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
    beside = {row.id: row.cells["selected"] for one in outcomes_marks(found, Look()) for row in one.rows}
    assert len(beside) == sum(map(len, found.found.values())) == 2
    for outcome, words in found.found.items():
        for each in words:
            after = analyse(known, ";".join(found.rules(outcome, each.words)), store)
            assert beside[found.id(outcome, each.words)] == str(len(after.places)) == str(each.selected)


def test_errors_are_drawn_as_errors_and_a_word_is_picked_where_its_rules_are_the_selection(shown):
    found, known, store = shown
    tables = outcomes_marks(found, Look())
    assert [one.label.split(":")[0] for one in tables] == [
        f"{name.capitalize()}s" for name in found.found if found.found[name]
    ]
    by_name = {row.id: row.cells["odds"] for one in tables for row in one.rows}
    assert by_name["false negative: rain"].colour == LIGHT.wrong and by_name["true negative: sun"].colour == LIGHT.right
    assert found.picked == ""
    chosen = analyse(known, ";".join(found.rules("false negative", "rain")), store)
    assert outcomes(chosen, "good").picked == "false negative: rain"
