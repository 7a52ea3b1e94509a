"""How many texts of unknown words are answered with the class prior: counted by hand, and of a run that says it."""

import dataclasses

import numpy as np
import pytest

from core.runs.load import load_run
from core.runs.report import DOUBT_SEED, MADE_UP, doubt
from core.runs.store import RunStore
from core.settings import LARGEST_SEED
from core.text.nonsense import nonsense
from core.training.config import TrainingConfig

LETTERS = ["a good film"]
WHY = "its data are gone"


@pytest.fixture(scope="module")
def loaded(finished):
    return load_run(RunStore(finished), "mine")


def at(loaded, temperature, prior, **training):
    told = {"value": temperature, "rows": 500, **({"prior": prior} if prior else {})}
    config = dataclasses.replace(
        loaded.record.config, training=dataclasses.replace(loaded.record.config.training, **training)
    )
    record = dataclasses.replace(loaded.record, results={"temperature": told}, config=config)
    return dataclasses.replace(loaded, record=record)


@pytest.mark.slow
def test_it_is_the_share_of_made_up_texts_whose_probabilities_are_all_near(loaded):
    prior = {"negative": 0.6, "positive": 0.4}
    own = at(loaded, 1.0, prior)
    texts = [text for text in nonsense(LETTERS, MADE_UP, DOUBT_SEED) if loaded.tokenizer.unknown_share(text) == 1]
    said = loaded.predict(texts).logits.astype(float)
    p = 1 / (1 + np.exp(said[:, 0] - said[:, 1]))
    found = doubt(own, LETTERS, WHY)
    assert (found["rows"], found["prior"]) == (len(texts), prior) and 400 < len(texts) <= MADE_UP
    assert found["near"] == pytest.approx((np.abs(p - 0.4) <= 0.10).mean(), abs=1e-9)


@pytest.mark.slow
def test_who_is_moved_all_the_way_to_the_prior_says_nothing_else(loaded):
    found = doubt(at(loaded, 1e6, {"negative": 0.9, "positive": 0.1}), LETTERS, WHY)
    assert found["near"] == 1
    said = f"Of {found['rows']} texts of made-up words 100 % are answered within 0.10 of the class prior "
    assert found["note"] == said + "(negative 0.90, positive 0.10)."


@pytest.mark.slow
def test_without_a_prior_in_the_record_it_is_that_of_the_data_or_of_classes_that_weigh_the_same(loaded):
    assert doubt(at(loaded, 2.0, None), LETTERS, WHY) == {"left_out": WHY, "note": ""}
    alike = doubt(at(loaded, 1e6, None, class_weights="balanced"), LETTERS, WHY)
    assert (alike["prior"], alike["near"]) == ({"negative": 0.5, "positive": 0.5}, 1)


def test_no_training_makes_up_the_same_texts():
    TrainingConfig(seed=LARGEST_SEED)
    with pytest.raises(Exception, match="seed"):
        TrainingConfig(seed=DOUBT_SEED)
