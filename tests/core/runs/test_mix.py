import json

import numpy as np
import pandas as pd
import pytest
from refused import check_raises
from several import LABELS, indicator_file, several_labels_file
from sklearn import metrics as sk
from tiny_runs import TINY
from waiting import cancel_at

from core import api
from core.api import printing
from core.api.public_classes import Run
from core.config import compose
from core.data.dataset import TRAIN, VALIDATION
from core.data.load import load_dataset
from core.evaluation.baseline import CHARACTERS, predict_split
from core.evaluation.inference import blend_logits, predict_texts
from core.evaluation.metrics import evaluate
from core.exceptions import ConfigError, InputError, RunDamaged
from core.interpret.ablation import patch_activations
from core.interpret.attribution import explain_text
from core.metrics import select_thresholded
from core.models.trace import Intervention
from core.runs import archive
from core.runs.efficiency import read_efficiency
from core.runs.load import load_run
from core.runs.predictions import read_vectors
from core.runs.record import MIX, TOKENIZER, WEIGHTS
from core.runs.store import RunStore
from core.runs.training_jobs import execute
from core.training.temperature import LEAST, compute_class_prior, fit_temperature

pytestmark = pytest.mark.slow

TEXT = "word1 word2 word20 unheard"
MIXED = {**TINY, "training.epochs": 4, "training.lr": 2e-2, "training.mix": "tfidf", "training.nonsense": 0.05}
MIXED |= {"data.split": "0.3/0.5/0.2"}
SETTINGS = {**TINY, "model.width": 16, "model.ff_width": 16, "training.epochs": 8, "training.lr": 0.02}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """240 labelled texts: half of the words are twice as frequent with one label as with the other."""
    random, rows = np.random.default_rng(0), ["text,label"]
    likes = np.where(np.arange(30) < 15, 2 / 3, 1 / 3) / 15
    for number in range(240):
        words = random.choice(30, 8, p=likes if number % 2 else likes[::-1])
        rows.append(f"{' '.join(f'word{each}' for each in words)},{('bad', 'good')[number % 2]}")
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(data, train_once):
    return train_once(data, "ndt-01-n2", "mixed", **MIXED)


@pytest.fixture
def loaded(trained):
    return load_run(trained, "mixed")


def said(store, split, run="mixed"):
    table = pd.read_parquet(store.get_path(run) / f"evaluation/{split}/predictions.parquet")
    return table["text"].tolist(), table.filter(like="probability:").to_numpy()


def test_weight_and_temperature_are_fitted_on_validation(trained, loaded):
    texts, _ = said(trained, VALIDATION)
    labels = load_dataset(loaded.record.config.data).get_targets(VALIDATION)
    assert len(labels) >= LEAST
    parts, weights = loaded.predict(texts).parts, np.linspace(0, 1, 201)
    losses = {each: evaluate(labels, np.exp(blend_logits(parts, each, "single")))["loss"] for each in weights}
    assert 0.05 < loaded.mix.weight < 0.95, "a case in which both count"
    assert loaded.mix.weight == pytest.approx(min(losses, key=losses.get), abs=0.005)
    assert loaded.record.mix_weight == loaded.mix.weight
    prior = compute_class_prior(load_dataset(loaded.record.config.data).get_targets(TRAIN), 2)  # it was taught doubt
    expected = fit_temperature(blend_logits(parts, loaded.mix.weight, "single"), labels, prior)
    assert loaded.record.scaling == (pytest.approx(expected, rel=1e-4), prior)


def test_a_mixture_consists_of_network_and_tfidf_and_both_are_randomized_in_a_copy(trained, loaded):
    texts, _ = said(trained, "test")
    parts = loaded.predict(texts).parts
    assert np.array_equal(parts.network, predict_texts(loaded.model, loaded.tokenizer, texts).logits)
    dataset = load_dataset(loaded.record.config.data)
    given = dataset.fingerprint, dataset.classes, "test", lambda: dataset, CHARACTERS
    assert np.array_equal(np.argmax(parts.tfidf, 1), np.argmax(predict_split(*given), 1))
    found = loaded.record.results["mix"]
    for name, weight in (("network", 1.0), ("tfidf", 0.0)):
        alone = evaluate(dataset.get_targets("test"), np.exp(blend_logits(parts, weight, "single")))
        assert found[name]["test"] == pytest.approx(alone, abs=1e-6)
    texts, _ = said(trained, "test")
    before, other = loaded.predict(texts), loaded.randomize_weights()
    found, again = other.predict(texts), loaded.predict(texts)
    assert np.abs(found.parts.network - before.parts.network).max() > 1e-3
    assert np.abs(found.parts.tfidf - before.parts.tfidf).max() > 1e-3
    assert (again.logits == before.logits).all() and other.mix.weight == loaded.mix.weight


