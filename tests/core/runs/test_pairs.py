"""Runs on pairs: what needs both texts is learned, from the file to the run that was given away and taken in again."""

import numpy as np
import pytest
from pairs import pair_folder

from core.config import compose
from core.exceptions import ConfigError
from core.runs.archive import export_file, import_run
from core.runs.load import load_run
from core.runs.predictions import read_predictions
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.store import RunStore
from core.runs.training_jobs import execute
from core.text.text_pairs import join_pair, split_pair

COMMON = {"training.patience": 0, "training.lr": 0.003, "training.threads": 1, "model.dropout": 0}
LEARNS = {**COMMON, "model.width": 32, "training.epochs": 14, "training.lr": 0.006, "training.batch_size": 32}
TINY = {**COMMON, "model.width": 8, "model.ff_width": 8, "training.epochs": 1}


def trained(store, folder, preset, name, **settings):
    config = compose(preset, {**settings, "data.name": str(folder)})
    return execute(store, store.create(config, preset, name).run)


@pytest.mark.slow
def test_similarity_of_text_pairs_is_learned(store, tmp_path):
    folder = pair_folder(tmp_path / "alike", 600, 60)
    record = trained(store, folder, "vanilla", "both", **LEARNS)
    assert record.results["metrics"]["test"]["accuracy"] > 0.95
    assert load_run(store, "both").tokenizer.pairs
    with pytest.raises(ConfigError, match=r"training\.joined: .*each row has two"):
        trained(store, folder, "vanilla", "joined", **TINY, **{"training.joined": 0.1, "data.limit": 100})


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["vanilla", "tfidf-logreg"])
def test_an_imported_pair_run_gives_the_same_predictions(store, tmp_path, preset):
    settings = TINY if preset == "vanilla" else {}
    record = trained(store, pair_folder(tmp_path / "alike", 120, 40), preset, "both", **settings)
    assert record.status == "done", record.reason
    other = RunStore(tmp_path / "elsewhere")
    export_file(store, "both", tmp_path / "both.zip")
    import_run(other, tmp_path / "both.zip")
    texts = [join_pair("the film was good", "the meal was bad"), join_pair("x ‖ y", ""), "a single text"]
    said = [load_run(each, "both").predict(texts).probabilities for each in (store, other)]
    np.testing.assert_array_equal(*said)
    kept = read_predictions(store.get_path("both") / EVALUATION / "test" / PREDICTIONS)
    assert all(split_pair(text) for text in kept["text"])
    yardstick = record.results["yardstick"]["splits"]["test"]
    assert 0.3 < yardstick["accuracy"] <= 1
