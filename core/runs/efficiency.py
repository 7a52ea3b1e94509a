"""Costs of a run: parameters, training time, disk, and prediction speed and memory on this machine.

A finished training measures its speed (`inference` in the record). Starters and runs from another machine or an older
version are measured once by `measure_costs`, and cached. `read_efficiency` loads no model. Imports nothing heavy.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import cast

from core import evaluation
from core.cache import get_cache_folder
from core.exceptions import InputError, NotAvailable
from core.fingerprint import get_file_version, hash_value
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Analysis, Offer
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, SPEAKING, WEIGHTS, Inference, RunRecord, refuse_tagged
from core.runs.store import RunStore, get_machine_id
from core.training.history import replace_nonfinite

TIMED = {"milliseconds", "tokens"}
WHOLE = TIMED | {"rows", "one", "memory", "device", "processor", "machine"}
"""Keys of a measurement; older versions measured only a batch."""


@dataclass(frozen=True)
class Efficiency:
    """The costs of a finished run; speed and memory of prediction are None until measured on this machine."""

    parameters: int
    seconds: float
    disk: int  # bytes of weights and tokenizer, including a TF-IDF model that is mixed in
    one: float | None = None
    """Milliseconds for one text of median length, from token ids to logits; median of passes on one CPU thread."""
    batch: float | None = None
    """Milliseconds per text in a batch of 64 texts whose lengths are distributed as in the data."""
    memory: int | None = None
    """Peak bytes of weights, inputs and intermediate results for the batch of 64, without the libraries."""
    tokens: tuple[int, int] | None = None  # tokens of the one text, and the padded length of the batch
    where: str = ""


def read_efficiency(store: RunStore, record: RunRecord) -> Efficiency:
    """Return the known costs of a run on this machine: size, training time, and prediction speed if measured."""
    folder = store.get_path(record.run)
    disk = sum((folder / name).stat().st_size for name in SPEAKING if (folder / name).is_file())
    known = Efficiency(record.parameters, record.seconds, disk)
    if (found := _find_stored(store, record)) is None:
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


def get_version(store: RunStore, run: str) -> str:
    """Return a cache key that changes when a speed measurement of a run is stored."""
    return get_file_version(Speed.from_run(store, run).get_path("json"))


def measure_costs(store: RunStore, run: str) -> Efficiency:
    """Return the costs of a run; measure and store its prediction speed and memory if they are unknown.

    Raises InputError if there is no such run, or it has no weights or predictions yet.
    """
    record = store.read(run)
    if _find_stored(store, record) is None:
        Speed.from_run(store, run).compute()
    return read_efficiency(store, record)


@dataclass(frozen=True)
class Speed(Analysis[Inference]):
    """The analysis that measures a run's prediction speed and memory on this machine."""

    run: str

    name = "measure"
    shape = Inference
    offer = Offer("Measure", "Measuring", "Speed could not be measured", "Takes seconds; the result is stored.")

    @classmethod
    def from_run(cls, store: RunStore, run: str) -> Speed:
        """Return the speed analysis of a run; its file is named after the run, its weights and the machine."""
        folder = store.get_path(run).absolute()
        about = {"run": folder, "weights": get_file_version(folder / WEIGHTS), "machine": get_machine_id()}
        return cls(get_cache_folder() / "efficiency", hash_value(about), store, run)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that measures a run's prediction speed."""
        return "runs", "measure", "--", self.run

    def find(self, tell: Tell) -> Inference:
        """Measure the prediction speed and memory of the run in this process."""
        tell("predicting on one thread", None)
        found = _measure_inference(self.store, self.run)
        return cast(Inference, replace_nonfinite({**found, "machine": get_machine_id()}))


def _measure_inference(store: RunStore, run: str) -> dict[str, object]:
    from core.text.token_table import build_token_table

    folder, record = store.get_path(run), store.read(run)
    splits = list_evaluated_splits(folder)
    refuse_tagged(record)
    if not splits:
        raise InputError(f"run '{run}' is {record.status} and has no predictions: nothing can be measured yet")
    if why := explain_lacking_texts(folder, record):
        raise NotAvailable(f"speed and memory cannot be measured: {why[:1].lower()}{why[1:]}")
    split = "test" if "test" in splits else splits[-1]
    texts = read_predictions(folder / EVALUATION / split / PREDICTIONS)["text"].tolist()
    from core.runs.load import load_run

    loaded = load_run(store, run)
    beside = None if loaded.mix is None else (loaded.mix.model, build_token_table(loaded.mix.tokenizer, texts))
    return evaluation.efficiency.measure_inference(loaded.model, build_token_table(loaded.tokenizer, texts), beside)


def _find_stored(store: RunStore, record: RunRecord) -> Inference | None:
    for found in (record.results.get("inference"), Speed.from_run(store, record.run).read()):
        if found and found.keys() >= WHOLE and found["machine"] == get_machine_id() and found["one"].keys() >= TIMED:
            return found
    return None