def test_stored_mixtures_reproduce_their_predictions(trained, loaded):
    for split in (VALIDATION, "test"):
        texts, kept = said(trained, split)
        found = loaded.predict(texts).probabilities
        assert np.array_equal(found, load_run(trained, "mixed").predict(texts).probabilities)
        np.testing.assert_allclose(found, kept, atol=1e-6)
        metrics = evaluate(load_dataset(loaded.record.config.data).get_targets(split), kept)
        assert loaded.record.results["metrics"][split] == pytest.approx(metrics, abs=1e-6)


def check_mixture(mix, classes):
    """Check that the probability of each class is the weighted mean of both parts."""
    together = {name: mix.weight * mix.network[name] + (1 - mix.weight) * mix.tfidf[name] for name in classes}
    assert mix.mixture == pytest.approx(together, abs=1e-12)


def test_removing_the_mixture_keeps_the_temperature(trained, loaded):
    view, found = loaded.inspect(TEXT), loaded.predict([TEXT])
    assert list(view.probabilities.values()) == pytest.approx(found.probabilities[0].tolist(), abs=1e-6)
    mix = view.mix
    check_mixture(mix, loaded.record.classes)
    share, priors = 1 / loaded.record.temperature, loaded.record.results["temperature"]["prior"]
    cooled = {name: priors[name] ** (1 - share) * p**share for name, p in mix.mixture.items()}
    assert view.probabilities == pytest.approx({name: p / sum(cooled.values()) for name, p in cooled.items()})
    after = loaded.inspect(TEXT, Intervention(heads_off=frozenset({(0, 0), (0, 1), (1, 0), (1, 1)}))).mix
    assert after.tfidf == mix.tfidf, "a change inside changes the part of the network only"
    assert after.network != mix.network and after.mixture != mix.mixture
    view = loaded.inspect(TEXT, unmixed=True)
    assert (view.mix.weight, view.mix.mixture) == (1.0, pytest.approx(view.mix.network))
    plain = predict_texts(loaded.model, loaded.tokenizer, [TEXT], scaling=loaded.record.scaling)
    assert list(view.probabilities.values()) == pytest.approx(plain.probabilities[0].tolist(), abs=1e-6)
    assert api.inspect("mixed", TEXT, edit="mix.0", store=trained)["mix"]["weight"] == 1
    assert Run("mixed", trained).sentence(TEXT, edit="mix.0").mix == view.mix
    with pytest.raises(InputError, match=r"--edit mixture: this run has layers 1 to 2 .* TF-IDF mixed in \(mix.0\)"):
        api.inspect("mixed", TEXT, edit="mixture", store=trained)


def test_mixtures_are_named_everywhere(trained, loaded):
    words = f"mixed with TF-IDF, w = {loaded.mix.weight:.2f}"
    assert loaded.record.described == f"ndt-01-n2 {words}"
    folder, both = trained.get_path("mixed"), (*loaded.model.parameters(), *loaded.mix.model.parameters())
    files = [folder / TOKENIZER, folder / WEIGHTS, folder / MIX / TOKENIZER, folder / MIX / WEIGHTS]
    assert read_efficiency(trained, loaded.record).disk == sum(file.stat().st_size for file in files)
    assert loaded.record.parameters == sum(each.numel() for each in both) and words in repr(Run("mixed", trained))
    assert api.runs_table(api.runs_list(trained))[0]["model"] == f"ndt-01-n2 {words}"
    measured = api.evaluate("mixed", store=trained)["mix"]
    assert measured["note"].startswith(f"M{words[1:]}: accuracy alone, the network ")
    assert measured["network"] == pytest.approx(loaded.record.results["mix"]["network"]["test"], abs=1e-6)


def test_mixtures_are_exported_and_missing_files_reported(trained, tmp_path):
    elsewhere = RunStore(tmp_path / "elsewhere")
    archive.export_file(trained, "mixed", tmp_path / "mixed.zip")
    run = archive.import_run(elsewhere, tmp_path / "mixed.zip")
    texts, _ = said(trained, "test")
    there, here = (load_run(store, run).predict(texts).probabilities for store in (trained, elsewhere))
    assert np.array_equal(there, here)
    (elsewhere.get_path(run) / MIX / WEIGHTS).unlink()
    check_raises(RunDamaged, rf"{MIX}/{WEIGHTS}: not there", load_run(elsewhere, run).predict, texts)


