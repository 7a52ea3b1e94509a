"""A mixture with TF-IDF, made of two finished runs on the same data without training."""

import shutil

from core.runs.record import MIX, TOKENIZER, WEIGHTS
from core.runs.store import RunStore


def mix_in(store: RunStore, run: str, baseline: str, weight: float) -> None:
    """Add the files of a TF-IDF baseline to a run as a mixture; its network has the weight `weight`."""
    (store.get_path(run) / MIX).mkdir()
    for name in (TOKENIZER, WEIGHTS):
        shutil.copyfile(store.get_path(baseline) / name, store.get_path(run) / MIX / name)
    store.update(run, results={**store.read(run).results, "mix": {"weight": weight}})
