"""What a run costs: parameters, training time, disk, and what a prediction takes on this machine.

A run measures itself when it is finished (`inference` in its record). What was trained elsewhere, by an older version,
or comes with Sentiscope is measured here once, by `measure`, and kept in `efficiency` of the cache. Pages and tables
read `efficiency`, which loads no model. Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core import stored
from core.atomic import storage_errors, write_text
from core.cache import cache_folder
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import file_version, fingerprint
from core.runs import queue
from core.runs.record import EVALUATION, PREDICTIONS, SPEAKING, WEIGHTS, Inference, RunRecord, refuse_tagged
from core.runs.store import RunStore, this_machine
from core.training.history import finite

LONGEST_S = 1800.0
TIMED = {"milliseconds", "tokens"}
WHOLE = TIMED | {"rows", "one", "memory", "device", "processor", "machine"}
"""What a measurement has; that of an older version is of a batch alone."""


@dataclass(frozen=True)
class Efficiency:
    """The costs of a finished run; what a prediction takes is None until it has been measured on this machine."""

    parameters: int
    seconds: float
    """Of training, resumed parts added up."""
    disk: int
    """Bytes of weights and tokenizer, also of what is mixed in: all that predicting needs."""
    one: float | None = None
    """Milliseconds for one text of median length; median of the passes, from token ids to logits, one CPU thread."""
    batch: float | None = None
    """Milliseconds per text where 64 are predicted together, whose lengths are spread like those of the data."""
    memory: int | None = None
    """Bytes of weights, inputs and intermediate results of these 64 at most at a time, without the libraries."""
    tokens: tuple[int, int] | None = None
    """Tokens of the one text, and the width of the batch."""
    where: str = ""
    """On what time was measured, in words."""


def efficiency(store: RunStore, record: RunRecord) -> Efficiency:
    """What is known of the costs of a run on this machine."""
    folder = store.path(record.run)
    disk = sum((folder / name).stat().st_size for name in SPEAKING if (folder / name).is_file())
    known = Efficiency(record.parameters, record.seconds, disk)
    found = _here(folder, record)
    if found is None:
        return known
    one, rows = found["one"], found["rows"]
    where = f"{found['processor']}, one thread" if found["device"] == "cpu" else found["processor"]
    return Efficiency(
        record.parameters,
        record.seconds,
        disk,
        one["milliseconds"],
        found["milliseconds"] / max(rows, 1),
        found["memory"],
        (one["tokens"], found["tokens"]),
        where,
    )


def version(store: RunStore, run: str) -> str:
    """Changes when a measurement is kept."""
    return file_version(_kept(store.path(run)))


def measure(store: RunStore, run: str) -> Efficiency:
    """What is known; what a prediction takes is measured in this process where it is not, and kept.

    Raises:
        InputError: no such run, or it has no weights or predictions yet.
        RunDamaged: a file of it cannot be read.
    """
    record, folder = store.read(run), store.path(run)
    if _here(folder, record) is None:
        found = finite({**_measured(store, run), "machine": this_machine()})
        path = _kept(folder)
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(found, indent=1, allow_nan=False) + "\n")
    return efficiency(store, record)


def measure_apart(store: RunStore, runs: Sequence[str]) -> None:
    """Measure runs in a process of its own, which waits for its turn, as maps and yardsticks do.

    Raises:
        InputError: as many wait as this server allows.
        NotAvailable: they could not be measured; says why.
    """
    queue.check_room(store.folder, queue.SHORT)
    command = [sys.executable, "-P", "-m", "core.cli", "runs", "measure", "--json", "--", *runs]
    name = f"measure-{fingerprint(sorted(runs))[:16]}"
    try:
        done = subprocess.run(
            queue.in_turn(command, store.folder, name, str(time.time_ns()), queue.SHORT),
            env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable("measuring waited and worked for more than half an hour; try again later") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason was given"]
        raise NotAvailable(f"speed and memory could not be measured: {said[-1]}")


def _measured(store: RunStore, run: str) -> dict[str, object]:
    from core.evaluation.efficiency import inference  # torch, pandas
    from core.runs.load import load_run
    from core.runs.predictions import evaluated_splits, lacks_texts, read_predictions
    from core.text.token_table import token_table

    folder = store.path(run)
    splits = evaluated_splits(folder)
    refuse_tagged(store.read(run))
    if not splits:
        raise InputError(f"run '{run}' is {store.read(run).status} and has no predictions: nothing can be measured yet")
    if why := lacks_texts(folder, store.read(run)):
        raise NotAvailable(f"speed and memory cannot be measured: {why[:1].lower()}{why[1:]}")
    split = "test" if "test" in splits else splits[-1]
    texts = read_predictions(folder / EVALUATION / split / PREDICTIONS)["text"].tolist()
    loaded = load_run(store, run)
    beside = None if loaded.mix is None else (loaded.mix.model, token_table(loaded.mix.tokenizer, texts))
    return inference(loaded.model, token_table(loaded.tokenizer, texts), beside)


def _here(folder: Path, record: RunRecord) -> Inference | None:
    """The measurement of this machine: the run's own, or what is kept."""
    for read in (lambda: record.results.get("inference", Inference()), lambda: stored.read(_kept(folder), Inference)):
        with contextlib.suppress(FileNotFoundError, RunDamaged):  # it will be measured again
            found = read()
            if found.keys() >= WHOLE and found["machine"] == this_machine() and found["one"].keys() >= TIMED:
                return found
    return None


def _kept(folder: Path) -> Path:
    """Where the measurement of a run that is not its own is kept."""
    name = fingerprint({"run": folder.absolute(), "weights": file_version(folder / WEIGHTS), "machine": this_machine()})
    return cache_folder() / "efficiency" / f"{name}.json"
