"""The section λ of Attention in every state."""

import json
import re
import shutil

import pages
import pytest
from finished import copied
from pages import words as text_of

from core.config import compose
from core.runs.store import RunStore, get_own_process
from dashboard import state

SHOWN = "Change since the first step"


def opened(app, **parameters):
    return pages.opened(app, "attention", **{"more": "λ", **parameters})


def drawn(app) -> set[str]:
    """Names of the lines on the figure."""
    (chart,) = pages.charts(app)
    return {trace.get("name", "") for trace in chart["data"]}


def make(runs, preset, name, **record):
    store = RunStore(runs)
    store.create(compose(preset), preset, name)
    return store.update(name, **record)


@pytest.mark.slow
def test_finished_run_shows_curves_final_values_and_why_no_reported_ones(app, runs):
    shown = text_of(opened(app, run="finished", more="all"))
    assert SHOWN in shown and "No paper reports values" in shown
    assert re.search(r"λ hardly moved: by at most 0\.00\d\d \(λ. of layer \d\)\.", shown)
    (table,) = app.dataframe
    assert len(table.value) == 4  # two layers, two lambdas
    assert drawn(app) == {"finished"} and len(app.get("download_button")) == 3


def test_runs_of_other_seeds_are_added_counted_and_selectable(app, runs):
    copied(runs, "twin", run="twin", config__training__seed=1)
    shown = text_of(opened(app, run="finished", more="all"))
    assert "change, 2 runs" in shown and "over 2 seeds" in shown
    assert {"finished", "twin", "mean over seeds", "range over seeds"} <= drawn(app)
    app.multiselect(key=state.COMPARED).set_value([]).run()
    assert drawn(app) == {"finished"}
    app.selectbox(key=state.RUN).set_value("twin").run()
    assert app.multiselect(key=state.COMPARED).value == ["finished"]


@pytest.mark.parametrize("others", [True, False])
def test_a_link_to_lambda_opens_its_section_or_says_why_there_is_none(app, runs, monkeypatch, others):
    monkeypatch.setattr("dashboard.screens.LAMBDA_ADDRESS", "attention")
    assert SHOWN in text_of(pages.opened(app, "attention", run="finished"))
    make(runs, "vanilla", "plain", status="done")
    if not others:
        shutil.rmtree(runs / "finished")
    shown = text_of(pages.opened(app, "attention", run="plain"))
    assert "vanilla has no λ" in shown and "one map each" in shown
    assert f"{'finished' if others else 'ndt-01-n3'} has λ." in shown


def test_models_with_other_learned_numbers_or_a_lexicon_show_them(app, runs):
    make(runs, "tweet-v1-p2", "plain", status="done", results={"scalars": {"tau": [2.5, 2.6, 2.7]}})
    rows = [{"kind": "step", "step": step, "loss": 1.0, "scalars": {"tau": [2.0, 2.0, 2.0]}} for step in (0, 10)]
    (runs / "plain" / "history.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "Final values" in text_of(opened(app, run="plain", more="Learned numbers"))
    assert "Course of numbers" in str([button.label for button in app.get("download_button")])
    make(runs, "lexical-last", "counted", status="done", results={"neutral_share": {"test": 0.89}})
    assert "Lexicon coverage" in text_of(opened(app, run="counted", more="Learned numbers"))
    assert "test 89.0 %" in app.dataframe[0].value["learned"].tolist()


def test_running_run_is_drawn_up_to_its_last_step_and_a_missing_history_explained(app, runs):
    make(runs, "ndt-01-n3", "live", status="running", process=get_own_process())
    assert "No λ has been logged yet" in text_of(opened(app, run="live"))
    row = {"kind": "step", "step": 0, "epoch": 0, "seconds": 0.0, "loss": None, "lambda": [[0.15, 0.14], [0.18, 0.16]]}
    (runs / "live" / "history.jsonl").write_text(json.dumps(row) + "\n")
    assert SHOWN in text_of(app.run()) and drawn(app) == {"live"}
    (runs / "finished" / "history.jsonl").unlink()
    assert "No λ was logged" in text_of(opened(app, run="finished"))


@pytest.mark.parametrize(
    ("preset", "words"), [("differential", "subtracts its second map"), ("differential-v2", "depends on the token")]
)
def test_lambda_with_another_meaning_is_explained(app, runs, preset, words):
    make(runs, preset, "dt", status="done")
    row = {"kind": "step", "step": 0, "epoch": 0, "seconds": 0.0, "loss": None, "lambda": [[0.2], [0.3]]}
    row["lambda_heads"] = [[[0.1, 0.3]], [[0.2, 0.4]]]
    (runs / "dt" / "history.jsonl").write_text(json.dumps(row) + "\n")
    shown = text_of(opened(app, run="dt"))
    assert words in shown and "Each head has its own λ" in shown and {"head 1", "head 2"} <= drawn(app)
