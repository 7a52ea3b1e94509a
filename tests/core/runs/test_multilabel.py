"""Runs on texts with several labels, from a made-up file to files, records, verbs, what they print, and the map."""

import json

import numpy as np
import pandas as pd
import pytest
from several import LABELS, indicator_file, several_labels_file
from sklearn import metrics as sk
from tiny_runs import TINY

from core import api
from core.api import printing
from core.api.public_classes import Run
from core.config import compose
from core.exceptions import ConfigError, InputError
from core.metrics import select_thresholded
from core.runs.predictions import read_vectors
from core.runs.training_jobs import execute

pytestmark = pytest.mark.slow

SETTINGS = {**TINY, "model.width": 16, "model.ff_width": 16, "training.epochs": 8, "training.lr": 0.02}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return indicator_file(tmp_path_factory.mktemp("data") / "remarks.csv", rows=160)


@pytest.fixture(scope="module")
def trained(file, train_once):
    """A store with one finished run, `several`."""
    return train_once(file, "ndt-01-n2", "several", **SETTINGS)


@pytest.fixture
def say(trained, monkeypatch, capsys):
    """say(command, *given, **named) → the lines that a terminal shows of a verb."""

    def show(command, *given, **named):
        monkeypatch.setattr(printing.out, "_width", 200)  # read from COLUMNS once, when it was imported
        verb, write = api.load_verb(command)
        write(verb(*given, **named, store=trained))
        return capsys.readouterr().out.splitlines()

    return show


@pytest.fixture
def table(trained):
    return pd.read_parquet(trained.get_path("several") / "evaluation/test/predictions.parquet")


def test_the_record_has_the_task_and_tuned_thresholds(trained):
    record = trained.read("several")
    assert (record.status, record.task, record.classes) == ("done", "multi", LABELS)
    results = record.results
    assert set(results["tuned"]["thresholds"]) == set(LABELS)
    assert all(set(found) == set(select_thresholded()) for found in results["tuned"]["metrics"].values())
    assert results["tuned"]["intervals"].keys() == {"validation", "test"}
    assert results["metrics"]["test"]["f1_macro"] > 0.9  # the words are the labels
    assert results["yardstick"]["splits"]["test"]["f1_macro"] > 0.9
    assert set(results["yardstick"]["tuned"]["thresholds"]) == set(LABELS)
    assert results["silhouette"]["test"]["left_out"].startswith("the texts have several labels each")
    assert results["inference"]["milliseconds"] > 0


def test_predictions_and_figures_have_a_column_for_each_label(trained, table):
    columns = ["row", "text", "label", "predicted", *(f"label:{name}" for name in LABELS)]
    assert list(table.columns) == [*columns, *(f"probability:{name}" for name in LABELS)]
    own = table[[f"label:{name}" for name in LABELS]].to_numpy()
    for text, bits, label in zip(table["text"], own, table["label"], strict=True):
        assert [name in text.split() for name in LABELS] == list(bits)
        assert label == (", ".join(name for name in LABELS if name in text.split()) or "none of them")
    chances = table[[f"probability:{name}" for name in LABELS]].to_numpy()
    expected = sk.f1_score(own, chances > 0.5, average="macro", zero_division=0)
    assert trained.read("several").results["metrics"]["test"]["f1_macro"] == pytest.approx(expected)
    limits = np.array(list(trained.read("several").results["tuned"]["thresholds"].values()))
    tuned = trained.read("several").results["tuned"]["metrics"]["test"]["f1_micro"]
    assert tuned == pytest.approx(sk.f1_score(own, chances > limits, average="micro"))
    figures = json.loads((trained.get_path("several") / "evaluation/test/metrics.json").read_text())
    assert [figures["per_class"][name]["support"] for name in LABELS] == own.sum(0).tolist()
    assert sum(map(sum, figures["confusion"]["loud"])) == figures["n"] == len(table)
    assert figures["tuned"]["per_class"].keys() == figures["tuned"]["confusion"].keys() == set(LABELS)
    assert "calibration" not in figures
    vectors, labels = read_vectors(trained.get_path("several"), "test", LABELS)
    assert labels.shape == (len(vectors), 3)
    made = api.project("several", method="pca", store=trained)
    assert made["n"] == 16 and made["quality"]["silhouette_space"] is None
    assert made["quality"]["reason"].startswith("the texts have several labels each")


