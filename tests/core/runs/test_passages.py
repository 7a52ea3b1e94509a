"""Runs that read long texts in passages: training, evaluation, single predictions, refusals."""

import numpy as np
import pandas as pd
import pytest
import torch
from refused import check_raises

from core import api
from core.exceptions import InputError, NotAvailable
from core.runs.load import load_run
from core.runs.store import RunStore
from core.training import training_stage

pytestmark = pytest.mark.slow
LONG = "word1 good word20 word3 " * 3
PASSAGES = {"training.passages": 4, "training.masked_epochs": 1}


@pytest.fixture(scope="module")
def trained(trained_on_reviews):
    return RunStore(trained_on_reviews("ndt-01-n2", "long", **PASSAGES).parent)


def test_a_run_repeats_to_the_bit_and_portions_change_only_rounding(trained, trained_on_reviews, monkeypatch):
    def train(preset, **more):
        return load_run(RunStore(trained_on_reviews(preset, "long", **PASSAGES, **more).parent), "long")

    first, again = (each.model.state_dict() for each in (load_run(trained, "long"), train("ndt-01-n2")))
    assert all(torch.equal(first[name], again[name]) for name in first) and first["passages.query"].abs().max() > 0
    whole, texts = train("vanilla", **{"model.dropout": 0.0}), [LONG, "good", ""]
    monkeypatch.setattr(training_stage, "PORTION", 25)
    portions = train("vanilla", **{"model.dropout": 0.0})
    np.testing.assert_allclose(portions.predict(texts).logits, whole.predict(texts).logits, atol=1e-3)


def test_prediction_evaluation_and_page_read_passages_whose_effect_is_the_log_odds_lost(trained):
    loaded, path = load_run(trained, "long"), trained.get_path("long") / "evaluation/test/predictions.parquet"
    kept = pd.read_parquet(path)
    np.testing.assert_allclose(
        loaded.predict(kept["text"].tolist()).probabilities, kept.filter(like="probability:"), atol=1e-6
    )
    whole, view, parts = loaded.predict([LONG]), loaded.inspect(LONG), loaded.predict_by_passage([LONG], 0)
    np.testing.assert_allclose(list(view.probabilities.values()), whole.probabilities[0], atol=1e-6)
    assert view.too_long and parts.cut == [[LONG[:23]] * 3]
    np.testing.assert_allclose(parts.weights @ parts.each.logits, whole.logits[0], atol=1e-6)
    np.testing.assert_allclose(parts.each.logits[1], loaded.predict([parts.cut[0][1]]).logits[0], atol=1e-6)
    loaded, text = load_run(trained, "long"), "word1 word2 good word3 word5 word6 bad word8 word25 word26"
    parts, scaling = loaded.predict_by_passage([text], 0), loaded.record.scaling
    rest = np.delete(parts.weights, 1) @ np.delete(parts.each.logits, 1, 0) / np.delete(parts.weights, 1).sum()
    whole = parts.weights @ parts.each.logits
    lost = [(z[whole.argmax()] - z[whole.argmin()]) / scaling.temperature for z in (whole, rest)]
    np.testing.assert_allclose(parts.measure_effects("single", scaling)[1], lost[0] - lost[1], atol=1e-5)
    check_raises(InputError, "passages of 4 tokens by itself", api.predict, "long", [LONG], passage=5, store=trained)
    check_raises(NotAvailable, "short enough", load_run(trained, "long").predict_by_passage, ["good"], 0)
