"""Every page in every state, opened through the entry page."""

import json
import os
import shutil
import signal
import subprocess

import pandas as pd
import pytest
from pages import drawn, opened, press, text_of
from pages import words as words_of

from core import api
from core.config import compose
from core.evaluation.costs import find_cheapest
from core.runs.record import CANCEL
from core.runs.store import RunStore, describe_process, get_own_process
from dashboard import access, state
from dashboard.figures import thresholding
from dashboard.screens import PAGES

pytestmark = pytest.mark.slow

DAMAGED = "Run “damaged” is damaged"
EMPTY = "No model has been trained here yet"
SAID = {
    "start": ("Is the writer positive", '"model": "finished"', '"model": "damaged"', "Write one yourself"),
    "lessons": ("Predict first. Then look.",) * 4,
    "lesson": ("What does a model learn from?",) * 4,
    "runs": (EMPTY, "Bars: 95", DAMAGED, "Bars: 95"),
    "data": ("reviews.csv",) * 4,
    "models": ("30\u202f000 tokens", "as in finished on reviews.csv", "30\u202f000 tokens", "as in baseline"),
    "train": ("Train which model", "finished after", DAMAGED, "fitted at once"),
    "sweeps": ("No sweep has been planned here yet",) * 4,
    "performance": (EMPTY, "n = 16", DAMAGED, "n = 16"),
    "errors": (EMPTY, "n = 16", DAMAGED, "n = 16"),
    "behave": (EMPTY, "passes", DAMAGED, "passes"),
    "compare": ("There is no finished run yet", *("the same test sentences",) * 3),
    "embeddings": (EMPTY, "PCA, 2-D", DAMAGED, "has no embeddings to map"),
    "sentence": (EMPTY, ">Attention</h2>", DAMAGED, "has no attention maps"),
    "steps": (EMPTY, "Stronger colour = larger", DAMAGED, "Stronger colour = larger"),
    "papers": ("Do our runs agree with the paper?",) * 4,
    "theory": ("Which models link the first word to the last?",) * 4,
    "tokens": (EMPTY, "labels whole texts", DAMAGED, "labels whole texts"),
    "classroom": ("serves no class",) * 4,
    "attention": (EMPTY, "Reads up to 500 texts", DAMAGED, "has no attention"),
}
"""By page: words it shows without a run, with a finished one, a damaged one, a baseline."""
WITHOUT_RUN = ("start", "lessons", "lesson", "data", "models", "sweeps", "compare", "papers", "theory", "classroom")
"""Pages that are not about one run."""
EVERY = pytest.mark.parametrize("page", SAID)


def test_navigation_has_all_pages():
    assert PAGES.keys() == SAID.keys()


@pytest.fixture
def brief(table, monkeypatch) -> dict[str, str]:
    """A link's parameters: Train shows the run, and Data a small file, because the built-in corpus takes seconds."""
    monkeypatch.setattr(access, "is_local", lambda: True)
    return {"data": str(table), "view": "run"}


def read_page(app) -> str:
    """Return the words of a page, and what Start and lessons give their component."""
    given = [drawn(app, name) for name in ("start", "lesson_data")]
    return f"{text_of(app)} {json.dumps(given, ensure_ascii=False)}"


@EVERY
def test_pages_without_a_run_explain_what_to_do(app, page, brief):
    assert SAID[page][0] in read_page(opened(app, page, **brief))
    if page not in ("start", "lesson"):
        assert f"<h1>{PAGES[page].title}</h1>" in text_of(app), "the menu and the page have one name"
    own = {"train": "Start training", "data": "Use this file", "models": "Train this", "sweeps": "Start sweep"}
    own |= dict.fromkeys(("start", "lessons", "lesson", "papers", "theory", "classroom"), "")
    assert own.get(page, "Train a") in " ".join(button.label for button in app.button)


