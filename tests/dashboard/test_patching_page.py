"""A second sentence on the Sentence page: its inside in the first, and what is said of one of another length."""

from __future__ import annotations

import pages
import pytest
from pages import words as markup

from core.numbers import signed
from core.runs.load import load_run
from core.runs.store import RunStore

pytestmark = pytest.mark.slow

TEXT, DONOR = "good film, dull and slow", "good film, good and slow"


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **parameters})


def test_each_place_of_the_second_sentence_moves_the_first_as_the_core_says(app, runs):
    opened(app, donor=DONOR)
    (grid,) = (each for each in pages.drawn(app, "cells") if each["label"].startswith("places taken"))
    found = load_run(RunStore(runs), "finished").patch(TEXT, DONOR, "positive")
    word = next(row for row in grid["rows"] if row["name"] == "dull ← good")
    moved = [each.moved for each in found.patches if each.token == 3]
    assert [cell["about"] for cell in word["cells"]] == [
        f"dull ← good, layer {layer}: log-odds of positive {signed(each, 3)}" for layer, each in enumerate(moved, 1)
    ]
    assert "From another sentence" in markup(app) and "towards positive" in markup(app)


def test_a_sentence_of_another_length_is_told_with_both_and_their_tokens(app, runs):
    opened(app, donor="good <b>film</b>")
    said = markup(app)
    assert "These two cannot be put together" in said and "The first has 6: good | film | , | dull | and | slow" in said
    assert "<b>film" not in said.partition("These two")[2][:600]
    assert not any(each["label"].startswith("places taken") for each in pages.drawn(app, "cells"))


def test_without_a_second_sentence_the_page_offers_the_field(app, runs):
    opened(app)
    assert "Type the sentence with one word replaced" in markup(app)


def test_a_model_without_attention_has_nothing_to_put_in(app, runs):
    opened(app, run="baseline", donor=DONOR)
    assert "From another sentence" not in markup(app)
