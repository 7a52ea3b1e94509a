"""Predictions of a run on a behavioural test suite, the polarities of its classes, and which cases it passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from core import runs
from core.behavioral_tests.suite import POLARITIES, Polarity, Suite, SuiteCase, SuiteTest
from core.cache import get_cache_folder
from core.exceptions import InputError
from core.fingerprint import hash_file, hash_value
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.record import MIX, SPEAKING, refuse_tagged
from core.runs.store import RunStore

NONE = "none"  # how the user maps a class without polarity, which is never a correct answer
_WORDS: dict[str, Polarity] = {
    **dict.fromkeys(("negative", "neg", "bearish", "unfavourable", "unfavorable", "bad"), "negative"),
    **dict.fromkeys(("neutral", "neu"), "neutral"),
    **dict.fromkeys(("positive", "pos", "bullish", "favourable", "favorable", "good"), "positive"),
}
_TURNS = {"not", "non", "no"}

Sides = dict[str, Polarity | None]  # class → polarity; None: it has none


def find_polarities(
    run: str, classes: Sequence[str], chosen: Mapping[str, str] | None = None, order: Sequence[str] = ()
) -> Sides:
    """Return the polarity of each class of a run: negative, neutral, positive or None.

    `chosen` is the user's map, class → negative, neutral, positive or none; it may have classes of other runs.
    `order` has the classes from negative to positive, if the data define an order. Raises InputError if the polarity of
    a class is unknown, or all classes have the same one.
    """
    for name, side in (chosen or {}).items():
        if side not in (*POLARITIES, NONE):
            raise InputError(f"--map {name}={side}: a class is {', '.join(POLARITIES)} or {NONE}")
    mapped = {name.casefold(): side for name, side in (chosen or {}).items()}
    last, ranked = len(order) - 1, dict[str, Polarity]()
    if set(order) == set(classes):  # negative before the middle, neutral in the middle, positive after it
        ranked = {name: POLARITIES[1 + (2 * at > last) - (2 * at < last)] for at, name in enumerate(order)}
    found = {name: mapped.get(name.casefold(), infer_polarity(name) or ranked.get(name)) for name in classes}
    if unknown := [name for name, side in found.items() if side is None]:
        example = " ".join(f'--map "{name}"=…' if " " in name else f"--map {name}=…" for name in unknown[:6])
        raise InputError(
            f"run '{run}' has classes without a polarity ({', '.join(unknown)}); say for each whether it is "
            f"{', '.join(POLARITIES)} or {NONE}: {example}"
        )
    sides: Sides = {name: side if side in POLARITIES else None for name, side in found.items()}
    if len({side for side in sides.values() if side}) < 2:
        raise InputError(f"run '{run}': its classes {', '.join(classes)} have only one polarity; a suite needs two")
    return sides


def refuse_unknown_class(chosen: Mapping[str, str], classes: Sequence[str]) -> None:
    """Refuse a mapping of classes to polarities that names a class no run has, with an InputError."""
    known = {name.casefold() for name in classes}
    if strange := [name for name in chosen if name.casefold() not in known]:
        found = ", ".join(dict.fromkeys(classes))
        raise InputError(f"--map {strange[0]}=…: no run has this class; the classes are {found}")


def infer_polarity(name: str) -> Polarity | None:
    """Return the polarity that a class name implies, such as positive; None if it implies none, or two."""
    words = set(re.findall(r"[^\W\d_]+", name.casefold()))
    found = {_WORDS[word] for word in words & _WORDS.keys()}
    return found.pop() if len(found) == 1 and not words & _TURNS else None


def choose_plotted_class(classes: Sequence[str]) -> str:
    """Return the class whose probability is plotted by default: the positive class, else the last one."""
    return next((name for name in classes if infer_polarity(name) == "positive"), classes[-1])


@dataclass(frozen=True)
class SuitePrediction:
    """A run's prediction for one text of a behavioural test suite."""

    label: str  # the class with the highest probability
    side: Polarity | None  # polarity of that class
    probabilities: Mapping[Polarity, float]  # summed over the classes of each polarity that the run has


@dataclass(frozen=True)
class SuiteResult:
    """The predictions of a run on a behavioural test suite, and which cases it passes."""

    run: str
    suite: Suite
    sides: Sides
    answers: Mapping[str, SuitePrediction]  # by text
    passed: Mapping[str, Sequence[bool | None]]
    """Test → whether each of its cases passes; None: the case does not apply to this run."""

    def list_failing(self, test: SuiteTest) -> list[SuiteCase]:
        """Return the cases of a behavioural test that the run fails."""
        return [case for case, passed in zip(test.cases, self.passed[test.name], strict=True) if passed is False]


def judge_cases(run: str, suite: Suite, sides: Sides, probabilities: Sequence[Sequence[float]]) -> SuiteResult:
    """Judge all cases of a test suite by class probabilities, a row per text; `sides` maps class to polarity."""
    classes, known = list(sides), [each for each in POLARITIES if each in sides.values()]
    answers = {}
    for text, row in zip(suite.texts, probabilities, strict=True):
        label = classes[max(range(len(row)), key=row.__getitem__)]
        summed = {
            each: sum(chance for name, chance in zip(classes, row, strict=True) if sides[name] == each)
            for each in known
        }
        answers[text] = SuitePrediction(label, sides[label], summed)
    passed = {
        test.name: tuple(_judge_case(test, case, [answers[text] for text in case.texts]) for case in test.cases)
        for test in suite.tests
    }
    return SuiteResult(run, suite, sides, answers, passed)


def _judge_case(test: SuiteTest, case: SuiteCase, answers: Sequence[SuitePrediction]) -> bool | None:
    """Return whether a run passes a test case; None if the run has no class that could be right."""
    if test.kind == "invariance":
        return len({answer.label for answer in answers}) == 1
    if not set(case.expected) & answers[0].probabilities.keys():
        return None
    if test.kind == "minimum":
        return answers[0].side in case.expected
    before, after = (answer.probabilities[case.expected[0]] for answer in answers)
    return after > before + test.tolerance if test.must == "rise" else after >= before - test.tolerance


FOLDER = "behaviour"


@dataclass(frozen=True, eq=False)
class SuiteAnswers(Analysis[list[list[float]]]):
    """The class probabilities, (n, C), that a run gives the n texts of a behavioural test suite (a cached job)."""

    run: str
    suite: Suite
    chosen: Mapping[str, str]
    """The user's map, class → polarity (`core.behavioral_tests.suite_predictions.find_polarities`)."""

    AT_ONCE: ClassVar[int] = 2000  # Texts that a page predicts without a click, at most; that takes some seconds
    name = FOLDER
    shape = list[list[float]]
    offer = Offer(
        "Test the model",
        "Testing the model",
        "The model could not be tested",
        "The model reads all texts of this suite. This may take a few minutes; the result is stored.",
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
