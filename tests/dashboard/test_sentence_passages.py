"""A long text on the Sentence page: each passage with its answer, all of them together, one alone at a click."""

from __future__ import annotations

import re

import pages
import pytest
from pages import words as markup

from core import api
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

GOOD, BAD = "good film " * 15, "bad plot " * 15
TEXT = (GOOD + BAD).strip()


def opened(app, text: str):
    return pages.opened(app, "sentence", run="finished", text=text)


def lines(app) -> list[str]:
    return [each.label for each in app.button if each.key.startswith("passage-")]


def test_each_passage_has_its_answer_as_predict_has_it(app, runs):
    opened(app, TEXT)
    (found,) = api.predict("finished", [TEXT], passage=40, store=RunStore(runs))["predictions"]
    assert [each["text"] for each in found["passages"]] == [GOOD.strip(), BAD.strip()]
    for line, each in zip(lines(app), found["passages"], strict=True):
        assert line.replace("\\", "").startswith(f"{each['label']} {max(each['probabilities'].values()):.2f} — ")
    assert f"together {found['label']} {found['probabilities'][found['label']]:.2f}" in markup(app)
    assert re.search(r'href="#[^"]*passages"[^>]*>Passage by passage<', markup(app))


def test_a_click_reads_one_alone_and_undo_brings_the_whole_back(app, runs):
    opened(app, TEXT)
    app.button(key="passage-1").click().run()
    assert not app.exception and app.text_input(key=state.TEXT).value == BAD.strip()
    assert not lines(app), "thirty words are one passage"


def test_of_two_thousand_words_every_passage_is_listed(app, runs):
    opened(app, "good film " * 1000)
    assert len(lines(app)) == 50


@pytest.mark.parametrize("text", ["", "good film", "good " * 40])
def test_a_short_text_has_no_such_section(app, runs, text):
    opened(app, text)
    assert not lines(app) and "Passage by passage" not in markup(app)
