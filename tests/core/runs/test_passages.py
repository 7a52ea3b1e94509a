"""Runs that read long texts in passages: training, evaluation, single predictions, refusals."""

import numpy as np
import pandas as pd
import pytest
import safetensors.torch
from tiny_runs import TINY

from core import api
from core.exceptions import InputError, NotAvailable
from core.runs.load import load_run
from core.runs.record import WEIGHTS
from core.training import training_stage

pytestmark = pytest.mark.slow
LONG = "word1 word2 word20 word3 " * 6
PASSAGES = {**TINY, "training.passages": 8, "text.max_length": 40, "training.masked_epochs": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """120 texts of 3 to 30 words, each label with words of its own."""
    random, rows = np.random.default_rng(0), ["text,label"]
    for number in range(120):
        words = random.choice(20, random.integers(3, 31)) + 10 * (number % 2)
        rows.append(f"{' '.join(f'word{each}' for each in words)},{('bad', 'good')[number % 2]}")
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def trained(data, train_once):
    return train_once(data, "ndt-01-n2", "long", **PASSAGES)


def test_a_run_repeats_to_the_bit_and_portions_change_only_rounding(data, trained, train_once, monkeypatch):
    def read(store):
        return safetensors.torch.load_file(store.get_path("long") / WEIGHTS)

    first = read(trained)
    again = read(train_once(data, "ndt-01-n2", "long", **PASSAGES))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert first["passages.query"].abs().max() > 0, "passages learned their weights"
    still = {**PASSAGES, "model.dropout": 0.0, "training.epochs": 1, "training.masked_epochs": 0}
    whole = read(train_once(data, "vanilla", "long", **still))
    monkeypatch.setattr(training_stage, "PORTION", 50)
    for name, each in read(train_once(data, "vanilla", "long", **still)).items():
        np.testing.assert_allclose(each, whole[name], atol=1e-4)


def test_prediction_evaluation_and_page_read_passages_without_being_told(trained):
    loaded, path = load_run(trained, "long"), trained.get_path("long") / "evaluation/test/predictions.parquet"
    kept = pd.read_parquet(path)
    found = loaded.predict(kept["text"].tolist())
    np.testing.assert_allclose(found.probabilities, kept.filter(like="probability:"), atol=1e-6)
    loaded.model.passages.most, read = 1000, found.probabilities
    assert np.abs(loaded.predict(kept["text"].tolist()).probabilities - read).max() > 1e-4, "read as a whole"
    loaded = load_run(trained, "long")
    whole, view = loaded.predict([LONG]), loaded.inspect(LONG)
    np.testing.assert_allclose(list(view.probabilities.values()), whole.probabilities[0], atol=1e-6)
    assert view.too_long and len(view.layers[0].head_outputs[0]) == 24
    parts = loaded.predict_by_passage([LONG], 0)
    assert " ".join(parts.cut[0]) == LONG.strip() and [len(each.split()) for each in parts.cut[0]] == [8, 8, 8]
    np.testing.assert_allclose(parts.weights @ parts.each.logits, whole.logits[0], atol=1e-6)
    for place, passage in enumerate(parts.cut[0]):
        np.testing.assert_allclose(parts.each.logits[place], loaded.predict([passage]).logits[0], atol=1e-6)


def test_the_effect_of_a_passage_is_the_log_odds_lost_without_it(trained):
    loaded = load_run(trained, "long")
    parts, scaling = loaded.predict_by_passage([LONG], 0), loaded.record.scaling
    rest = np.delete(parts.weights, 1) @ np.delete(parts.each.logits, 1, 0) / np.delete(parts.weights, 1).sum()
    whole = parts.weights @ parts.each.logits
    lost = [(z[whole.argmax()] - z[whole.argmin()]) / scaling.temperature for z in (whole, rest)]
    np.testing.assert_allclose(parts.measure_effects("single", scaling)[1], lost[0] - lost[1], atol=1e-5)


def test_passages_of_words_and_steps_of_a_long_text_are_refused(trained):
    with pytest.raises(InputError, match="passages of 8 tokens by itself"):
        api.predict("long", [LONG], passage=5, store=trained)
    with pytest.raises(NotAvailable, match="short enough"):
        load_run(trained, "long").predict_by_passage(["word1"], 0)
