"""Costs of a run: parameters, training time, disk, and prediction speed and memory on this machine.

A finished training measures its speed (`inference` in the record). Starters and runs from another machine or an older
version are measured once by `measure_costs`, and cached. `read_efficiency` loads no model. Imports nothing heavy.
"""

import dataclasses
from dataclasses import dataclass
from typing import cast

from core import evaluation
from core.cache import get_cache_folder
from core.exceptions import InputError, NotAvailable
from core.fingerprint import get_file_version, hash_value
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.predictions import explain_lacking_texts, list_evaluated_splits, read_predictions
from core.runs.record import EVALUATION, PREDICTIONS, SPEAKING, WEIGHTS, Inference, RunRecord, refuse_tagged
from core.runs.store import RunStore, get_machine_id
from core.training.history import replace_nonfinite

TIMED = {"milliseconds", "tokens"}
WHOLE = TIMED | {"rows", "one", "memory", "device", "processor", "machine"}  # of a measurement; older ones lack some


@dataclass(frozen=True)
class Efficiency:
    """The costs of a finished run; speed and memory of prediction are None until measured on this machine."""

    parameters: int
    seconds: float
    disk: int  # bytes of weights and tokenizer, including a TF-IDF model that is mixed in
    one: float | None = None  # milliseconds for a text of median length, ids to logits; median on one CPU thread
    batch: float | None = None  # milliseconds per text in a batch of 64 texts with the lengths of the data
    memory: int | None = None  # peak bytes of weights, inputs and results between for the batch, without libraries
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
    """Return the costs of a run, measured and stored if unknown; InputError: no such run, or nothing to measure yet."""
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
    def from_run(cls, store: RunStore, run: str) -> "Speed":
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
        folder, record = self.store.get_path(self.run), self.store.read(self.run)
        splits = list_evaluated_splits(folder)
        refuse_tagged(record)
        if not splits:
            raise InputError(f"run '{self.run}' is {record.status} and has no predictions: nothing can be measured yet")
        if why := explain_lacking_texts(folder, record):
            raise NotAvailable(f"speed and memory cannot be measured: {why[:1].lower()}{why[1:]}")
        split = "test" if "test" in splits else splits[-1]
        texts = read_predictions(folder / EVALUATION / split / PREDICTIONS)["text"].tolist()
        from core.runs.load import load_run
        from core.text.token_table import build_token_table

        loaded = load_run(self.store, self.run)
        beside = None if loaded.mix is None else (loaded.mix.model, build_token_table(loaded.mix.tokenizer, texts))
        tokens = build_token_table(loaded.tokenizer, texts)
        found = evaluation.inference.measure_inference(loaded.model, tokens, beside)
        return cast(Inference, replace_nonfinite({**found, "machine": get_machine_id()}))


def _find_stored(store: RunStore, record: RunRecord) -> Inference | None:
    for found in (record.results.get("inference"), Speed.from_run(store, record.run).read()):
        if found and found.keys() >= WHOLE and found["machine"] == get_machine_id() and found["one"].keys() >= TIMED:
            return found
    return None
