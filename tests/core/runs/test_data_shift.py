from pathlib import Path

import pytest

from core import api
from core.runs import lineage
from core.runs.store import RunStore

RUN = "starter-ndt-small"
STORE = RunStore(Path(__file__).parents[3] / "trained")


@pytest.mark.slow
def test_split_comparisons_are_cached(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    record = STORE.read(RUN)
    first = lineage.compare_run_split(record, "test")
    assert first is not None and first["n"] == {"training": 8000, "other": 3202}
    monkeypatch.setattr(lineage, "load_trained_data", lambda record: pytest.fail("it is kept"))
    assert lineage.compare_run_split(record, "test") == first
    assert lineage.compare_run_split(record, "train") is None


@pytest.mark.slow
def test_a_training_caches_the_comparison_of_its_splits(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    path, store = tmp_path / "own.csv", RunStore(tmp_path / "runs")
    rows = [f"{word} film number {n},{label}" for word, label in (("good", "yes"), ("dull", "no")) for n in range(150)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    api.train(str(path), "tfidf-logreg", name="own", store=store)
    path.unlink()
    found = lineage.compare_run_split(store.read("own"), "test")
    assert found["n"] == {"training": 240, "other": 30} and found["warnings"] == []
