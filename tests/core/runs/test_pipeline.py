import io
import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
import torch
from pairs import pair_folder
from rich.console import Console
from stopping import rows_without_time
from tiny_runs import TINY
from waiting import cancel_at, until

from core.api import training
from core.api.printing import TrainingProgress
from core.api.training import train
from core.config import compose
from core.data.load import load_dataset
from core.data.sources import suggest_settings
from core.evaluation.baseline import YARDSTICKS, fit_baseline, predict_split
from core.evaluation.inference import predict_texts
from core.evaluation.metrics import evaluate
from core.exceptions import ConfigError, DataError, NotAvailable
from core.recipes import RECIPES
from core.runs import training_jobs
from core.runs.archive import export_file, import_run
from core.runs.configuration import configure
from core.runs.lineage import encode_texts
from core.runs.load import load_run
from core.runs.predictions import read_predictions
from core.runs.record import CANCEL, CHECKPOINT, EVALUATION, HISTORY, MASKED, PREDICTIONS, TOKENIZER, WEIGHTS
from core.runs.store import RunStore, get_machine_id
from core.runs.sweep import Plan, list_members
from core.runs.training_jobs import execute
from core.text.text_pairs import join_pair, split_pair
from core.training import temperature, training_stage
from core.training.history import read_history

SMALL = {**TINY, "model.ngram_buckets": 50, "training.epochs": 1, "data.limit": 60}
COMMON = {"training.patience": 0, "training.lr": 0.003, "training.threads": 1, "model.dropout": 0}
LEARNS = {**COMMON, "model.width": 32, "training.epochs": 14, "training.lr": 0.006, "training.batch_size": 32}
PAIRED = {**COMMON, "model.width": 8, "model.ff_width": 8, "training.epochs": 1}


def weights(store, run):
    return (store.get_path(run) / WEIGHTS).read_bytes()


@pytest.mark.slow
def test_a_run_goes_from_a_file_to_its_results(whole):
    store, run, told = whole
    record, loaded = store.read(run), load_run(store, run)
    assert record.status == "done" and record.classes == ("negative", "positive")
    assert record.vocabulary == loaded.tokenizer.size and record.max_length == 16
    assert record.parameters == sum(p.numel() for p in loaded.model.parameters())
    assert (record.threads, record.device) == (1, "cpu")
    assert record.seconds > 0 and len(record.data_fingerprint) == 64 and record.data_notes
    assert record.versions["torch"] == torch.__version__
    planned = {"steps": 36, "epochs": 3, "rows": {"train": 96, "validation": 12}}
    assert record.progress == {**planned, "step": 36, "epoch": 3, "machine": get_machine_id()}
    first = [kind for kind in told if kind not in ("step", "epoch")]
    assert first == ["queued", "running", "data", "tokenizer", "training", "evaluation", "intervals", "yardstick"]
    assert {**planned, "step": 0}.items() <= told["training"].items(), "it is in the record before the first step"

    results = record.results
    assert results.keys() == {
        *("best_epoch", "steps", "metrics", "lambda", "intervals", "silhouette", "inference", "yardstick"),
        *("temperature", "interval_version"),
    }
    cooled = results["temperature"]
    assert (cooled["value"], cooled["rows"], record.temperature) == (1, 12, 1), "twelve rows are too few for one"
    assert results["metrics"].keys() == results["intervals"].keys() == results["silhouette"].keys()
    assert results["metrics"].keys() == {"validation", "test"} and [len(layer) for layer in results["lambda"]] == [2, 2]
    best = read_history(store.get_path(run) / HISTORY).select_kind("epoch")[results["best_epoch"]]
    assert results["metrics"]["validation"]["accuracy"] == best["validation"]["accuracy"]
    assert results["lambda"] == best["lambda"] and results["yardstick"]["model"] == "tfidf-logreg"
    assert json.loads((store.get_path(run) / "evaluation/test/metrics.json").read_text())["n"] == 12
    assert not (store.get_path(run) / CHECKPOINT).exists()

    assert not loaded.model.training and not any(parameter.requires_grad for parameter in loaded.model.parameters())
    table = pd.read_parquet(store.get_path(run) / "evaluation/test/predictions.parquet")
    said = predict_texts(loaded.model, loaded.tokenizer, table["text"].tolist())
    assert np.allclose(said.probabilities[:, 1], table["probability:positive"], atol=1e-6)
    assert np.allclose(said.pooled, np.load(store.get_path(run) / "evaluation/test/embeddings.npy"), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "balanced"])
