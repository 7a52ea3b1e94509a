"""Texts that a run is unsure of under dropout: it reads them again and again with dropout left on.

Monte Carlo dropout (Gal and Ghahramani, "Dropout as a Bayesian Approximation", ICML 2016). Each reading leaves out
other parts of the network, seeded. Of each text two numbers are kept: `flips`, the share of the readings whose answer
is another than the one that the run gives with all of the network, and `spread`, the standard deviation over the
readings of the probability of that answer. A text has the tag from `FLIPS` or from `SPREAD` on. It takes as many times
as long as reading the texts once, so it is done when somebody asks, and kept.
"""

from __future__ import annotations

import json

import numpy as np

from core import stored
from core.atomic import write_text
from core.cache import cache_folder
from core.evaluation.scores import HALF, scored
from core.exceptions import NotAvailable, RunDamaged
from core.failures.kept import FOLDER
from core.failures.table import Table, answers_for
from core.fingerprint import file_fingerprint, fingerprint
from core.models.config import READS
from core.runs import errands
from core.runs.errands import Files, Tell
from core.runs.predictions import lacks_texts
from core.runs.record import EVALUATION, PREDICTIONS, TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore

READINGS = 20
FLIPS = 0.2
SPREAD = 0.15
SEED = 0
VERSION = 1
"""Raised whenever the same run and texts would give others."""


def unsure(flips: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """(n,) bool: where either is large."""
    found: np.ndarray = (flips >= FLIPS) | (spread >= SPREAD)
    return found


def differing(said: np.ndarray, answers: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`flips` and `spread`, (n,) each.

    Args:
        said: (n, C) bool: what the run says.
        answers: (T, n, C) bool: what it says in each reading.
        chances: (T, n) the probability of `said` in each reading.
    """
    return (answers != said).any(2).mean(0), chances.std(0)


def why_not(store: RunStore, record: RunRecord) -> str:
    """Why this run cannot be read so; empty: it can."""
    model = record.config.model
    if "dropout" not in READS.get(model.family, ("dropout",)):
        return "a baseline has no dropout"
    if not model.dropout:
        return "its dropout is 0"
    if not (store.path(record.run) / WEIGHTS).is_file():
        return "it has no weights"
    return lacks_texts(store.path(record.run), record)


def files(store: RunStore, record: RunRecord, split: str) -> Files:
    """Where the numbers are, or will be.

    Raises:
        OSError: a file of the run is missing.
    """
    folder = store.path(record.run)
    model = [file_fingerprint(folder / name) for name in (WEIGHTS, TOKENIZER)]
    about = {"version": VERSION, "model": model, "readings": READINGS, "seed": SEED, "data": record.config.data}
    said = file_fingerprint(folder / EVALUATION / split / PREDICTIONS)
    return Files(cache_folder() / FOLDER, f"unsure-{fingerprint({**about, 'said': said})}")


def kept(here: Files, rows: int) -> np.ndarray | None:
    """(n,) bool: the texts that have the tag; None: nobody has asked, or it is of another table."""
    try:
        found = stored.read_tree(here.path("json"))
        flips, spread = (np.array(found[name], float) for name in ("flips", "spread"))
    except (FileNotFoundError, RunDamaged, KeyError, TypeError, ValueError):
        return None
    return unsure(flips, spread) if flips.shape == spread.shape == (rows,) else None


def find(store: RunStore, table: Table, on_progress: Tell | None = None) -> np.ndarray:
    """As `kept`, or read now and kept.

    Raises:
        NotAvailable: the run has no dropout or no weights.
        RunDamaged: the model cannot be read.
    """
    if why := why_not(store, table.record):
        raise NotAvailable(why)
    here = files(store, table.record, table.split)
    if (found := kept(here, len(table))) is not None:
        return found
    with errands.telling(here, on_progress) as tell:
        flips, spread = _read(store, table, tell)
        numbers = {"flips": flips.round(4).tolist(), "spread": spread.round(4).tolist()}
        write_text(here.path("json"), json.dumps(numbers, allow_nan=False))
    return unsure(flips.round(4), spread.round(4))


def start(store: RunStore, record: RunRecord, split: str) -> None:
    """Find them in a process of its own.

    Raises:
        InputError: as many wait as this server allows.
    """
    command = errands.sentiscope("errors", record.run, "--split", split, "--unsure")
    errands.start(store, files(store, record, split), command, "unsure")


def _read(store: RunStore, table: Table, tell: Tell) -> tuple[np.ndarray, np.ndarray]:
    from core.runs.load import load_run

    record, asked = table.record, answers_for(store, table.record.run, table.split)
    limits = np.array([(asked.thresholds or {}).get(name, HALF) for name in record.classes])
    model, answers, chances = load_run(store, record.run).dropping(SEED), [], []
    for reading in range(READINGS):
        tell("reading with dropout on", reading / READINGS)
        found = model.predict(table.texts).probabilities
        answers.append(scored(asked.labels, found, record.task, limits, ordered=record.ordered).predicted)
        of_state = np.where(table.said, found, 1.0 - found)
        chances.append(of_state.min(1) if record.task == "multi" else np.where(table.said, found, 0.0).max(1))
    return differing(table.said, np.array(answers, bool), np.array(chances))