@EVERY
@pytest.mark.parametrize(("place", "run"), [(1, "finished"), (2, "damaged"), (3, "baseline")])
def test_run_is_shown_and_its_damage_or_missing_parts_are_reported(app, runs, page, brief, place, run):
    shown = read_page(opened(app, page, run=run, **brief))
    assert SAID[page][place] in shown
    assert run != "damaged" or page in WITHOUT_RUN or "run.json" in shown


def test_link_to_a_missing_run_is_reported(app, runs):
    assert "There is no run “gone” here" in text_of(opened(app, "performance", run="gone"))


def test_run_with_unreadable_or_no_weights_still_shows_its_metrics(app, runs):
    (runs / "finished" / "weights.safetensors").write_bytes(b"short")
    shown = text_of(opened(app, "sentence", run="finished"))
    assert "This page cannot continue" in shown and "weights.safetensors" in shown
    (runs / "finished" / "weights.safetensors").unlink()
    assert "n = 16" in text_of(opened(app, "performance", run="finished"))
    for page in ("sentence", "steps"):
        assert "This run has no weights" in text_of(opened(app, page))


@pytest.mark.parametrize(
    ("page", "said"),
    [("train", "1 lines of the history cannot"), ("attention", "1 line of the history of finished cannot be read")],
)
def test_truncated_history_reports_its_lost_lines(app, runs, page, said):
    path = runs / "finished" / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    assert said in text_of(opened(app, page, run="finished", view="run", more="all"))


def test_typed_text_is_escaped(app, runs):
    opened(app, "sentence", run="finished", text="<img src=x onerror=alert(1)> good")
    assert "<img" not in words_of(app)
    assert ["<", "img"] == [item["word"] for item in drawn(app, "words")[0]["items"]][:2]  # inserted as text
    assert not [element for element in app.markdown if "onerror" in element.value]


def test_run_change_keeps_the_page_complete(app, runs):
    opened(app, "sentence", run="finished", map="λ₁A₁")
    for name in ("baseline", "damaged", "finished"):
        app.selectbox(key=state.RUN).set_value(name).run()


def test_stopping_run_ends_while_another_can_be_started(app, runs, monkeypatch):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "live")
    store.update("live", status="running", process=get_own_process())
    opened(app, "train", run="live")
    press(app, "another")
    assert any(button.label == "Start training" for button in app.button)
    press(app, "curves")
    assert "Stopping" in text_of(press(app, "pause")) and store.is_cancel_requested("live")
    os.utime(store.get_path("live") / CANCEL, (0, 0))  # unanswered: the next click ends the process
    with subprocess.Popen(["sleep", "60"]) as child:
        store.update("live", process=describe_process(child.pid))
        assert "Does not answer" in text_of(app.run())
        press(app, "pause")
        assert child.wait(10) == -signal.SIGKILL
    assert store.read("live").status == "cancelled" and "it did not answer and was ended" in text_of(app)


def test_removed_run_is_no_longer_shown(app, runs):
    opened(app, "performance", run="finished")
    shutil.rmtree(runs / "finished")
    assert "There is no run “finished” here" in text_of(app.run())


def confusion_of(app) -> list[list[int]]:
    """Return the counts of the confusion matrix, from its table."""
    table = next(frame.value for frame in app.dataframe if "true label" in frame.value)
    return table.drop(columns="true label").to_numpy().tolist()


def test_threshold_changes_all_counts(app, runs):
    threshold = 0.83
    opened(app, "performance", run="finished", more="all")
    app.slider(key="threshold").set_value(threshold).run()
    saved = pd.read_parquet(runs / "finished" / "evaluation" / "test" / "predictions.parquet")
    said = (saved["probability:positive"] > threshold).map({True: "positive", False: "negative"})
    names = ["negative", "positive"]
    expected = [[int(((saved["label"] == true) & (said == each)).sum()) for each in names] for true in names]
    assert confusion_of(app) == expected and f"{expected[0][1] + expected[1][0]} of 16 are wrong" in text_of(app)


