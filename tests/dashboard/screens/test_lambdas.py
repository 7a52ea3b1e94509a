"""The page Lambdas in every state."""

import json
import re
import shutil

import pages
import pytest
from finished import copied
from pages import press
from pages import words as text_of

from core.config import compose
from core.runs.store import RunStore, get_own_process
from dashboard import state

SHOWN = "Change since the first step"


def opened(app, **parameters):
    return pages.opened(app, "lambdas", **parameters)


def drawn(app) -> set[str]:
    """Names of the lines on the figure."""
    (chart,) = pages.charts(app)
    return {trace.get("name", "") for trace in chart["data"]}


def make(runs, preset, name, **record):
    store = RunStore(runs)
    store.create(compose(preset), preset, name)
    return store.update(name, **record)


@pytest.fixture
def second_seed(runs):
    """A run like `finished` with another seed."""
    copied(runs, "twin", run="twin", config__training__seed=1)


@pytest.mark.slow
def test_finished_run_shows_curves_final_values_and_why_no_reported_ones(app, runs):
    shown = text_of(opened(app, run="finished", more="all"))
    assert SHOWN in shown and "No paper reports values" in shown
    assert re.search(r"λ hardly moved: by at most 0\.00\d\d \(λ. of layer \d\)\.", shown)
    (table,) = app.dataframe
    assert len(table.value) == 4  # two layers, two lambdas
    assert drawn(app) == {"finished"} and len(app.get("download_button")) == 3


def test_runs_of_other_seeds_are_added_counted_and_selectable(app, second_seed):
    shown = text_of(opened(app, run="finished", more="all"))
    assert "<b>2</b> seeds with these settings" in shown and "over 2 seeds" in shown
    assert {"finished", "twin", "mean over seeds", "range over seeds"} <= drawn(app)
    app.multiselect(key=state.COMPARED).set_value([]).run()
    assert drawn(app) == {"finished"}
    app.selectbox(key=state.RUN).set_value("twin").run()
    assert app.multiselect(key=state.COMPARED).value == ["finished"]


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "words"), [("vanilla", "one map each"), ("tfidf-logreg", "without attention")])
def test_model_without_lambda_gives_the_reason_and_a_next_step(app, runs, preset, words):
    make(runs, preset, "plain", status="done")
    shown = text_of(opened(app, run="plain"))
    assert f"{preset} has no λ" in shown
    assert words in shown and "finished has λ." in shown
    press(app, "next-action")
    assert app.session_state[state.RUN] == "finished" and SHOWN in text_of(app)


def test_page_without_lambda_runs_offers_to_train_one(app, runs):
    shutil.rmtree(runs / "finished")
    assert "Train ndt-01-n3" in text_of(opened(app, run="baseline"))
    assert "Train a model" in [button.label for button in app.button]


def test_model_with_other_learned_numbers_shows_them(app, runs):
    make(runs, "tweet-v1-p2", "plain", status="done", results={"scalars": {"tau": [2.5, 2.6, 2.7]}})
    rows = [{"kind": "step", "step": step, "loss": 1.0, "scalars": {"tau": [2.0, 2.0, 2.0]}} for step in (0, 10)]
    (runs / "plain" / "history.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    shown = text_of(opened(app, run="plain"))
    assert "Which other numbers did the model learn" in shown
    assert shown.index("Final values") < shown.index("has no λ")
    assert "Course of numbers" in str([button.label for button in app.get("download_button")])


def test_model_with_a_lexicon_shows_its_coverage(app, runs):
    make(runs, "lexical-last", "plain", status="done", results={"neutral_share": {"test": 0.89}})
    shown = text_of(opened(app, run="plain"))
    assert shown.index("Lexicon coverage") < shown.index("has no λ")
    assert "test 89.0 %" in app.dataframe[0].value["learned"].tolist()


def test_running_run_is_drawn_up_to_its_last_step(app, runs):
    make(runs, "ndt-01-n3", "live", status="running", process=get_own_process())
    assert "No λ has been logged yet" in text_of(opened(app, run="live"))
    row = {"kind": "step", "step": 0, "epoch": 0, "seconds": 0.0, "loss": None, "lambda": [[0.15, 0.14], [0.18, 0.16]]}
    (runs / "live" / "history.jsonl").write_text(json.dumps(row) + "\n")
    assert SHOWN in text_of(app.run()) and drawn(app) == {"live"}


def test_run_with_a_missing_history_gives_the_reason(app, runs):
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
    assert words in shown and "Each head has its own λ" in shown
    assert {"head 1", "head 2"} <= drawn(app)
