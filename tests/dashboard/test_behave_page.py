"""The page of behaviour: what it finds, what is looked at, suites of one's own, runs that cannot be tested."""

from functools import partial

import pages
import pytest
from pages import press, words

from core.behavioral_tests.suite import SuiteAnswers
from core.data import uploads
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

SUITE = b"""
name: films
tests:
  - {name: praise, capability: words, kind: minimum, expected: positive, texts: [good film, warm film, <b>wise film]}
  - {name: wrong, capability: the other way, kind: minimum, expected: negative, texts: [good film, warm film]}
  - {name: capitals, capability: spelling, kind: invariance, edits: [upper case], texts: [good film, bad film]}
"""


@pytest.fixture
def page(app, runs):
    """page(**parameters): the page with an uploaded small suite, as a link shows it."""
    kept = uploads.keep_file(runs / ".data", "films.yaml", SUITE)
    return partial(pages.opened, app, "behave", run="baseline", suite=f"{kept.parent.name}/{kept.name}")


def test_page_opens_with_its_summary_and_a_selected_capability_escaped(page):
    assert "Failed tests" not in words(page())
    app = page(capability="capability the other way")
    assert "baseline passes 0 of 3 capabilities" in words(app) and "films</b> 3 tests, 7 cases" in words(app)
    assert "Failed tests: the other way" in words(app) and "2 of 2 fail for baseline" in words(app)
    assert list(app.dataframe[0].value["sentence"]) == ["good film", "warm film"]
    assert "<b>wise" not in words(page(capability="capability words"))


def test_link_names_the_selected_row_and_the_compared_runs(page):
    app = page(capability="test capitals", against="finished", fails="baseline")
    assert "Failed tests: capitals" in words(app) and "baseline passes all these tests." in words(app)
    assert "It shows no clear difference from finished." in words(app)
    assert app.multiselect[0].value == ["finished"]
    assert next(control.options for control in app.get("button_group")) == ["baseline", "finished"]


def test_missing_or_foreign_suite_is_reported_and_the_default_can_be_chosen(page, runs):
    app = page(suite=f"{'0' * 64}/none.yaml")
    assert "the suite of this link is gone" in words(app) and "passes" not in words(app)
    assert "Sentiscope&#x27;s suite" in words(press(app, "our-suite"))
    assert "suite of this link is gone" in words(page(suite="../../../etc/passwd"))


def test_page_asks_for_the_polarity_of_unknown_classes(page, runs):
    RunStore(runs).update("baseline", classes=("calm", "joy"))
    app = page()
    assert "Is each class negative or positive?" in words(app)
    assert "passes" not in words(app) and "cannot be tested" not in words(app)
    app.selectbox(key=f"{state.SIDE}calm").set_value("negative").run()
    app.selectbox(key=f"{state.SIDE}joy").set_value("positive").run()
    assert "baseline passes" in words(app)


def test_large_suite_is_predicted_by_a_background_job(page, monkeypatch):
    monkeypatch.setattr(SuiteAnswers, "AT_ONCE", 4)
    monkeypatch.setattr(SuiteAnswers, "start", SuiteAnswers.compute)
    app = page()
    assert "passes" not in words(app) and "The model reads all texts of this suite" in words(app)
    assert "baseline passes 0 of 3 capabilities" in words(press(app, "ask-baseline"))
