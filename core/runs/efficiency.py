"""What a run costs: parameters, training time, disk, and what a prediction takes on this machine.

A run measures itself when it is finished (`inference` in its record). What was trained elsewhere, by an older version,
or comes with Sentiscope is measured here once, by `measure`, and kept in `efficiency` of the cache. Pages and tables
read `efficiency`, which loads no model. Imports nothing heavy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from core import stored
from core.atomic import write_text
from core.cache import cache_folder
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.fingerprint import file_version, fingerprint
from core.runs import errands
from core.runs.analyses import Analysis, Offer
from core.runs.errands import Tell
from core.runs.record import EVALUATION, PREDICTIONS, SPEAKING, WEIGHTS, Inference, RunRecord, refuse_tagged
from core.runs.store import RunStore, this_machine
from core.training.history import finite

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
    found = _here(store, record)
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
    return file_version(Speed.of(store, run).path("json"))


def measure(store: RunStore, run: str) -> Efficiency:
    """What is known; what a prediction takes is measured in this process where it is not, and kept.

    Raises:
        InputError: no such run, or it has no weights or predictions yet.
        RunDamaged: a file of it cannot be read.
    """
    record = store.read(run)
    if _here(store, record) is None:
        Speed.of(store, run).compute()
    return efficiency(store, record)


def measure_apart(store: RunStore, runs: Sequence[str]) -> None:
    """Measure runs in a process of its own, which waits for its turn, as maps and yardsticks do.

    Raises:
        InputError: as many wait as this server allows.
        NotAvailable: they could not be measured; says why.
    """
    words = ("runs", "measure", "--json", "--", *runs)
    errands.answer(store, words, f"measure-{fingerprint(sorted(runs))[:16]}", "speed and memory")


@dataclass(frozen=True)
class Speed(Analysis[Inference]):
    """What a prediction of a run takes on this machine."""

    run: str

    name = "measure"
    offer = Offer("Measure", "Measuring", "It could not be measured", "Time and memory of a prediction")

    @classmethod
    def of(cls, store: RunStore, run: str) -> Speed:
        """Name the file after the weights and the machine, on which the speed depends."""
        folder = store.path(run).absolute()
        about = {"run": folder, "weights": file_version(folder / WEIGHTS), "machine": this_machine()}
        return cls(cache_folder() / "efficiency", fingerprint(about), store, run)

    @property
    def words(self) -> tuple[str, ...]:
        """Its command."""
        return "runs", "measure", "--", self.run

    def find(self, tell: Tell) -> Inference:
        """Measure it in this process."""
        return cast(Inference, finite({**_measured(self.store, self.run), "machine": this_machine()}))

    def read(self) -> Inference | None:
        """What was measured here; None: nothing was, or it cannot be read and is measured again."""
        try:
            return stored.read(self.path("json"), Inference)
        except (FileNotFoundError, RunDamaged):
            return None

    def write(self, found: Inference, seconds: float) -> None:
        """Keep it."""
        write_text(self.path("json"), json.dumps(found, indent=1, allow_nan=False) + "\n")


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


def _here(store: RunStore, record: RunRecord) -> Inference | None:
    """The measurement of this machine: the run's own, or what is kept."""
    for found in (record.results.get("inference"), Speed.of(store, record.run).read()):
        if found and found.keys() >= WHOLE and found["machine"] == this_machine() and found["one"].keys() >= TIMED:
            return found
    return None
