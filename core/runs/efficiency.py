"""Costs of a run: parameters, training time, disk, and speed and memory of a prediction on this machine.

A run measures itself when it is finished (`inference` in its record). What was trained elsewhere, by an older version,
or comes with Sentiscope is measured here once, by `measure`, and kept in the cache. `efficiency` loads no model.
Imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from core import evaluation
from core.cache import cache_folder
from core.exceptions import InputError, NotAvailable
from core.fingerprint import file_version, fingerprint
from core.runs import errands
from core.runs.analyses import Analysis, Offer
from core.runs.errands import Tell
from core.runs.predictions import evaluated_splits, lacks_texts, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, SPEAKING, WEIGHTS, Inference, RunRecord, refuse_tagged
from core.runs.store import RunStore, this_machine
from core.training.history import finite

TIMED = {"milliseconds", "tokens"}
WHOLE = TIMED | {"rows", "one", "memory", "device", "processor", "machine"}
"""What a measurement has; that of an older version is of a batch alone."""


@dataclass(frozen=True)
class Efficiency:
    """The costs of a finished run; those of a prediction are None until measured on this machine."""

    parameters: int
    seconds: float
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


def efficiency(store: RunStore, record: RunRecord) -> Efficiency:
    """Return the known costs of a run on this machine."""
    folder = store.path(record.run)
    disk = sum((folder / name).stat().st_size for name in SPEAKING if (folder / name).is_file())
    known = Efficiency(record.parameters, record.seconds, disk)
    if (found := _here(store, record)) is None:
        return known
    one = found["one"]
    return dataclasses.replace(
        known,
        one=one["milliseconds"],
        batch=found["milliseconds"] / max(found["rows"], 1),
        memory=found["memory"],
        tokens=(one["tokens"], found["tokens"]),
        where=f"{found['processor']}, one thread" if found["device"] == "cpu" else found["processor"],
    )


def version(store: RunStore, run: str) -> str:
    """Return a text that changes when a measurement is stored."""
    return file_version(Speed.of(store, run).path("json"))


def measure(store: RunStore, run: str) -> Efficiency:
    """Return the costs of a run; those of a prediction are measured and stored if they are unknown.

    Raises InputError if there is no such run, or it has no weights or predictions yet.
    """
    record = store.read(run)
    if _here(store, record) is None:
        Speed.of(store, run).compute()
    return efficiency(store, record)


def measure_apart(store: RunStore, names: Sequence[str]) -> None:
    """Measure runs in a background process; InputError: too many wait, NotAvailable: it cannot be measured."""
    words = ("runs", "measure", "--json", "--", *names)
    errands.answer(store, words, f"measure-{fingerprint(sorted(names))[:16]}", "speed and memory")


@dataclass(frozen=True)
class Speed(Analysis[Inference]):
    """The analysis of a prediction's speed and memory on this machine."""

    run: str

    name = "measure"
    shape = Inference
    offer = Offer("Measure", "Measuring", "It could not be measured", "Time and memory of a prediction")

    @classmethod
    def of(cls, store: RunStore, run: str) -> Speed:
        """Name the file after the weights and the machine, on which the speed depends."""
        folder = store.path(run).absolute()
        about = {"run": folder, "weights": file_version(folder / WEIGHTS), "machine": this_machine()}
        return cls(cache_folder() / "efficiency", fingerprint(about), store, run)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command that computes it."""
        return "runs", "measure", "--", self.run

    def find(self, tell: Tell) -> Inference:
        """Measure speed and memory in this process."""
        return cast(Inference, finite({**_measured(self.store, self.run), "machine": this_machine()}))


def _measured(store: RunStore, run: str) -> dict[str, object]:
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
    from core.runs.load import load_run

    loaded = load_run(store, run)
    beside = None if loaded.mix is None else (loaded.mix.model, token_table(loaded.mix.tokenizer, texts))
    return evaluation.efficiency.inference(loaded.model, token_table(loaded.tokenizer, texts), beside)


def _here(store: RunStore, record: RunRecord) -> Inference | None:
    for found in (record.results.get("inference"), Speed.of(store, record.run).read()):
        if found and found.keys() >= WHOLE and found["machine"] == this_machine() and found["one"].keys() >= TIMED:
            return found
    return None