def test_cost_ratio_sets_the_threshold_until_it_is_moved_or_reset(app, runs):
    opened(app, "performance", run="finished", cost="5", more="Calibration")
    saved = pd.read_parquet(runs / "finished" / "evaluation" / "validation" / "predictions.parquet")
    best = find_cheapest((saved["label"] == "positive").to_numpy(), saved["probability:positive"].to_numpy(), 5)
    assert app.slider(key="threshold").value == round(best, 2)
    assert "a false negative of positive costs 5" in text_of(app) and "(lowest cost on validation)" in text_of(app)
    app.slider(key="threshold").set_value(0.9).run()
    assert "(lowest cost on validation)" not in text_of(app)
    app.number_input(key=thresholding.COST.name).set_value(0.0).run()
    assert app.slider(key="threshold").value == 0.5 and "Cost at each threshold" not in text_of(app)


def test_link_restores_threshold_and_cells(app, runs):
    given = {"threshold": "1.0", "cells": "shares", "split": "validation", "more": "Counts as a table"}
    opened(app, "performance", run="finished", **given)
    assert app.slider(key="threshold").value == 1.0 and [row[1] for row in confusion_of(app)] == [0, 0]
    assert "1.000</b>" in json.loads(next(chart.proto for chart in app.get("plotly_chart")).spec)["data"][0]["text"][0]
    assert "<b>validation</b>" in text_of(app)


def test_run_requested_during_a_fragment_rerun_is_chosen(app, runs):
    opened(app, "train", run="finished")
    app.session_state[state.REQUESTED] = "baseline"  # a click in a script run that a timer interrupted
    app.run()  # the browser still sends the old value of the picker
    assert app.selectbox(key=state.RUN).value == "baseline" and state.REQUESTED not in app.session_state
    app.selectbox(key=state.RUN).set_value("finished").run()
    assert app.selectbox(key=state.RUN).value == "finished"


@pytest.mark.parametrize(
    ("status", "kept", "words", "beside"),
    [
        ("running", True, "deletes its checkpoint: it can only start over. “Pause” keeps the checkpoint", False),
        ("queued", True, "It waits to be resumed. This keeps its curves but deletes its checkpoint", True),
        ("queued", False, "It has not started, so it has no checkpoint", False),
    ],
)
def test_cancelling_asks_first_and_explains_the_checkpoint(app, runs, status, kept, words, beside):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "live")
    store.update("live", status=status, process=get_own_process())
    if kept:
        (runs / "live" / "checkpoint").mkdir()
    opened(app, "train", run="finished" if beside else "live")
    asking = "cancel-live" if beside else "cancel"
    assert words in text_of(press(app, asking)) and not store.is_cancel_requested("live")
    assert words not in text_of(press(app, "leave-live"))
    press(app, asking)
    assert words not in text_of(press(app, "confirm-cancel-live")) and store.is_cancel_requested("live")


def test_run_can_be_exported_and_an_imported_one_is_chosen_or_refused(app, runs, tmp_path, monkeypatch):
    api.runs_export("finished", tmp_path / "given.zip", store=RunStore(runs))
    opened(app, "runs")
    app.session_state[state.get_figure_key(f"{state.ROWS}-reviews.csv")] = {"picked": "baseline"}
    app.run()
    assert "Export · zip" in [button.label for button in app.get("download_button")]
    uploader = next(iter(app.get("file_uploader")))
    uploader.set_value(("given.zip", (tmp_path / "given.zip").read_bytes(), "application/zip")).run()
    assert "finished-2 is imported" in text_of(app) and app.session_state[state.RUN] == "finished-2"
    picked = app.session_state[state.get_figure_key(f"{state.ROWS}-1-reviews.csv")]
    assert "picked" not in picked  # the browser still sends the old selection
    monkeypatch.setattr("dashboard.access.is_local", lambda: True)
    opened(app, "runs")
    app.text_input(key=state.RUN_PATH).set_value(str(tmp_path / "nothing")).run()
    assert "The run was not imported" in text_of(press(app, "import")) and "cannot be read" in text_of(app)