def test_runs_without_texts_store_the_vocabulary_and_no_text(store, data):
    config = compose("vanilla", {**MIXED, "data.name": str(data), "data.texts": False, "training.weights": "int8"})
    run = store.create(config, "vanilla").run
    record = execute(store, run)
    texts = [text for text in pd.read_csv(data)["text"] if text.count(" ") > 1]
    whole = b"\n".join(file.read_bytes() for file in store.get_path(run).rglob("*") if file.is_file())
    assert b"word1 word" in whole  # a pair of words
    assert [text for text in texts if text.encode() in whole] == []
    kept = pd.read_parquet(store.get_path(run) / "evaluation/test/predictions.parquet").filter(like="probability:")
    own = load_dataset(record.config.data).splits["test"]["text"].tolist()
    np.testing.assert_allclose(load_run(store, run).predict(own).probabilities, kept, atol=1e-6)


def test_multi_label_mixtures_survive_an_interruption(store, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    config = compose("vanilla", {**MIXED, "data.name": str(indicator_file(tmp_path / "remarks.csv", rows=160))})
    whole, cut = (store.create(config, "vanilla", name).run for name in ("whole", "cut"))
    first = execute(store, whole)
    assert execute(store, cut, on_event=cancel_at(store, cut, 3)).status == "cancelled"
    second = execute(store, cut)
    assert second.status == "done"
    for name in (WEIGHTS, f"{MIX}/{WEIGHTS}", f"{MIX}/{TOKENIZER}"):
        assert (store.get_path(cut) / name).read_bytes() == (store.get_path(whole) / name).read_bytes()
    assert second.results["mix"] == first.results["mix"] and 0 <= first.mix_weight < 1
    assert second.results["metrics"] == first.results["metrics"]
    loaded = load_run(store, "cut")
    view, found = loaded.inspect("word1 loud warm"), loaded.predict(["word1 loud warm"])
    assert list(view.probabilities.values()) == pytest.approx(found.probabilities[0].tolist(), abs=1e-6)
    check_mixture(view.mix, first.classes)


def test_deletion_explains_the_mixture_and_gradients_the_network(loaded):
    deleted, integrated = (
        explain_text(loaded.make_reader(), TEXT, method, "good") for method in ("deletion", "integrated")
    )
    p = loaded.predict([TEXT, TEXT.replace("word2 ", "")]).probabilities[:, 1].astype(float)
    whole, rest = np.log(p / (1 - p))
    assert deleted.words[1].push == pytest.approx(whole - rest, abs=1e-4) and deleted.note == ""
    added, complete = sum(word.push for word in integrated.words), integrated.completeness
    assert added - complete.error == pytest.approx(whole - complete.at_reference, abs=1e-4)
    assert integrated.note.endswith("integrated is of the network alone, deletion and shapley of both.")
    donor = TEXT.replace("word2", "word3")
    p = loaded.predict([TEXT, donor]).probabilities[:, 1].astype(float)
    found = patch_activations(loaded.make_reader(), TEXT, donor, "good")
    assert (found.log_odds, found.donor_log_odds) == pytest.approx(np.log(p / (1 - p)), abs=1e-4)
    assert found.note == "TF-IDF is mixed into the answer: its part stays that of the first text."


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return indicator_file(tmp_path_factory.mktemp("data") / "remarks.csv", rows=160)


@pytest.fixture(scope="module")
def trained_several(file, train_once):
    return train_once(file, "ndt-01-n2", "several", **SETTINGS)


@pytest.fixture
def say(trained_several, monkeypatch, capsys):
    """say(command, *given, **named) → the lines that a terminal shows of a verb."""

    def show(command, *given, **named):
        monkeypatch.setattr(printing.out, "_width", 200)  # read from COLUMNS once, when it was imported
        verb, write = api.load_verb(command)
        write(verb(*given, **named, store=trained_several))
        return capsys.readouterr().out.splitlines()

    return show


def test_the_record_has_the_task_and_tuned_thresholds(trained_several):
    record = trained_several.read("several")
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


def test_predictions_and_figures_have_a_column_for_each_label(trained_several):
    table = pd.read_parquet(trained_several.get_path("several") / "evaluation/test/predictions.parquet")
    columns = ["row", "text", "label", "predicted", *(f"label:{name}" for name in LABELS)]
    assert list(table.columns) == [*columns, *(f"probability:{name}" for name in LABELS)]
    own = table[[f"label:{name}" for name in LABELS]].to_numpy()
    for text, bits, label in zip(table["text"], own, table["label"], strict=True):
        assert [name in text.split() for name in LABELS] == list(bits)
        assert label == (", ".join(name for name in LABELS if name in text.split()) or "none of them")
    chances = table[[f"probability:{name}" for name in LABELS]].to_numpy()
    expected = sk.f1_score(own, chances > 0.5, average="macro", zero_division=0)
    assert trained_several.read("several").results["metrics"]["test"]["f1_macro"] == pytest.approx(expected)
    limits = np.array(list(trained_several.read("several").results["tuned"]["thresholds"].values()))
    tuned = trained_several.read("several").results["tuned"]["metrics"]["test"]["f1_micro"]
    assert tuned == pytest.approx(sk.f1_score(own, chances > limits, average="micro"))
    figures = json.loads((trained_several.get_path("several") / "evaluation/test/metrics.json").read_text())
    assert [figures["per_class"][name]["support"] for name in LABELS] == own.sum(0).tolist()
    assert sum(map(sum, figures["confusion"]["loud"])) == figures["n"] == len(table)
    assert figures["tuned"]["per_class"].keys() == figures["tuned"]["confusion"].keys() == set(LABELS)
    assert "calibration" not in figures
    vectors, labels = read_vectors(trained_several.get_path("several"), "test", LABELS)
    assert labels.shape == (len(vectors), 3)
    made = api.project("several", method="pca", store=trained_several)
    assert made["n"] == 16 and made["quality"]["silhouette_space"] is None
    assert made["quality"]["reason"].startswith("the texts have several labels each")


def test_evaluate_gives_both_thresholds_and_takes_other_data(trained_several, file, tmp_path):
    found = api.evaluate("several", store=trained_several)
    record = trained_several.read("several").results
    assert found["task"] == "multi" and found["n"] == 16
    assert found["metrics"]["f1_macro"] == pytest.approx(record["metrics"]["test"]["f1_macro"])
    assert found["tuned"]["thresholds"] == record["tuned"]["thresholds"]
    assert found["tuned"]["metrics"]["f1_macro"] == pytest.approx(record["tuned"]["metrics"]["test"]["f1_macro"])
    assert json.loads(json.dumps(found)) == found

    other = several_labels_file(tmp_path / "other.csv")
    whole = api.evaluate("several", data=str(other), store=trained_several)
    assert whole["n"] == 105 and whole["metrics"]["recall_micro"] > 0.9  # 15 rows say nothing of their labels
    other.write_text(other.read_text().replace("warm", "mild"))
    with pytest.raises(InputError, match=r"'mild' \(\d+ rows\) is no class of run 'several'.* --map mild=$"):
        api.evaluate("several", data=str(other), store=trained_several)


def test_predict_and_inspect_list_every_predicted_label(trained_several):
    found = api.predict("several", ["word1 warm late word2", "word1 word2"], store=trained_several)["predictions"]
    assert [row["labels"] for row in found] == [["late", "warm"], []]
    assert "label" not in found[0] and "labels_tuned" in found[0]
    assert sum(found[0]["probabilities"].values()) > 1.5  # they are independent of each other
    inside = api.inspect("several", "word1 warm late word2", store=trained_several)
    assert inside["prediction"]["labels"] == ["late", "warm"]
    expected = list(found[0]["probabilities"].values())
    assert list(inside["prediction"]["probabilities"].values()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"training.metric": "accuracy"}, "training.metric=accuracy: .* the nearest is subset_accuracy"),
        ({"model.head.one_logit": True}, "model.head.one_logit: .* choose one_logit=false"),
    ],
)
def test_invalid_multi_label_settings_are_refused_before_training(settings, message, file, store):
    run = store.create(compose("ndt-01-n2", {"data.name": str(file), **SETTINGS, **settings}), "ndt-01-n2").run
    check_raises(ConfigError, message, execute, store, run)
    assert store.read(run).status == "failed"


