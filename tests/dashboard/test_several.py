"""Every page with a multilabel run."""

from pathlib import Path

import pages
import pytest
from pages import named, press, words
from several import LABELS, indicator_file
from streamlit.testing.v1 import AppTest
from trained_runs import TINY, train_runs

from core import api
from core.error_analysis.counter_examples import read_examples
from core.runs.store import RunStore
from dashboard import access, state

pytestmark = pytest.mark.slow  # trains a multilabel model first

SETTINGS = {**TINY, "data.split": "", "training.epochs": 6, "training.lr": 0.02}
PAGES = {"runs": "several is the only tested model", "train": "Test macro F1", "steps": "Stronger colour = larger"}


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Invented texts with a 0/1 column per label."""
    return indicator_file(tmp_path_factory.mktemp("data") / "remarks.csv", rows=400)


@pytest.fixture(scope="module")
def trained(file, tmp_path_factory) -> Path:
    """A run directory with `several`."""
    return train_runs(tmp_path_factory.mktemp("several"), several=(file, "ndt-01-n2", SETTINGS)).folder


def opened(app: AppTest, page: str, **parameters: str) -> AppTest:
    return pages.opened(app, page, **{"run": "several", "view": "run", **parameters})


@pytest.mark.parametrize(("page", "said"), PAGES.items())
def test_all_pages_show_the_run_and_explain_differences(app, runs, page, said):
    assert said in words(opened(app, page))


def test_performance_page_is_about_one_label_and_its_threshold(app, runs):
    opened(app, "performance", rule="loud", split="test", more="all")
    shown = words(app)
    assert "Per label" in shown and "not loud predicted as loud" in shown
    assert "Accuracy is not defined: a sentence may have several labels" in shown
    assert "Fewer than 30: loud on 22, late on 20, warm on 18." in shown and app.slider(key="limit").value == 0.5
    record = RunStore(runs).read("several")
    app.segmented_control(key="thresholds").set_value("tuned").run()
    tuned = record.results["tuned"]["thresholds"]["loud"]
    assert app.slider(key="limit").value == round(tuned, 2)
    assert f"Chosen on validation: {tuned:.3f}." in words(app)
    app.selectbox(key="rule").set_value("warm").run()
    assert app.slider(key="limit").value == round(record.results["tuned"]["thresholds"]["warm"], 2)


def test_cell_opens_its_sentences_with_all_their_labels(app, runs):
    opened(app, "performance", rule="loud", split="test", select="true=loud;predicted=loud")
    assert "label loud, predicted loud" in words(app)
    table = next(frame.value for frame in app.dataframe if "p_predicted" in frame.value)
    assert len(table) and all("loud" in label.split(", ") for label in table["true"])


def test_sentence_shows_each_label_with_its_threshold(app, runs):
    shown = words(opened(app, "sentence", text="word1 warm late word2"))
    assert all(f"<span>{name}</span>" in shown for name in LABELS)
    assert 'class="s-on"' in shown and "threshold" in shown and "so the numbers do not sum to 1" in shown


def test_sentence_is_stored_with_all_expected_labels_and_used_in_training(app, runs, file):
    opened(app, "sentence", text="word1 warm late word2")
    ought = named(app.multiselect, "Correct labels")
    assert set(ought.value) <= set(LABELS)
    ought.set_value(["warm", "late"])
    named(app.button, "Save it").click().run()
    assert "Saved as late, warm: “word1 warm late word2”" in words(app)
    [one] = read_examples(runs)
    assert one.labels == ("late", "warm")
    named(app.multiselect, "Correct labels").set_value([])
    named(app.button, "Save it").click().run()
    assert "Saved as none of them" in words(app) and {each.label for each in read_examples(runs)} == {"", "late;warm"}
    listed = api.counter_examples_list(run="several", store=RunStore(runs))["counter_examples"]
    assert {each["breaks"] for each in listed} <= {True, False} and len(listed) == 2
    assert "2 saved" in words(opened(app, "behave"))
    api.train(str(file), "ndt-01-n2", SETTINGS, name="again", add=["counter-examples"], store=RunStore(runs))
    assert RunStore(runs).read("again").results["examples"]["rows"] == 2


def test_data_page_counts_labels_and_filters_by_one(app, file, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)
    opened(app, "data", data=str(file), more="Splits")
    assert "several labels per text, in 3 columns of 0 and 1" in words(app)
    press(app, "use-data")
    shown = words(app)
    assert "3 labels, several per text" in shown and "Labels per text" in shown
    app.selectbox(key=state.CLASS).set_value("warm").run()
    table = next(frame.value for frame in app.dataframe if "text" in frame.value)
    assert len(table) and all("warm" in text.split() for text in table["text"])


def test_flip_pin_and_template_are_about_one_label(app, runs):
    store, text = RunStore(runs), "word1 late warm"
    pinned = {"pinned": "word1 warm", "pinned-run": "several"}
    opened(app, "sentence", text=text, more="all", towards="late", of="late", **pinned)
    pages.rerun_while(press(app, "flip-start"), lambda: "flip-stop" in [each.key for each in app.button])
    found = api.flip("several", text, target="late", store=store)
    assert found["verdict"] == "proven" and "change is enough" in words(app)
    assert words(app).count("<del>") == sum(len(each["moves"]) for each in (found["flip"], *found["also"]))
    now, before = (api.predict("several", [each], store=store)["predictions"][0] for each in (text, "word1 warm"))
    gap = now["probabilities"]["late"] - before["probabilities"]["late"]
    assert f"pinned: +{gap:.3f}" in words(app) and "Reach of negation" in words(app)
