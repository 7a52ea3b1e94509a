"""Predictions of a run on the texts of a behavioural test suite, computed once and cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from core import runs
from core.behavioral_tests.outcomes import SuiteResult, judge_cases
from core.behavioral_tests.polarity import find_polarities
from core.behavioral_tests.suite import Suite
from core.cache import get_cache_folder
from core.exceptions import InputError
from core.fingerprint import hash_file, hash_value
from core.runs.background_jobs import Tell
from core.runs.cached_analysis import Analysis, Offer
from core.runs.record import MIX, SPEAKING, refuse_tagged
from core.runs.store import RunStore

FOLDER = "behaviour"


@dataclass(frozen=True, eq=False)
class SuiteAnswers(Analysis[list[list[float]]]):
    """The class probabilities, (n, C), that a run gives the n texts of a behavioural test suite (a cached job)."""

    run: str
    suite: Suite
    chosen: Mapping[str, str]
    """The user's map, class → polarity (`core.behavioral_tests.polarity.find_polarities`)."""

    AT_ONCE: ClassVar[int] = 2000
    """Texts that a page predicts without a click, at most; that takes some seconds."""
    name = FOLDER
    shape = list[list[float]]
    offer = Offer(
        "Test the model",
        "Testing the model",
        "The model could not be tested",
        "The model reads all texts of this suite. It takes up to some minutes; the result is stored.",
    )

    @classmethod
    def from_suite(
        cls, store: RunStore, run: str, suite: Suite, chosen: Mapping[str, str] | None = None
    ) -> SuiteAnswers:
        """Return a run's cached prediction job on a suite; InputError: no such run, or not one label per text."""
        record, folder = store.read(run), store.get_path(run)
        refuse_tagged(record)
        if record.task == "multi":
            raise InputError(f"run '{run}' gives several labels per text; a suite asks for one polarity per text")
        names = [name for name in SPEAKING if record.mix_weight is not None or not name.startswith(MIX)]
        model = [hash_file(folder / name) if (folder / name).is_file() else "" for name in names]
        asked = {"model": model, "answering": record.answering, "texts": suite.texts}
        return cls(get_cache_folder() / FOLDER, hash_value(asked), store, run, suite, chosen or {})

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments that test the run with the suite."""
        suite = ("--suite", self.suite.path) if self.suite.path else ()
        return "behave", self.run, *suite, *(f"--map={name}={side}" for name, side in self.chosen.items())

    def find(self, tell: Tell) -> list[list[float]]:
        """Predict the texts of the test suite with the run's model; RunDamaged if it cannot be read."""
        tell("reading the texts", None)
        found = runs.load.load_run(self.store, self.run).predict(self.suite.texts)
        return cast(list[list[float]], found.probabilities.astype("float32").tolist())

    def judge(self) -> SuiteResult:
        """Judge the run's predictions on the suite, computed if not yet stored; InputError: a class has no polarity."""
        record = self.store.read(self.run)
        sides = find_polarities(self.run, record.classes, self.chosen, record.classes if record.ordered else ())
        found = self.read()
        return judge_cases(self.run, self.suite, sides, self.compute_anyway() if found is None else found)
