"""A threshold at a cost ratio is chosen on validation and priced where a run is evaluated."""

import shutil

import numpy as np
import pandas as pd
import pytest

from core.evaluation.costs import cheapest
from core.exceptions import InputError
from core.runs.costs import costs, lines
from core.runs.store import RunStore


@pytest.fixture
def store(finished):
    return RunStore(finished)


def saved(store, split):
    frame = pd.read_parquet(store.path("mine") / "evaluation" / split / "predictions.parquet")
    return (frame["label"] == "positive").to_numpy(), frame["probability:positive"].to_numpy()


def test_the_threshold_is_the_cheapest_on_validation(store):
    found = lines(store, store.read("mine"), {"positive": 4})["positive"]
    assert found.threshold == cheapest(*saved(store, "validation"), 4)
    assert found.validation["n"] == len(saved(store, "validation")[0])


def test_it_is_priced_on_the_rows_that_are_evaluated(store):
    record = store.read("mine")
    chosen = lines(store, record, {"positive": 4, "negative": 1})
    labels = np.array([0, 1, 1])
    probabilities = np.array([[0.5, 0.5], [1, 0], [0, 1.0]])
    if record.classes != ("negative", "positive"):
        probabilities, labels = probabilities[:, ::-1], 1 - labels
    found = costs(record, chosen, labels, probabilities)
    assert list(found) == ["positive", "negative"] and found["positive"]["false_negatives"] == 1
    assert found["positive"]["cost"] == (4 + found["positive"]["false_positives"]) / 3
    assert found["positive"]["validation"] == chosen["positive"].validation


def test_what_cannot_be_priced_is_refused_in_words(store):
    record = store.read("mine")
    with pytest.raises(InputError, match="--cost joy: no class of run 'mine'"):
        lines(store, record, {"joy": 2})
    with pytest.raises(InputError, match="a cost ratio of 0: a number above 0"):
        lines(store, record, {"positive": 0})


def test_without_predictions_of_validation_no_threshold_is_chosen(store, tmp_path):
    shutil.copytree(store.path("mine"), tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine" / "evaluation" / "validation")
    copied = RunStore(tmp_path)
    with pytest.raises(InputError, match="has no predictions of validation"):
        lines(copied, copied.read("mine"), {"positive": 2})