def test_evaluate_gives_both_thresholds_and_takes_other_data(trained, file, tmp_path):
    found = api.evaluate("several", store=trained)
    record = trained.read("several").results
    assert found["task"] == "multi" and found["n"] == 16
    assert found["metrics"]["f1_macro"] == pytest.approx(record["metrics"]["test"]["f1_macro"])
    assert found["tuned"]["thresholds"] == record["tuned"]["thresholds"]
    tuned = record["tuned"]["metrics"]["test"]["f1_macro"]
    assert found["tuned"]["metrics"]["f1_macro"] == pytest.approx(tuned)
    assert json.loads(json.dumps(found)) == found

    other = several_labels_file(tmp_path / "other.csv")
    whole = api.evaluate("several", data=str(other), store=trained)
    assert whole["n"] == 105 and whole["metrics"]["recall_micro"] > 0.9  # 15 rows say nothing of their labels
    other.write_text(other.read_text().replace("warm", "mild"))
    with pytest.raises(InputError, match=r"'mild' \(\d+ rows\) is no class of run 'several'.* --map mild=$"):
        api.evaluate("several", data=str(other), store=trained)


def test_predict_and_inspect_list_every_predicted_label(trained, tmp_path):
    found = api.predict("several", ["word1 warm late word2", "word1 word2"], store=trained)["predictions"]
    assert [row["labels"] for row in found] == [["late", "warm"], []]
    assert "label" not in found[0] and "labels_tuned" in found[0]
    assert sum(found[0]["probabilities"].values()) > 1.5  # they are independent of each other
    inside = api.inspect("several", "word1 warm late word2", store=trained)
    assert inside["prediction"]["labels"] == ["late", "warm"]
    expected = list(found[0]["probabilities"].values())
    assert list(inside["prediction"]["probabilities"].values()) == pytest.approx(expected, abs=1e-6)
    for text, head in (("word1 warm late word2", "late, warm"), ("word1 word2", "none of them")):
        api.inspect("several", text, html=tmp_path / "a.html", store=trained)
        assert f"<h1>{head}</h1>" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.metric": "accuracy"}, "training.metric=accuracy: .* the nearest is subset_accuracy"),
        ({"model.head.one_logit": True}, "model.head.one_logit: .* choose one_logit=false"),
    ],
)
def test_invalid_multi_label_settings_are_refused_before_training(settings, message, file, store):
    run = store.create(compose("ndt-01-n2", {"data.name": str(file), **SETTINGS, **settings}), "ndt-01-n2").run
    with pytest.raises(ConfigError, match=message):
        execute(store, run)
    assert store.read(run).status == "failed"


def test_a_run_and_a_sentence_show_several_labels(trained):
    row, *_ = api.tabulate_scores(api.summarize_run(trained.read("several")))
    assert " | ".join(row) == (
        "split | F1 macro, tuned | 95 % | TF-IDF, tuned | at 0.5 | TF-IDF at 0.5 | F1 micro at 0.5 | AUPR"
    )
    run = Run("several", trained)
    page, tuned = run._repr_html_(), run.record.results["tuned"]["metrics"]["test"]["f1_macro"]
    assert f"<td>test</td><td>{tuned:.3f}</td>" in page and "F1 macro, tuned" in page
    said = run.sentence("word1 warm late word2")
    assert said.prediction == api.inspect("several", "word1 warm late word2", store=trained)["prediction"]
    own = said.prediction["labels_tuned"]
    assert own and all(f"{label} {said.prediction['probabilities'][label]:.3f}" in repr(said) for label in own)


def test_a_terminal_shows_each_label_at_both_thresholds_and_with_its_probability(say, file):
    lines = say("evaluate", "several")
    assert [line.split()[0] for line in lines if line.split()[0] in LABELS] == list(LABELS)
    assert any(line.startswith("hamming_loss") for line in lines)
    assert next(line for line in lines if line.startswith("metric")).split() == ["metric", "at", "0.5", "tuned"]
    assert "late 0." in "\n".join(say("predict", "several", ["word1 late warm"]))
    assert "none of them" in "\n".join(say("predict", "several", ["word1 word2"]))
    first = say("inspect", "several", "word1 late warm")[0]
    assert first.startswith("late 0.") and ", warm 0." in first
    lines = say("runs list")
    assert "test F1 macro" in lines[0]
    assert ["several", "ndt-01-n2", file.name, "done"] in [line.split()[:4] for line in lines]
    assert "in 3 columns of 0 and 1" in "\n".join(say("data check", str(file)))


def test_the_terminal_shows_counterfactuals_of_one_label(say):
    shown = say("flip", "several", "word1 late warm", target="late")
    assert shown[0].startswith("late 0.") and shown[1].startswith("word1 [-late-]") and shown[1].endswith(" warm")
    assert shown[2].startswith("warm 0.")
    assert shown[3].startswith("proven: ")
    shown = say("distance", "several", "word1 [not] {} late", target="late", insert="so")
    assert "P(late) by words between, then without the negation" in shown
    assert [line.split()[0] for line in shown[-2:]] == ["0", "1"]