def test_a_run_and_a_sentence_show_several_labels(trained_several):
    row, *_ = api.tabulate_scores(api.summarize_run(trained_several.read("several")))
    assert " | ".join(row) == (
        "split | F1 macro, tuned | 95 % | TF-IDF, tuned | at 0.5 | TF-IDF at 0.5 | F1 micro at 0.5 | AUPR"
    )
    run = Run("several", trained_several)
    page, tuned = run._repr_html_(), run.record.results["tuned"]["metrics"]["test"]["f1_macro"]
    assert f"<td>test</td><td>{tuned:.3f}</td>" in page and "F1 macro, tuned" in page
    said = run.sentence("word1 warm late word2")
    assert said.prediction == api.inspect("several", "word1 warm late word2", store=trained_several)["prediction"]
    own = said.prediction["labels_tuned"]
    assert own and all(f"{label} {said.prediction['probabilities'][label]:.3f}" in repr(said) for label in own)


def test_a_terminal_shows_each_label_at_both_thresholds_and_counterfactuals_of_one(say, file):
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
    shown = say("flip", "several", "word1 late warm", target="late")
    assert shown[0].startswith("late 0.") and shown[1].startswith("word1 [-late-]") and shown[1].endswith(" warm")
    assert shown[2].startswith("warm 0.") and shown[3].startswith("proven: ")
    shown = say("distance", "several", "word1 [not] {} late", target="late", insert="so")
    assert "P(late) by words between, then without the negation" in shown
    assert [line.split()[0] for line in shown[-2:]] == ["0", "1"]
