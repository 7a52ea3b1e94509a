"""The yardstick: measured once, kept, and never in the way."""

import json
import logging

import numpy as np
import pandas as pd
import pytest

from core.data.table import Dataset
from core.evaluation import yardstick as module
from core.evaluation.yardstick import yardstick
from core.exceptions import NotAvailable


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


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_split_but_train_is_measured_and_test_also_by_phenomenon():
    result = yardstick(dataset())
    assert result["model"] == "tfidf-logreg"
    assert result["C"] == 0.25
    assert set(result["splits"]) == {"validation", "test", "challenge"}
    assert result["splits"]["validation"]["accuracy"] == 1
    assert result["splits"]["test"]["accuracy"] == 60 / 80
    assert result["splits"]["test"]["f1_macro"] > 0.5
    assert result["phenomena"] == {"negation": 0, "plain": 1}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_data_without_phenomena_or_validation_has_a_yardstick_too():
    splits = {"train": frame(60, 0), "test": frame(20, 1)}
    result = yardstick(dataset(splits=splits))
    assert (result["phenomena"], set(result["splits"])) == ({}, {"test"})


def test_the_second_time_it_is_read(monkeypatch):
    first = yardstick(dataset())
    monkeypatch.setattr(module, "fit_linear", None)
    assert yardstick(dataset()) == first


@pytest.mark.parametrize("change", [{"fingerprint": "g"}, {"classes": ("neg", "pos")}])
def test_other_data_is_measured_anew(change, cache):
    yardstick(dataset())
    yardstick(dataset(**change))
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("content", ["{", "[]", "{}", "\x00"])
def test_a_damaged_file_is_replaced(content, cache):
    first = yardstick(dataset())
    (path,) = cache.iterdir()
    path.write_text(content)
    again = yardstick(dataset())
    assert again["splits"] == first["splits"]
    assert json.loads(path.read_text()) == again


def test_an_unwritable_cache_is_only_a_warning(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "file" / "inside"))
    with caplog.at_level(logging.WARNING):
        assert yardstick(dataset())["splits"]["test"]["accuracy"] == 60 / 80
    assert "the yardstick is not kept" in caplog.text


def test_several_labels_per_text_have_none():
    with pytest.raises(NotAvailable, match="one label per text"):
        yardstick(dataset(task="multi"))
