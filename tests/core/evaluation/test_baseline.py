import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from core.data.dataset import Dataset
from core.evaluation import baseline as module
from core.evaluation.baseline import fit_baseline, load_baseline, predict_split
from core.evaluation.metrics import evaluate
from core.metrics import METRICS


def frame(rows: int, seed: int, **columns) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, rows)
    texts = [f"{'good' if label else 'bad'} {draw.choice(['film', 'book', 'day'])}" for label in labels]
    return pd.DataFrame({"text": texts, "label": labels, **columns})


def dataset(**changes) -> Dataset:
    hard = frame(20, 3, phenomenon="negation")
    hard["label"] = 1 - hard["label"]
    splits = {
        "train": frame(60, 0),
        "validation": frame(20, 1),
        "test": pd.concat([frame(60, 2, phenomenon="plain"), hard], ignore_index=True),
        "challenge": frame(10, 4),
    }
    return Dataset(**{"name": "toy", "splits": splits, "classes": ("bad", "good"), "fingerprint": "f", **changes})


def fail_to_load() -> Dataset:
    pytest.fail("the baseline is cached")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_baselines_measure_all_splits_except_train_and_test_phenomena():
    result = fit_baseline(dataset())
    assert result["model"] == "tfidf-logreg" and result["C"] == 0.25
    assert set(result["splits"]) == {"validation", "test", "challenge"}
    assert result["splits"]["validation"]["accuracy"] == 1 and result["splits"]["test"]["accuracy"] == 60 / 80
    assert result["splits"]["test"]["f1_macro"] > 0.5 and result["phenomena"] == {"negation": 0, "plain": 1}
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    result = fit_baseline(dataset(splits={"train": frame(60, 0), "test": frame(20, 1)}, fingerprint="g"))
    assert (result["phenomena"], set(result["splits"])) == ({}, {"test"})


@pytest.mark.slow
@pytest.mark.parametrize("model", module.YARDSTICKS)
def test_new_texts_get_the_same_predictions_as_split_texts(model):
    known = fit_baseline(dataset(), model)
    texts = dataset().splits["test"]["text"].tolist()
    said = predict_split("f", ("bad", "good"), "test", fail_to_load, model)
    assert evaluate(dataset().get_targets("test"), said) == pytest.approx(known["splits"]["test"], abs=1e-6)
    answers = load_baseline("f", ("bad", "good"), fail_to_load, model).predict([*texts, "unseen words", ""])
    assert answers.shape == (82, 2) and answers.dtype == np.float32
    np.testing.assert_array_equal(answers[:80], said)
    assert answers.sum(1) == pytest.approx(np.ones(82))


def test_baselines_are_fitted_if_not_cached_also_without_writable_cache(cache, tmp_path, monkeypatch, capsys):
    assert load_baseline("f", ("bad", "good"), dataset).predict(["good", "bad"]).argmax(1).tolist() == [1, 0]
    assert len(list(cache.glob("*.npz"))) == len(module.YARDSTICKS)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "file" / "inside"))
    assert fit_baseline(dataset())["splits"]["test"]["accuracy"] == 60 / 80
    assert "the yardstick is not kept" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("content", [None, b"PK"])
def test_missing_cached_predictions_are_recomputed(content, cache):
    fit_baseline(dataset(), module.WORDS)
    (path,) = cache.glob("*.npz")
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    assert predict_split("f", ("bad", "good"), "challenge", dataset, module.WORDS).shape == (10, 2)
    assert len(path.read_bytes()) == len(whole)


@pytest.mark.slow
def test_baselines_are_cached_by_data_set_and_model(cache, monkeypatch):
    every = [(dataset(), model) for model in module.YARDSTICKS]
    every += [(dataset(**change), module.WORDS) for change in ({"fingerprint": "g"}, {"classes": ("neg", "pos")})]
    first = [fit_baseline(*each) for each in every]
    assert [each["model"] for each in first][:2] == ["tfidf-logreg", "tfidf-logreg-chars"]
    assert len(list(cache.glob("*.json"))) == 4
    monkeypatch.setattr(module, "fit_linear", None)
    assert [fit_baseline(*each) for each in every] == first


@pytest.mark.parametrize(("better", "model"), [({}, module.WORDS), ({"accuracy": 0.1}, module.CHARACTERS)])
def test_the_default_is_the_baseline_with_the_better_validation(better, model, monkeypatch):
    known = {name: {**fit_baseline(dataset(), name)} for name in module.YARDSTICKS}
    known[module.WORDS]["splits"] = {**known[module.WORDS]["splits"], "validation": better or {"accuracy": 1.0}}
    read = module.json_store.read
    monkeypatch.setattr(module.json_store, "read", lambda path, kind: known[read(path, kind)["model"]])
    assert fit_baseline(dataset())["model"] == model
    given = "f", ("bad", "good"), "test", fail_to_load
    np.testing.assert_array_equal(predict_split(*given), predict_split(*given, model))


@pytest.mark.slow
def test_new_metrics_invalidate_cached_baselines(monkeypatch):
    fit_baseline(dataset())
    monkeypatch.setitem(METRICS, "later", dataclasses.replace(METRICS["accuracy"], name="later"))
    assert fit_baseline(dataset())["splits"]["test"]["later"] == 60 / 80


@pytest.mark.slow
@pytest.mark.parametrize("content", ["{}", "\x00"])
def test_damaged_baseline_caches_are_replaced(content, cache):
    first = fit_baseline(dataset(), module.WORDS)
    (path,) = cache.glob("*.json")
    path.write_text(content)
    again = fit_baseline(dataset(), module.WORDS)
    assert again["splits"] == first["splits"] and json.loads(path.read_text()) == again


@pytest.mark.slow
def test_multi_label_baselines_have_metrics_at_half_and_tuned_thresholds():
    splits = {name: rows.assign(label=[(each,) for each in rows["label"]]) for name, rows in dataset().splits.items()}
    result = fit_baseline(dataset(splits=splits, task="multi"))
    assert set(result["tuned"]["thresholds"]) == {"bad", "good"}
    assert set(result["tuned"]["splits"]) == {"validation", "test", "challenge"}
    assert result["splits"]["validation"]["f1_macro"] == 1
    answers = load_baseline("f", ("bad", "good"), fail_to_load).predict(dataset().splits["test"]["text"].tolist())
    np.testing.assert_array_equal(answers, predict_split("f", ("bad", "good"), "test", fail_to_load))
