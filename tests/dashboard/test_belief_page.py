"""May I believe it, on the Sentence page: measured by a job only, watched, stopped, and shown when it is there."""

from __future__ import annotations

import pages
import pytest
from pages import words

from core import api
from core.runs import errands
from core.runs.beliefs import BeliefFiles
from core.runs.store import RunStore, this_process

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"


def opened(app, **given: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **given})


def test_what_was_not_measured_is_measured_by_a_job_only(app, runs, monkeypatch):
    started = []
    monkeypatch.setattr(BeliefFiles, "start", lambda files: started.append((files.run, files.methods, files.limit)))
    shown = words(opened(app))
    assert "May I believe it" in shown and "measured on 200 validation sentences" in shown and started == []
    app.button(key="measure-deletion").click().run()
    app.button(key="measure-all").click().run()
    assert not app.exception and started == [("finished", ("deletion",), 200), ("finished", (), 200)]


def test_the_job_shows_how_far_it_is_and_can_be_stopped(app, runs, monkeypatch):
    here = BeliefFiles.of(RunStore(runs), "finished")
    here.folder.mkdir()
    errands.write_progress(here, this_process(), 0.0, "words in random orders", 0.25)
    stopped = []
    monkeypatch.setattr(errands, "cancel", stopped.append)
    shown = words(opened(app))
    assert "words in random orders" in shown and 'aria-valuenow="25"' in shown
    app.button(key="stop-measure-all").click().run()
    assert [each.stem for each in stopped] == [here.stem]


def test_a_job_that_failed_says_why_and_can_be_begun_again(app, runs):
    here = BeliefFiles.of(RunStore(runs), "finished")
    here.folder.mkdir()
    errands.write_progress(here, None, 0.0, "the data are gone", None)
    shown = words(opened(app))
    assert "It could not be measured" in shown and "the data are gone" in shown
    assert "Measure all methods" in [button.label for button in app.button]


def test_of_single_methods_the_page_shows_those_and_offers_the_rest(app, runs):
    api.believe("finished", method="deletion", store=RunStore(runs))
    opened(app)
    assert "attention" not in str(pages.drawn(app, "marks")[0]["table"])
    api.believe("finished", method="attention", store=RunStore(runs))
    app.run()
    text = str(pages.drawn(app, "marks")[0]["table"])
    assert "attention" in text and "integrated" not in text
    labels = [button.label for button in app.button]
    assert "Measure all methods" in labels and "Measure deletion" not in labels


def test_what_was_measured_is_shown(app, runs):
    run = "baseline"
    found = api.believe(run, store=RunStore(runs))
    opened(app, run=run)
    board = next(each for each in pages.drawn(app, "marks"))
    text = str(board["table"])
    for each in found["methods"]:
        assert each["method"] in text and each["verdict"] in text
    labels = [button.label for button in app.button]
    assert "Measure all methods" not in labels and "Words put back and taken out" in words(app)
