"""The page Compare: finding, tables, and messages if runs cannot be compared."""

import numpy as np
import pages
import pytest
from answering import answering, right_where, texts
from pages import press, words

from core.runs.efficiency import Speed
from core.runs.store import RunStore

pytestmark = pytest.mark.slow

LABELS = np.arange(120) % 2
RANDOM = np.random.default_rng(0)
GOOD, POOR = (RANDOM.random(120) < share for share in (0.95, 0.6))


@pytest.fixture
def store():
    store = RunStore()
    rows = texts(LABELS, kind=np.where(np.arange(120) % 3, "long", "short"))
    answering(store, "good", right_where(GOOD, LABELS), rows, preset="differential")
    answering(store, "poor", right_where(POOR, LABELS), rows)
    return store


@pytest.fixture
def page(app):
    return lambda *runs, **given: pages.opened(app, "compare", **({"compare": list(runs)} if runs else {}), **given)


def test_page_opens_with_its_summary_and_unfolds_all_figures_of_its_runs(page, store):
    shown = words(page("good", "poor"))
    assert not any(title in shown for title in ("Disagreements", "Calibration", "against cost"))
    shown = words(page("good", "gone", "poor", more="all"))
    assert "good is better than poor." in shown and "No finished run “gone” is here" in shown
    for title in ("accuracy", "Disagreements", "ROC", "Calibration", "against cost", "One sentence in each model"):
        assert title in shown
    alone = (GOOD & ~POOR).sum(), (POOR & ~GOOD).sum()
    assert f"Only good is right on {alone[0]} sentences, only poor on {alone[1]}." in shown


def test_default_comparison_has_the_chosen_run_and_others_on_its_rows(page, store):
    app = page(run="poor")
    assert app.multiselect[0].value == app.query_params["compare"] == ["poor", "good"]


def test_metric_and_column_are_link_options(page, store):
    shown = words(page("good", "poor", metric="loss", by="label", more="all"))
    assert "Lower is better" in shown and "by label, loss" in shown


def test_runs_on_other_rows_or_without_a_common_split_are_reported(page, store):
    answering(store, "other", right_where(GOOD[:90], LABELS[:90]), texts(LABELS[:90]), preset="cnn")
    shown = words(page("good", "other"))
    assert "cannot be compared" in shown and "120 and 90, 90 in common" in shown and "--data FILE" in shown
    answering(store, "elsewhere", right_where(GOOD, LABELS), texts(LABELS), preset="cnn", split="challenge")
    assert "These runs share no evaluated split" in words(page("good", "elsewhere"))


def test_page_explains_itself_without_two_finished_runs(page):
    app = page()
    assert "There is no finished run yet" in words(app) and "Train a model" in [button.label for button in app.button]


def test_sentence_is_predicted_by_each_model(page, runs):
    shown = words(page("finished", "baseline", text="good film", more="One sentence"))
    assert "A finished" in shown and "no attention" in shown


def test_unknown_speed_is_measured_by_a_background_job_per_run(page, store, monkeypatch):
    begun = []
    monkeypatch.setattr(Speed, "start", lambda speed: begun.append(speed.words))
    press(page("good", "poor", more="Cost"), "measure")
    assert begun == [("runs", "measure", "--", "good"), ("runs", "measure", "--", "poor")]
