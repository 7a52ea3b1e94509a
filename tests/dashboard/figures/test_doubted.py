"""Doubtful labels as a table: how many, which first, and why there are none yet."""

from __future__ import annotations

import json

import numpy as np
import pytest
from answering import answering, texts

from core.exceptions import NotAvailable
from core.failures import doubted as kept
from core.runs.store import RunStore
from dashboard.figures.data_quality import DOUBTED, conflicts_table
from dashboard.figures.source import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader

ROWS = [
    {"split": "train", "row": 3, "key": "a", "text": "=one", "likely": True, "truth": "bad", "likelier": "good"}
    | {"p_truth": 0.1, "p_likelier": 0.9, "margin": -0.8},
    {"split": "test", "row": 1, "key": "b", "text": "two", "likely": False, "truth": "good", "likelier": "bad"}
    | {"p_truth": 0.4, "p_likelier": 0.6, "margin": -0.2},
]
FOUND = {
    "rows": ROWS,
    "likely": {"train": 1, "test": 0},
    "n": {"train": 1200, "test": 40},
    "left_out": "",
    "conflicts": [{"text": "both", "labels": {"bad": 2, "good": 1}, "rows": []}],
}


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    store = RunStore(tmp_path / "runs")
    answering(store, "one", np.full((4, 2), 0.5), texts([0, 1, 0, 1]))
    return Source(store.read("one"), Reader(store))


def test_before_anybody_has_looked_it_says_how(source):
    with pytest.raises(NotAvailable, match="sentiscope errors one --label-errors"):
        DOUBTED.shape(source)


def test_what_is_kept_is_shown_the_most_doubtful_first(source, tmp_path):
    here = kept.files(RunStore(tmp_path / "runs"), source.record, "test")
    here.folder.mkdir(parents=True)
    here.path("json").write_text(json.dumps(FOUND))
    shown = DOUBTED.shape(source)
    assert shown.said == "1 of 1\u202f200 in train, 0 of 40 in test"
    rows = DOUBTED.draw(shown, Look()).rows
    assert rows["text"].tolist() == ["=one", "two"] and rows["likely"].tolist() == ["yes", ""]
    assert conflicts_table(shown)["labels"].tolist() == ["bad 2, good 1"]
    assert DOUBTED.numbers(shown)["Label errors"]["margin"].tolist() == [-0.8, -0.2]


def test_a_file_of_nonsense_is_looked_for_again(source, tmp_path):
    here = kept.files(RunStore(tmp_path / "runs"), source.record, "test")
    here.folder.mkdir(parents=True)
    here.path("json").write_text("[1, 2")
    with pytest.raises(NotAvailable):
        DOUBTED.shape(source)
