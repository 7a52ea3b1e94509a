"""The page Theory: a section for each experiment, its finding, and the note on RNNs."""

import pytest
from pages import opened, text_of

from core.api.papers import theory
from core.papers.reported_results import PAPER_SENTENCES
from dashboard.screens.theory import LABELS, WHY, WRONG

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("starters")]


@pytest.mark.parametrize("name", LABELS)
def test_each_address_shows_question_and_finding(app, name):
    shown, found = text_of(opened(app, "theory", experiment=name)), theory(name)
    assert f"<p>{found['question']}</p>" in shown and f"<h2>{found['finding']}</h2>" in shown
    assert (WRONG in shown and WHY in shown) == (name == "markov")


def test_a_wrong_name_opens_the_first(app):
    assert theory("markov")["question"] in text_of(opened(app, "theory", experiment="turing"))


def test_sentences_of_papers_fill_the_text_field(app):
    opened(app, "sentence", run="starter-vanilla", more="From papers")
    chosen = next(number for number, each in enumerate(PAPER_SENTENCES) if not each.ours)
    app.button(key=f"paper-sentence-{chosen}").click().run()
    assert app.text_input(key="text").value == PAPER_SENTENCES[chosen].text
