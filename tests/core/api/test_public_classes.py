import re

import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core import api
from core.api.public_classes import Run, Runs, run, runs, train
from core.exceptions import InputError, RunDamaged

TEXT = "not bad at all"
TINY = {"model.width": 8, "model.ff_width": 8, "training.batch_size": 8, "training.threads": 1, "text.min_freq": 1}


@pytest.fixture
def chosen(starters):
    return run("starter-ndt-01-n3")


@pytest.mark.slow
def test_train_reads_a_file_and_returns_the_run(table, capsys):
    made = train(str(table), "vanilla", TINY, epochs=2, seed=3, name="first")
    assert (made.name, made.status) == ("first", "done")
    assert (made.config.training.epochs, made.config.training.seed, made.config.model.width) == (2, 3, 8)
    assert [each.name for each in runs()] == ["first"] and runs()[0] == made
    assert made.metrics["test"] == made.evaluate()["metrics"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run first"
    assert [line[:8] for line in lines if line.startswith("epoch")] == ["epoch 1:", "epoch 2:"]
    assert made.remove() == {"run": "first", "removed": True} and list(runs()) == []
    assert repr(made).startswith("Run('first': gone: no run 'first'")


@pytest.mark.slow
def test_training_progress_is_reported_and_settings_override_a_length(table, capsys):
    heard = []
    made = train(str(table), "tfidf-logreg", name="words", on_event=lambda event: heard.append(event["kind"]))
    assert heard[0] == "queued" and "evaluation" in heard and capsys.readouterr() == ("", "")
    check_raises(InputError, "nothing to resume", made.resume)
    made = train(str(table), "tfidf-logreg", length="short", limit=40, seed=3, name="cut")
    config = made.config
    assert (config.training.epochs, config.training.seed, config.data.limit) == (4, 3, 40)


@pytest.mark.slow
def test_run_object_is_accepted_instead_of_a_name(chosen):
    found = chosen.distance("it was [not] {} good", against=[chosen], insert="so so")
    assert found == api.distance(chosen.name, "it was [not] {} good", insert="so so", store=chosen.store)


def test_history_and_predictions_are_frames_and_a_missing_split_is_refused(chosen):
    history = chosen.history
    assert len(history) == len((chosen.store.get_path(chosen.name) / "history.jsonl").read_text().splitlines())
    epochs = history[history["kind"] == "epoch"]
    assert len(epochs) == chosen.record.progress["epochs"]
    # Weights rounded to 8 bits and a temperature towards the class prior change one or two predictions.
    assert epochs["validation.accuracy"].max() == pytest.approx(chosen.metrics["validation"]["accuracy"], abs=0.002)
    said = chosen.predictions()
    assert (said["label"] == said["predicted"]).mean() == pytest.approx(chosen.metrics["test"]["accuracy"])
    file = chosen.store.get_path(chosen.name) / "evaluation" / "challenge" / "predictions.parquet"
    pd.testing.assert_frame_equal(chosen.predictions("challenge"), pd.read_parquet(file))
    with pytest.raises(InputError, match="no predictions of a split 'train'; it has challenge, everyday, test, valid"):
        chosen.predictions("train")


@pytest.mark.slow
def test_sentence_has_the_values_of_the_verb_as_arrays_and_gates_if_the_model_has_them(chosen, starters):
    said, same = chosen.sentence(TEXT), chosen.inspect(TEXT)
    assert said.text == TEXT and list(said.tokens) == same["tokens"] and list(said.unknown) == same["unknown"]
    assert said.prediction == same["prediction"]
    [predicted] = chosen.predict([TEXT])["predictions"]
    assert said.prediction["probabilities"] == pytest.approx(predicted["probabilities"], abs=1e-6)
    for number, layer in enumerate(same["layers"]):
        np.testing.assert_array_equal(said.maps[number], np.float32(layer["combined"]))
        np.testing.assert_array_equal(said.components[number], np.float32(layer["components"]))
        np.testing.assert_array_equal(said.coefficients[number], np.float32(layer["coefficients"]))
    assert [each.shape for each in said.maps] == [(4, 4, 4)] * 3 and said.gates == ()
    assert repr(said).startswith(f"Sentence('{TEXT}': {said.prediction['label']} 0.")
    gates = run("starter-sentiformer").sentence(TEXT).gates
    assert [each.shape for each in gates] == [(5,)] * 3 and all(((0 <= each) & (each <= 1)).all() for each in gates)


@pytest.mark.slow
def test_figure_equals_the_exported_one(chosen, tmp_path):
    figure = chosen.figure("confusion", split="challenge")
    assert figure.layout.title.text.startswith("Confusion matrix, challenge, n = 302")
    said = chosen.predictions("challenge")
    counts = pd.crosstab(said["label"], said["predicted"]).to_numpy().ravel().tolist()
    assert [int(re.search(r">(\d+)</b>", cell)[1]) for cell in figure.data[0].text] == counts
    files = chosen.figures(str(tmp_path), only=["roc"])["files"]
    assert [file["title"] for file in files] == ["ROC"] and (tmp_path / "roc.html").is_file()
    assert chosen.sentence(TEXT).figure("coefficients").data


def test_unknown_figure_or_run_is_refused_with_similar_names(chosen, starters):
    check_raises(InputError, "no figure is called 'rocc'; there are learning, ", chosen.figure, "rocc")
    check_raises(InputError, "gates: ndt-01-n3 has no gates", chosen.figure, "gates", text=TEXT)
    check_raises(InputError, r"did you mean 'starter-vanilla'\? `sentiscope runs list` shows all", run, "vanila")
    check_raises(InputError, r"no run 'nope' in [^?]*; `sentiscope runs list`", run, "nope")


@pytest.mark.slow
def test_starter_run_is_protected_and_can_be_exported(chosen, tmp_path):
    check_raises(InputError, "cannot be changed", chosen.remove)
    check_raises(InputError, "nothing to cancel", chosen.cancel)
    assert chosen.export(str(tmp_path / "a.zip"))["bytes"] == (tmp_path / "a.zip").stat().st_size
    taken = Run(api.runs_import(tmp_path / "a.zip")["run"])
    assert taken.metrics == chosen.metrics and not taken.store.is_starter(taken.name)


def test_damaged_run_is_listed_with_its_reason(machine):
    folder = machine / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{")
    [broken] = runs()
    assert broken.status == "damaged" and "run.json" in repr(broken)
    with pytest.raises(RunDamaged, match=r"run\.json"):
        _ = broken.config


@pytest.mark.slow
def test_run_is_found_after_a_change_of_directory(machine, monkeypatch, tmp_path, table):
    monkeypatch.delenv("SENTISCOPE_RUNS")
    made = train(str(table), "tfidf-logreg", name="here")
    monkeypatch.chdir(tmp_path)
    assert made.status == "done"


def test_run_shows_its_facts_and_its_scores_on_each_split(starters):
    chosen = run("starter-vanilla")
    page = chosen._repr_html_()
    test, (low, high) = chosen.metrics["test"], chosen.record.results["intervals"]["test"]["accuracy"]
    assert "done, vanilla on built-in, 2\u202f692\u202f354 parameters" in page
    assert repr(chosen).startswith("Run('starter-vanilla': done")
    assert f"<td>test</td><td>{test['accuracy']:.3f}</td><td>{low:.3f} to {high:.3f}</td>" in page
    assert re.findall("<tr><td>([a-z]+)", page) == ["validation", "test", "challenge", "everyday"]


@pytest.mark.slow
def test_runs_are_a_table_of_the_given_runs_newest_first(starters):
    listed = [row["run"] for row in api.runs_list()["runs"]]
    assert re.findall("<tr><td>([a-z0-9-]+)", runs()._repr_html_()) == listed
    assert re.findall("<tr><td>([a-z0-9-]+)", Runs(runs()[2:4])._repr_html_()) == listed[2:4]
    assert repr(runs()).count("\n") == len(listed) - 1
    assert (Runs()._repr_html_(), repr(Runs())) == ("<div>no runs yet</div>", "no runs yet")


@pytest.mark.slow
def test_sentence_shows_text_and_prediction_bars(starters):
    said = run("starter-differential").sentence("not bad at all")
    page = said._repr_html_()
    (label, highest) = max(said.prediction["probabilities"].items(), key=lambda pair: pair[1])
    assert f"<strong>{label} {highest:.3f}</strong>" in page
    widths = [float(width) for width in re.findall(r"width:([\d.]+)em;min-width:1px", page)]
    assert widths == [pytest.approx(10 * chance, abs=0.006) for chance in said.prediction["probabilities"].values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["starter-vanilla", "starter-tweet-v1-p2"])
def test_typed_text_is_escaped(starters, name):
    page = run(name).sentence("<script>alert(1)</script> & a good film")._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page


def test_reason_of_a_damaged_run_is_escaped(machine, starters):
    folder = machine / "runs" / "broken"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"schema": "<b>"}')
    for shown in (Run("broken"), runs()):
        page = shown._repr_html_()
        assert "broken" in page and "damaged" in page and "<b>" not in page
