"""The analysis of how faithful a run's explanations are, and its stored files (in the cache for starter runs).

belief/<hash>.json: the measurements and their settings; <hash> is the SHA-256 of the settings and the weights.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core import interpret, json_store
from core.atomic import write_text
from core.data.dataset import VALIDATION
from core.exceptions import InputError
from core.fingerprint import get_file_version, hash_file, hash_value
from core.interpret.faithfulness_verdict import Belief
from core.runs.background_jobs import Analysis, Offer, Tell, locate_folder
from core.runs.record import WEIGHTS
from core.runs.store import RunStore

FOLDER = "belief"
LIMIT, MOST = 200, 2000  # sampled sentences by default, and at most
SEED = 0  # of the sample, and of random deletions in a sentence
VERSION = 3  # increased when the same run gives other numbers


@dataclass(frozen=True)
class _StoredBelief:
    belief: Belief


@functools.lru_cache(256)
def hash_weights(path: str, version: str) -> str:
    """Return the SHA-256 of a file of weights, cached by its version; empty if there is no file."""
    return hash_file(Path(path)) if version else ""


@dataclass(frozen=True)
class BeliefFiles(Analysis[Belief]):
    """The analysis that measures how faithful the explanations of a run are, for some explanation methods."""

    run: str
    methods: tuple[str, ...]  # empty: all methods that work for the run
    limit: int

    name = FOLDER
    offer = Offer(
        "Measure all methods",
        "Measuring",
        "Faithfulness could not be measured",
        "Whether effects are evidence is measured on 200 validation sentences, once for each run and method. "
        "Deletion takes half a minute, all methods a few minutes. You may leave the page or close the tab.",
    )

    @classmethod
    def from_run(cls, store: RunStore, run: str, method: str = "", limit: int = LIMIT) -> "BeliefFiles":
        """Return the analysis of one method or all, named after settings and weights; InputError: bad `limit`."""
        if not 1 <= limit <= MOST:
            raise InputError(f"--limit {limit}: a number of sentences from 1 to {MOST}")
        folder, record = store.get_path(run), store.read(run)
        weights = hash_weights(str(folder / WEIGHTS), get_file_version(folder / WEIGHTS))
        depends = {"version": VERSION, "weights": weights, "answering": record.answering}
        depends |= {"split": VALIDATION, "limit": limit, "method": method}
        stem = hash_value(depends)
        return cls(locate_folder(folder, FOLDER, stem), stem, store, run, (method,) if method else (), limit)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that measures faithfulness."""
        return "believe", self.run, f"--limit={self.limit}", *(f"--method={method}" for method in self.methods)

    def find(self, tell: Tell) -> Belief:
        """Measure faithfulness on validation sentences; InputError: no data, sentences too short, or no such method."""
        tell("reading the sentences", None)
        from core.runs.evaluation_data import DataRequest, read_evaluation_data
        from core.runs.load import load_run

        loaded = load_run(self.store, self.run)
        rows = read_evaluation_data(loaded.record, DataRequest(split=VALIDATION, limit=self.limit)).rows
        labels = [each if isinstance(each, tuple) else (each,) for each in rows["label"]]
        sentences = list(map(interpret.faithfulness.LabeledSentence, rows["text"], labels))
        asked = self.methods or interpret.attribution.list_methods(loaded.model.provides)
        return interpret.faithfulness.measure_methods(
            loaded.make_reader(), loaded.randomize_weights(SEED).make_reader(), sentences, asked, tell
        )

    def read(self) -> Belief | None:
        """Return the stored faithfulness of a run's explanations; None if not measured, RunDamaged if unreadable."""
        try:
            return json_store.read(self.get_path("json"), _StoredBelief).belief
        except FileNotFoundError:
            return None

    def write(self, found: Belief, seconds: float) -> None:
        """Store the measured faithfulness as JSON, with the settings that the result depends on."""
        about = {"run": self.run, "split": VALIDATION, "limit": self.limit, "seed": SEED, "version": VERSION}
        tree = {**about, "seconds": round(seconds, 1), "belief": dataclasses.asdict(found)}
        write_text(self.get_path("json"), json.dumps(tree, indent=1, allow_nan=False) + "\n")


def read_stored(store: RunStore, run: str, methods: Iterable[str], limit: int = LIMIT) -> Belief | None:
    """Return the stored faithfulness of all explanation methods, else of those measured one by one; None if none."""
    if (every := BeliefFiles.from_run(store, run, limit=limit).read()) is not None:
        return every
    found = [each for method in methods if (each := BeliefFiles.from_run(store, run, method, limit).read()) is not None]
    joined = tuple(one for each in found for one in each.methods)
    return dataclasses.replace(found[0], methods=joined) if found else None
