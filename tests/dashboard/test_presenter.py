"""The presenter: a finding and its figure for each page, broken links, and talks."""

import json

import pytest
from pages import charts, named, opened, press, text_of, words

from core.runs import talks
from core.runs.predictions import read_predictions
from dashboard.presenter import DRAFT
from dashboard.screens import PAGES

pytestmark = pytest.mark.slow
LINES = "Links, one a line"


def strip(app) -> dict:
    """Return the text of the strip at the top."""
    sent = [json.loads(each.proto.json) for each in app.get("bidi_component")]
    return next(each for each in sent if "exhibits" in each)


def test_the_finding_of_performance_counts_the_errors_of_the_split(app, runs):
    opened(app, "performance", run="finished", present="1")
    table = read_predictions(runs / "finished" / "evaluation" / "test" / "predictions.parquet")
    wrong = int((table["label"] != table["predicted"]).sum())
    assert wrong and f"{wrong} of {len(table)} are wrong: " in words(app)
    assert len(charts(app)) == 1 and not app.sidebar.selectbox


def test_the_split_and_the_threshold_of_a_link_change_the_finding(app, runs):
    first = words(opened(app, "performance", run="finished", present="1", split="validation"))
    app.query_params["threshold"] = "0.01"
    assert words(app.run()) != first


@pytest.mark.parametrize("page", ["sentence", "embeddings", "train"])
def test_each_page_with_an_exhibit_has_a_headline(app, runs, page):
    found = words(opened(app, page, run="finished", present="1", text="good film, dull and slow"))
    assert 's-finding" aria-live="polite">' in found
    assert strip(app)["exhibits"][strip(app)["at"]] == PAGES[page].title


def test_a_page_without_a_finding_and_a_run_that_is_gone_say_so(app, runs):
    app = opened(app, "data", run="finished", present="1")
    assert strip(app)["at"] == 0 and 's-finding" aria-live' in words(app)
    assert "Its run “gone” is gone." in text_of(opened(app, "errors", run="gone", present="1"))


def test_a_talk_begins_with_its_first_link_and_an_unknown_one_is_named(app, runs):
    talks.write_talk(runs, "monday", ["performance?run=finished&split=validation", "errors?run=gone"])
    opened(app, "runs", talk="monday", present="1")
    assert strip(app)["exhibits"] == ["Performance", "Errors"] and strip(app)["at"] == 0
    app.query_params.clear()
    assert "there are monday.<" in text_of(opened(app, "runs", talk="tuesday", present="1"))


def test_the_editor_saves_links_and_names_a_bad_line(app, runs):
    talks.write_talk(runs, "talk", ["errors?run=gone"])
    app.session_state[DRAFT] = "talk"
    opened(app, "performance", run="finished")
    assert "The run of link 1 is gone." in words(app)
    named(app.text_area, LINES).set_value("performance?run=finished\na b c").run()
    assert "line 2: " in text_of(press(app, "talk-save"))
    named(app.text_area, LINES).set_value("performance?run=finished").run()
    press(app, "talk-save")
    assert talks.read_talk(runs, "talk") == ("performance?run=finished",)
    assert app.session_state[DRAFT] == "talk"


def test_a_talk_damaged_by_hand_is_named_and_takes_no_page_with_it(app, runs):
    (runs / talks.FOLDER).mkdir()
    (runs / talks.FOLDER / "talk.txt").write_text("a b c", encoding="utf-8")
    app.session_state[DRAFT] = "talk"
    opened(app, "performance", run="finished")
    assert "The talk “talk” cannot be read" in text_of(app) and charts(app)


def test_a_talk_goes_past_links_to_no_page_and_to_the_first_page(app, runs):
    talks.write_talk(runs, "monday", ["performance?run=finished", "nowhere?run=finished", "?run=finished", "overview"])
    opened(app, "performance", talk="monday", present="1", exhibit="2")
    assert "There is no page “nowhere”" in text_of(app)
    assert strip(app)["at"] == 1 and strip(app)["exhibits"] == ["Performance", "nowhere", "Start", "Runs"]


def test_a_link_with_large_text_hides_the_export_bar(app, runs):
    assert opened(app, "performance", run="finished").get("download_button")
    app.query_params["projector"] = "true"
    labels = [each.proto.label for each in app.run().get("download_button")]
    assert not [each for each in labels if each.endswith("CSV")]
