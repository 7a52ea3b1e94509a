"""Small trained runs that tests of several rooms use."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import pair_folder

from core import api
from core.runs.record import MIX, TOKENIZER, WEIGHTS
from core.runs.store import RunStore

TINY: dict[str, Any] = {
    "data.split": "0.6/0.2/0.2",
    "model.width": 16,
    "model.ff_width": 16,
    "training.epochs": 2,
    "training.batch_size": 8,
    "training.threads": 1,
    "text.min_freq": 1,
}
"""Settings of a one-second training."""
REVIEWS = {"positive": ("good", "warm", "funny", "wise"), "negative": ("bad", "dull", "slow", "flat")}


def write_films(path: Path, words: dict[str, tuple[str, ...]] = REVIEWS, each: int = 10) -> Path:
    """Write a labelled table in which every word of a label occurs in this number of sentences."""
    lines = [f"{word} film number {n},{label}" for label, own in words.items() for word in own for n in range(each)]
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


def write_splits(folder: Path, each: int, more: str = "") -> Path:
    """Write a folder of three splits, with two labels and this number of rows each; `more` ends the test texts."""
    folder.mkdir()
    rows = [(f"{word} film {n}", label) for n in range(each) for word, label in (("good", "pos"), ("bad", "neg"))]
    rows = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    ends = {"train": (0, each), "validation": (each, each * 3 // 2), "test": (each * 3 // 2, len(rows))}
    for split, (first, last) in ends.items():
        lines = [f"{text}{more if split == 'test' else ''},{label}" for text, label in rows[first:last]]
        (folder / f"{split}.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return folder


def train_runs(folder: Path, **runs: tuple[Path, str, dict[str, Any]]) -> RunStore:
    """Train runs by name, each with its data, preset and settings, into `folder / "runs"` with a separate cache."""
    store = RunStore(folder / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
        for name, (data, preset, settings) in runs.items():
            api.train(str(data), preset, settings, name=name, store=store)
    return store


def train_reviews(folder: Path, table: Path) -> Path:
    """Train `finished` (two layers, three components) and `baseline`, and copy a `damaged` run."""
    plain = {name: value for name, value in TINY.items() if not name.startswith("model.")}
    store = train_runs(folder, finished=(table, "ndt-01-n3", TINY), baseline=(table, "tfidf-logreg", plain))
    shutil.copytree(store.folder / "finished", store.folder / "damaged")
    (store.folder / "damaged" / "run.json").write_text('{"schema": 1, "status"')
    return store.folder


def train_pairs(folder: Path) -> RunStore:
    """Train `both`, a transformer, and `counted`, TF-IDF, on pairs, and `one`, which reads their first texts alone."""
    data, small = pair_folder(folder / "alike", 80, 30), {"training.epochs": 1, "training.threads": 1}
    small |= {"model.width": 8, "model.ff_width": 8, "text.min_freq": 1}
    both, one = (data, "ndt-01-n2", small), (data, "vanilla", {**small, "data.pair": "none"})
    return train_runs(folder, both=both, counted=(data, "tfidf-logreg", {"text.min_freq": 1}), one=one)


def mix_in(store: RunStore, run: str, baseline: str, weight: float) -> None:
    """Add the files of a TF-IDF baseline to a run as a mixture; its network has the weight `weight`."""
    (store.get_path(run) / MIX).mkdir()
    for name in (TOKENIZER, WEIGHTS):
        shutil.copyfile(store.get_path(baseline) / name, store.get_path(run) / MIX / name)
    store.update(run, results={**store.read(run).results, "mix": {"weight": weight}})
