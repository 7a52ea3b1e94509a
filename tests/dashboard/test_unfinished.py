"""The line “Continue: …”: what the disk and the visit know of things in progress, and the way there."""

import pytest
from pages import opened, press, sentence, words

from core.config import compose
from core.error_analysis.codebook import Codes, draw_sample, get_data_name
from core.error_analysis.predictions_table import read_table
from core.runs.store import RunStore, get_own_process
from dashboard import access, state

pytestmark = pytest.mark.slow


def line(app) -> str:
    """Return the line, without its markup; empty if there is none."""
    found = [each.proto.body for each in app.get("html") if "<b>Continue:</b>" in each.proto.body]
    return found[0].partition("</b> ")[2].removesuffix("</p>") if found else ""


@pytest.mark.parametrize("page", ["runs", "start"])
def test_nothing_in_progress_leaves_no_line(app, runs, page):
    assert line(opened(app, page)) == ""


def test_a_training_run_comes_first_and_its_button_opens_train(app, runs):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "waits")
    assert line(opened(app, "runs")) == "waits on built-in waits for a free place."
    store.create(compose("vanilla"), "vanilla", "goes")
    store.update("goes", status="running", process=get_own_process())
    assert line(app.run()) == "goes on built-in is learning."
    press(app, "continue-open")
    assert app.session_state[state.HERE] == "train" and app.session_state[state.RUN] == "goes"


def test_a_paused_run_says_at_which_step(app, runs):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "rests")
    store.update("rests", status="cancelled", progress={"step": 120, "steps": 1480})
    assert line(opened(app, "runs")) == "", "without a checkpoint it cannot go on"
    (runs / "rests" / "checkpoint").mkdir()
    assert line(app.run()) == "rests on built-in is paused at step 120 of 1\u202f480."


def test_a_random_sample_goes_on_at_its_first_sentence_without_a_code(app, runs, monkeypatch):
    record, keys = RunStore(runs).read("finished"), read_table(RunStore(runs), "finished").frame["key"].tolist()
    codes = Codes(runs, get_data_name(record))
    codes.add_code("irony", author="Ann")
    drawn = draw_sample(codes, keys, 5, 1, "all", run="finished", author="Ann").keys
    codes.give_codes(list(drawn[:2]), ["irony"], author="Ann", run="finished")
    monkeypatch.setattr(access, "is_local", lambda: False)
    assert line(opened(app, "runs", run="baseline")) == "", "others do not see it"
    monkeypatch.setattr(access, "is_local", lambda: True)
    assert line(app.run()) == "2 of 5 sampled sentences coded, finished."
    press(app, "continue-open")
    assert app.session_state[state.HERE] == "errors" and app.session_state[state.RUN] == "finished"
    assert app.session_state[state.AT] == drawn[2] and "5 of 16" in words(app)
    codes.give_codes(list(drawn), ["irony"], author="Ann", run="finished")
    app.switch_page("screens/runs.py").run()
    assert line(app) == "", "it is coded to its end"


def test_the_last_sentence_of_this_visit_comes_last(app, runs):
    sentence(app, text="a film that <b>drags</b>")
    app.switch_page("screens/runs.py").run()
    assert line(app) == "“a film that &lt;b&gt;drags&lt;/b&gt;”, read by finished."
    press(app, "continue-open")
    assert app.text_input(key=state.TEXT).value == "a film that <b>drags</b>"
