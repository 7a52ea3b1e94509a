from pathlib import Path

import numpy as np
import pytest

from core import api
from core.runs import data_shift
from core.runs.load import load_run
from core.runs.predictions import read_predictions
from core.runs.store import RunStore

RUN = "starter-ndt-pm1-n2"
STORE = RunStore(Path(__file__).parents[3] / "trained")


@pytest.fixture(scope="module")
def loaded():
    return load_run(STORE, RUN)


def sample_file(loaded, texts, chances):
    """Return the comparison of a file with these rows."""
    sample = data_shift.FileSample(loaded, "mine.csv")
    for start in range(0, len(texts), 100):
        sample.add(texts[start : start + 100], chances[start : start + 100])
    return sample.compare_with_test()


@pytest.mark.slow
def test_only_different_texts_raise_a_shift_warning(loaded, monkeypatch):
    frame = read_predictions(loaded.folder / "evaluation" / "test" / "predictions.parquet")
    frame = frame.sample(300, random_state=0)
    texts, chances = frame["text"].tolist(), frame[["probability:negative", "probability:positive"]].to_numpy()
    same = sample_file(loaded, texts, chances)
    assert same["warnings"] == [] and same["known"] == "the test split of the run"
    assert [each["name"] for each in same["measures"]] == ["labels", "length", "words", "repeats"]
    monkeypatch.setattr(data_shift, "SAMPLED", 200)
    odd = [f"gear{row} torque{row} valve " * 9 for row in range(300)]
    strange = sample_file(loaded, odd, np.tile([1.0, 0.0], (300, 1)))
    assert strange["n"]["other"] == 200, "of a long file a sample is compared"
    kinds = ("has other predicted labels: negative 100.0 %", "has longer texts: typically 27", "more unknown words")
    assert all(kind in " ".join(strange["warnings"]) for kind in kinds)
    start = "Compared with the test split of the run, mine.csv "
    assert all(warning.startswith(start) for warning in strange["warnings"])


@pytest.mark.slow
def test_split_comparisons_are_cached(monkeypatch, tmp_path):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path))
    record = STORE.read(RUN)
    first = data_shift.compare_run_split(record, "test")
    assert first is not None and first["n"] == {"training": 15996, "other": 3202}
    monkeypatch.setattr(data_shift, "load_trained_data", lambda record: pytest.fail("it is kept"))
    assert data_shift.compare_run_split(record, "test") == first
    assert data_shift.compare_run_split(record, "train") is None


@pytest.mark.slow
def test_predictions_for_a_file_report_its_shift(tmp_path):
    file = tmp_path / "strange.txt"
    file.write_text("\n".join(f"gear{row} torque{row} valve " * 9 for row in range(60)))
    listed = api.predict(RUN, file=file, store=STORE)
    written = api.predict(RUN, file=file, to=tmp_path / "said.csv", store=STORE)
    assert listed["differences"]["warnings"] == written["differences"]["warnings"] != []
    assert "strange.txt has longer texts" in " ".join(listed["differences"]["warnings"])


@pytest.mark.slow
def test_a_training_caches_the_comparison_of_its_splits(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    path, store = tmp_path / "own.csv", RunStore(tmp_path / "runs")
    rows = [f"{word} film number {n},{label}" for word, label in (("good", "yes"), ("dull", "no")) for n in range(150)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    api.train(str(path), "tfidf-logreg", name="own", store=store)
    path.unlink()
    found = data_shift.compare_run_split(store.read("own"), "test")
    assert found["n"] == {"training": 240, "other": 30} and found["warnings"] == []
