"""Texts on which a run is uncertain under Monte Carlo dropout (Gal and Ghahramani, ICML 2016), on request, stored.

Each pass drops other units, seeded. `flips` is the share of passes with another prediction than the full network,
`spread` the deviation over passes of the probability of its prediction. A tag marks `FLIPS` or `SPREAD` and more.
"""

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from core import runs
from core.error_analysis.predictions_table import PredictionTable, read_predictions, read_table
from core.error_analysis.split_analysis import SplitAnalysis
from core.evaluation.metrics import HALF, build_scores
from core.exceptions import NotAvailable
from core.fingerprint import hash_file
from core.models.config import READS
from core.runs.background_jobs import Offer, Tell
from core.runs.predictions import explain_lacking_texts
from core.runs.record import TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore

READINGS = 20
FLIPS = 0.2
SPREAD = 0.15
SEED = 0


class UncertaintyMeasures(TypedDict):
    """The two MC-dropout uncertainty measures of each text: share of changed predictions, and probability spread."""

    flips: list[float]
    spread: list[float]


def find_uncertain(measured: UncertaintyMeasures) -> np.ndarray:
    """Return (n,) bool: which texts are uncertain under MC dropout: many changed predictions or a large spread."""
    return (np.array(measured["flips"]) >= FLIPS) | (np.array(measured["spread"]) >= SPREAD)


def measure_spread(said: np.ndarray, answers: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute `flips` and `spread` (n,) from predictions (n, C) bool, those of each pass and their probabilities."""
    return (answers != said).any(2).mean(0), chances.std(0)


def explain_unavailable(store: RunStore, record: RunRecord) -> str:
    """Return why a run cannot predict its texts with dropout left on; empty if it can."""
    model = record.config.model
    if "dropout" not in READS.get(model.family, ("dropout",)):
        return "a baseline has no dropout"
    if not model.dropout:
        return "its dropout is 0"
    if not (store.get_path(record.run) / WEIGHTS).is_file():
        return "it has no weights"
    return explain_lacking_texts(store.get_path(record.run), record)


@dataclass(frozen=True)
class DropoutUncertainty(SplitAnalysis[UncertaintyMeasures]):
    """The cached MC-dropout analysis: share of changed predictions and probability spread per text, to four places."""

    name = "unsure"
    VERSION = 1
    shape = UncertaintyMeasures
    offer = Offer(
        "Find uncertain predictions (MC dropout)",
        "Reading with dropout on",
        "The texts could not be read with dropout on",
        f"The run reads the texts {READINGS} times with dropout on, once. The tag marks texts whose answer changes in "
        f"{FLIPS:.0%} of the readings or more, or whose probability has a standard deviation of {SPREAD} or more.",
    )

    @classmethod
    def get_dependencies(cls, store: RunStore, record: RunRecord) -> dict[str, Any]:
        """Return cache-key parts: model and tokenizer hashes, number of passes, seed; OSError if a file is missing."""
        model = [hash_file(store.get_path(record.run) / name) for name in (WEIGHTS, TOKENIZER)]
        return {"model": model, "readings": READINGS, "seed": SEED}

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments that compute the MC-dropout uncertainty of a split."""
        return "errors", self.run, "--split", self.split, "--unsure"

    def find(self, tell: Tell) -> UncertaintyMeasures:
        """Predict every text of a split repeatedly with dropout on; RunDamaged if the model cannot be read."""
        asked, table = read_predictions(self.store, self.run, self.split), read_table(self.store, self.run, self.split)
        record = table.record
        limits = np.array([(asked.thresholds or {}).get(name, HALF) for name in record.classes])
        model, answers, chances = runs.load.load_run(self.store, self.run).enable_dropout(SEED), [], []
        for reading in range(READINGS):
            tell("reading with dropout on", reading / READINGS)
            found = model.predict(table.texts).probabilities
            answers.append(build_scores(asked.labels, found, record.task, limits, ordered=record.ordered).predicted)
            of_state = np.where(table.said, found, 1.0 - found)
            chances.append(of_state.min(1) if record.task == "multi" else np.where(table.said, found, 0.0).max(1))
        flips, spread = measure_spread(table.said, np.array(answers, bool), np.array(chances))
        return {"flips": flips.round(4).tolist(), "spread": spread.round(4).tolist()}

    def read_tagged(self, rows: int) -> np.ndarray | None:
        """Return (n,) bool: texts uncertain under MC dropout; None if not computed yet, or if row counts differ."""
        found = self.read()
        return find_uncertain(found) if found and len(found["flips"]) == len(found["spread"]) == rows else None


def find_tagged(store: RunStore, table: PredictionTable, on_progress: Tell | None = None) -> np.ndarray:
    """Return (n,) bool: texts uncertain under MC dropout, cached or new; NotAvailable without dropout or weights."""
    if why := explain_unavailable(store, table.record):
        raise NotAvailable(why)
    here = DropoutUncertainty.from_run(store, table.record, table.split)
    known = here.read_tagged(len(table))
    return find_uncertain(here.compute(on_progress)) if known is None else known