def test_the_temperature_applies_to_all_predictions(store, tiny, monkeypatch, weights):
    """Files, metrics, a loaded run: all at the temperature that is best for its own validation logits.

    It moves them towards the class prior where that is what was taught of made-up texts.
    """
    monkeypatch.setattr(temperature, "LEAST", 12)
    run = store.create(tiny(**{"training.nonsense": 0.1, "training.class_weights": weights}), "ndt-01-n3").run
    record = execute(store, run)
    loaded, told = load_run(store, run), record.results["temperature"]
    held = load_dataset(record.config.data).splits["validation"]
    plain = predict_texts(loaded.model, loaded.tokenizer, held["text"].tolist())
    prior = ()
    if weights == "none":
        prior = temperature.compute_class_prior(load_dataset(record.config.data).get_targets("train"), 2)
    assert tuple(told.get("prior", {}).values()) == record.scaling.prior == prior
    best = temperature.fit_temperature(plain.logits, held["label"].to_numpy(), prior)
    assert record.temperature == told["value"] == pytest.approx(best, rel=1e-4) != 1 and told["rows"] == 12
    for split in ("validation", "test"):
        written = pd.read_parquet(store.get_path(run) / f"evaluation/{split}/predictions.parquet")
        said = loaded.predict(written["text"].tolist())
        np.testing.assert_allclose(written["probability:positive"], said.probabilities[:, 1], atol=1e-6)
        trained = torch.from_numpy(said.logits).softmax(1).numpy()
        # The classes are equally frequent, so towards their prior no answer changes.
        assert (said.probabilities.argmax(1) == trained.argmax(1)).all()
        labels = (written["label"] == "positive").to_numpy(int)
        before = evaluate(labels, trained)
        plainly = {name: before[name] for name in ("loss", "ece", "brier")}
        assert told["as_trained"][split] == pytest.approx(plainly, abs=1e-5)
        assert record.results["metrics"][split]["accuracy"] == before["accuracy"]
        assert record.results["metrics"][split] == pytest.approx(evaluate(labels, said.probabilities), abs=1e-5)
        kept = json.loads((store.get_path(run) / f"evaluation/{split}/metrics.json").read_text())["temperature"]
        assert kept == {"value": record.temperature, "as_trained": told["as_trained"][split]}
    view, (asked,) = loaded.inspect("a good film"), loaded.predict(["a good film"]).probabilities
    assert list(view.probabilities.values()) == pytest.approx(asked.tolist(), abs=1e-6)
    best_row = read_history(store.get_path(run) / HISTORY).select_kind("epoch")[record.results["best_epoch"]]
    assert best_row["validation"]["ece"] == pytest.approx(told["as_trained"]["validation"]["ece"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("preset", YARDSTICKS)
def test_a_baseline_run_equals_the_baseline_of_every_run(preset, store, tiny, table, tmp_path, monkeypatch):
    """Weights and temperature are identical, also with other text settings: us_airline is read as tweets."""
    monkeypatch.setattr(temperature, "LEAST", 12)
    folder = tmp_path / "data" / "us_airline"
    folder.mkdir(parents=True)
    rows = pd.read_csv(table)
    rows["text"] += [f" #Fly{each % 3}Now @you http://t.co/{each % 5}" for each in range(len(rows))]
    rows.to_csv(folder / "train.csv", index=False)
    monkeypatch.setenv("SENTISCOPE_DATA", str(folder.parent))
    assert suggest_settings("us_airline") == {"text.normaliser": "tweet"}
    config = configure("us_airline", preset)
    record = execute(store, store.create(config, preset, "own").run)
    dataset = load_dataset(config.data)
    found = fit_baseline(dataset, preset)
    assert record.results["metrics"] == found["splits"] and record.results["C"] == found["C"]
    assert record.temperature == found["temperature"] != 1
    written = pd.read_parquet(store.get_path("own") / "evaluation/test/predictions.parquet")
    said = predict_split(dataset.fingerprint, dataset.classes, "test", lambda: dataset, preset)
    np.testing.assert_array_equal(written[[f"probability:{name}" for name in dataset.classes]], said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "chosen"),
    [
        ("bilstm", {"best_epoch", "steps"}),
        ("cnn", {"best_epoch", "steps"}),
        ("tfidf-logreg", {"C"}),
        ("tfidf-nb", {"alpha"}),
        ("tfidf-svm", {"C", "scale"}),
        ("lexicon", {"feature", "neutral_share"}),
    ],
)
def test_baselines_are_ordinary_runs(store, tiny, tmp_path, preset, chosen):
    (tmp_path / "words.csv").write_text("word,polarity\ngood,1\nbad,-1\n")
    needs = {
        "lexicon": {"text.lexicon": str(tmp_path / "words.csv")},
        "bilstm": {"model.ff_width": 16, "model.dropout": 0.0, "training.epochs": 12, "training.lr": 0.02},
    }
    run = store.create(tiny(preset, **needs.get(preset, {})), preset).run
    record = execute(store, run)
    results = record.results
    assert record.status == "done"
    common = {"metrics", "intervals", "interval_version", "silhouette", "inference", "yardstick", "temperature"}
    assert results.keys() == common | chosen
    least = 0.75 if preset == "bilstm" else 0.9  # 96 texts are few for a state that has to pass all other words
    assert results["metrics"]["test"]["accuracy"] >= least
    loaded = load_run(store, run)
    assert record.parameters == sum(p.numel() for p in loaded.model.state_dict().values()) - (
        record.vocabulary if preset.startswith("tfidf") else 0  # idf is no parameter
    )
    assert predict_texts(loaded.model, loaded.tokenizer, ["good", "bad"]).probabilities.argmax(1).tolist() == [1, 0]
    written = pd.read_parquet(store.get_path(run) / "evaluation/test/predictions.parquet")
    again = predict_texts(loaded.model, loaded.tokenizer, written["text"].tolist()).probabilities
    assert np.allclose(again[:, 1], written["probability:positive"], atol=1e-6)
    assert {TOKENIZER, WEIGHTS} <= {path.name for path in store.get_path(run).iterdir()}
    if preset == "tfidf-logreg":
        assert set(safetensors.torch.load_file(store.get_path(run) / WEIGHTS)) == {"idf", "weight", "bias"}


@pytest.mark.slow
def test_a_cancelled_run_resumes_identically(store, tiny, whole, monkeypatch):
    monkeypatch.setattr(training_stage, "CHECKPOINT_SECONDS", 0.0)
    cut, seen = store.create(tiny(), "ndt-01-n3", "cut").run, []

    def cancel(event):
        seen.append(store.read(cut).progress.get("step"))
        if event["kind"] == "step" and event["step"] == 17:
            (store.get_path(cut) / CANCEL).touch()

    record = execute(store, cut, on_event=cancel)
    assert record.status == "cancelled" and record.progress["step"] == 17 and "continues it" in record.reason
    assert load_run(store, cut).record.status == "cancelled"  # the best weights so far can be looked at
    assert {0, 5, 12} <= set(seen), "checkpoints within an epoch tell the record how far it is"
    torch.rand(7)
    assert execute(store, cut).status == "done"
    there, other, _ = whole
    assert weights(store, cut) == weights(there, other)
    assert rows_without_time(store.get_path(cut) / HISTORY) == rows_without_time(there.get_path(other) / HISTORY)
    same = ("metrics", "lambda", "intervals", "silhouette", "best_epoch")
    first, second = there.read(other).results, store.read(cut).results
    assert {key: first[key] for key in same} == {key: second[key] for key in same}


@pytest.mark.slow
def test_runs_restart_without_checkpoint_and_resume_without_data_files(store, tiny, tmp_path, table, monkeypatch):
    words = tmp_path / "words.csv"
    words.write_text("word,polarity\ngood,1\nbad,-1\n")
    run = store.create(tiny("vanilla", **{"text.lexicon": str(words), "model.attention.lexical": "add"}), "vanilla").run
    record = execute(
        store, run, on_event=lambda event: event.get("step") == 9 and training_jobs.cancel(store, run, keep=False)
    )
    assert "starts it again" in record.reason
    assert not (store.get_path(run) / CHECKPOINT).exists() and not store.is_cancel_requested(run)
    assert execute(store, run, on_event=cancel_at(store, run, 17)).status == "cancelled"
    rows = table.read_text()
    table.write_text(rows.replace("word1 ", "word2 "))
    with pytest.raises(DataError, match=r"reviews\.csv: the data are no longer those.*start a new run"):
        execute(store, run)
    assert store.read(run).status == "failed"
    table.write_text(rows)
    words.unlink()

    def refuse(dataset):
        raise NotAvailable("no yardstick for these data")

    monkeypatch.setattr("core.runs.pipeline.fit_baseline", refuse)
    history = store.get_path(run) / HISTORY
    history.write_bytes(history.read_bytes()[:-30] + b"\n\xff\x00 junk\n{")
    record = execute(store, run)
    assert record.status == "done" and record.results["yardstick"] == {"left_out": "no yardstick for these data"}
    found = read_history(history)
    assert found.skipped == 0, "what was spoilt of the history is left out"
    assert [row["step"] for row in found.select_kind("step")] == [*range(17), *range(18, 37)]


@pytest.mark.slow
def test_a_killed_training_is_failed_and_resumes_identically(store, tiny):
    long = tiny(**{"training.epochs": 20})
    cut = training_jobs.submit(store, long, "ndt-01-n3", "cut").run
    history = store.get_path(cut) / HISTORY
    until(lambda: store.read(cut).status == "running" and len(read_history(history).rows) > 20)
    os.kill(store.read(cut).process.pid, signal.SIGKILL)
    until(lambda: store.read(cut).status == "failed")
    assert "`sentiscope train --resume cut` continues it" in store.read(cut).reason
    assert (store.get_path(cut) / CHECKPOINT).is_dir()
    assert [changed.run for changed in training_jobs.recover_runs(store)] == ["cut"]
    training_jobs.start(store, cut)
    whole = store.create(long, "ndt-01-n3", "whole").run
    execute(store, whole)
    until(lambda: store.read(cut).status == "done")
    assert weights(store, cut) == weights(store, whole)
    assert rows_without_time(history) == rows_without_time(store.get_path(whole) / HISTORY)


@pytest.mark.slow
def test_pretraining_with_masked_words_resumes(store, tiny):
    config = tiny("vanilla", **{"training.masked_epochs": 2, "training.epochs": 1})
    whole, cut = (store.create(config, "vanilla").run for _ in "ab")
    told = []
    record = execute(store, whole, on_event=lambda event: told.append(event["kind"]))
    assert told.index("masked words") < told.index("training")
    assert record.results["masked"].keys() == {"loss", "epochs", "seconds"}
    assert 0 < record.results["masked"]["seconds"] < record.seconds and "stage" not in record.progress
    assert record.progress["step"] == 12, "steps of the labels"
    assert [row["epoch"] for row in read_history(store.get_path(whole) / MASKED).select_kind("epoch")] == [0, 1]
    stopped = execute(store, cut, on_event=cancel_at(store, cut, 17))
    assert stopped.status == "cancelled" and stopped.progress["stage"] == "masked"
    assert (stopped.progress["step"], stopped.progress["steps"], stopped.progress["epochs"]) == (17, 24, 2)
    assert execute(store, cut).status == "done" and weights(store, cut) == weights(store, whole)


@pytest.mark.slow
def test_a_recipe_run_reads_letters_of_unknown_words(store, table, monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    done = train(str(table), "vanilla", {**SMALL, "training.teacher": ""}, recipe="strong", name="mine", store=store)
    record = store.read("mine")
    assert (done["recipe"], record.recipe, record.left_out) == ("strong", "strong", {})
    assert record.config.training.vectors == "ppmi" and record.config.model.ngram_buckets == 50
    run = load_run(store, "mine")
    assert record.parameters == sum(each.numel() for each in run.model.parameters())
    first, second = run.predict(["good zzzzqq", "good xxyyww"]).logits  # one to a model that knows <unk> alone
    assert abs(first - second).max() > 1e-6
    keys = encode_texts(run.tokenizer, ["good zzzzqq", "good xxyyww", "GOOD  zzzzqq"]).keys
    assert keys[0] != keys[1] and keys[0] == keys[2]


def test_a_sweep_has_a_recipe_for_every_preset():
    found = list_members(Plan("study", ("vanilla", "tweet-v1-p1", "tfidf-logreg"), recipe="strong"))
    assert [each.config.model.ngram_buckets for each in found] == [20_000, 0, 0]
    assert [len(each.recipe.left_out) for each in found] == [0, 1, len(RECIPES["strong"].settings)]
    assert Plan("study").recipe == ""


def test_settings_left_out_of_a_recipe_are_recorded(store, table, monkeypatch):
    monkeypatch.setattr(training, "resume", lambda run, **how: how["on_event"])
    told = []
    training.train(str(table), "tweet-v1-p1", recipe="strong", name="mine", store=store, on_event=told.append)
    left_out = store.read("mine").left_out
    assert list(left_out) == ["model.ngram_buckets"]
    assert told == [{"kind": "recipe", "recipe": "strong", "left_out": left_out}]
    shown = Console(file=io.StringIO(), width=40)
    TrainingProgress(shown).print_event(told[0])
    assert shown.file.getvalue().startswith("recipe strong, without model.ngram_buckets: model.ngram_buckets=20000:")


def trained(store, folder, preset, name, **settings):
    return execute(store, store.create(compose(preset, {**settings, "data.name": str(folder)}), preset, name).run)


@pytest.mark.slow
def test_similarity_of_text_pairs_is_learned(store, tmp_path):
    folder = pair_folder(tmp_path / "alike", 600, 60)
    assert trained(store, folder, "vanilla", "both", **LEARNS).results["metrics"]["test"]["accuracy"] > 0.95
    assert load_run(store, "both").tokenizer.pairs
    with pytest.raises(ConfigError, match=r"training\.joined: .*each row has two"):
        trained(store, folder, "vanilla", "joined", **PAIRED, **{"training.joined": 0.1, "data.limit": 100})
    with pytest.raises(ConfigError, match=r"training\.passages: .*each row has two"):
        trained(store, folder, "vanilla", "passages", **PAIRED, **{"training.passages": 8, "data.limit": 100})


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["vanilla", "tfidf-logreg"])
def test_an_imported_pair_run_gives_the_same_predictions(store, tmp_path, preset):
    settings = PAIRED if preset == "vanilla" else {}
    record = trained(store, pair_folder(tmp_path / "alike", 120, 40), preset, "both", **settings)
    assert record.status == "done", record.reason
    other = RunStore(tmp_path / "elsewhere")
    export_file(store, "both", tmp_path / "both.zip")
    import_run(other, tmp_path / "both.zip")
    texts = [join_pair("the film was good", "the meal was bad"), join_pair("x ‖ y", ""), "a single text"]
    np.testing.assert_array_equal(*[load_run(each, "both").predict(texts).probabilities for each in (store, other)])
    kept = read_predictions(store.get_path("both") / EVALUATION / "test" / PREDICTIONS)
    assert all(split_pair(text) for text in kept["text"])
    assert 0.3 < record.results["yardstick"]["splits"]["test"]["accuracy"] <= 1
