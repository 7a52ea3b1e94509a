"""What was once measured on a data set, as tables."""

from __future__ import annotations

import pytest

from core.data.card import measured
from core.data.config import DataConfig
from core.data.load import load
from core.data.table import Dataset
from dashboard.figures.data import measured_phenomena, measured_table

KNOWN = {
    "models": {
        "tfidf-logreg": {"splits": {"test": {"accuracy": [0.5], "phenomena": {"plain": 0.9, "irony": 0.1}}}},
        "ndt": {
            "seeds": 2,
            "epochs": 10,
            "splits": {
                "test": {"accuracy": [0.7, 0.9], "unseen words": 0.8, "phenomena": {"irony": 1.0, "plain": 0.95}},
                "challenge": {"accuracy": [0.5, 0.6], "unseen words": None, "phenomena": {"irony": 0.5}},
            },
        },
    }
}


def test_each_model_has_its_mean_with_interval_and_the_range_of_its_seeds():
    table = measured_table(KNOWN, {"test": 100, "challenge": 20}).set_index("Model")
    assert table.loc["tfidf-logreg", "Test"] == "0.500 ± 0.096"  # Wilson's of 50 of 100
    assert table.loc["ndt", "Test"] == "0.800 (0.711 to 0.867)"  # of 80 of 100
    assert table.loc["ndt", "Test, seeds"] == "0.700 to 0.900"
    assert table.loc["ndt", "Unseen words"] == "0.800"
    assert list(table.loc["tfidf-logreg", ["Test, seeds", "Challenge", "Unseen words"]]) == ["", "", ""]


def test_what_the_yardstick_gets_wrong_stands_first():
    table = measured_phenomena(KNOWN)
    assert table.to_dict("list") == {
        "phenomenon": ["irony", "plain"],
        "tfidf-logreg": [0.1, 0.9],
        "ndt": [1.0, 0.95],
    }


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """The built-in corpus."""
    return load(DataConfig())


@pytest.mark.slow
@pytest.mark.parametrize("split", ["test", "challenge", "everyday"])
def test_the_figures_that_the_program_carries_fit_the_corpus_as_it_is(dataset, split):
    """Its phenomena are those of the card; a corpus that changed would not be found by its fingerprint."""
    known = measured(dataset.fingerprint)
    assert known is not None
    assert set(measured_phenomena(known, split)["phenomenon"]) == set(dataset.splits[split]["phenomenon"])
    shown = measured_table(known, {name: len(rows) for name, rows in dataset.splits.items()})
    assert shown[split.capitalize()].str.match(r"^0\.\d{3} (±|\()").all()
