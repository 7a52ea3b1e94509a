"""Suites of behavioural tests: capabilities, tests and their cases, their format in YAML, and edits of texts.

The three kinds are those of CheckList (Ribeiro, Wu, Guestrin and Singh, ACL 2020): minimum functionality, invariance
and direction. Contrast sets (Gardner et al., Findings of EMNLP 2020) are groups of cases of the first kind.

    name: my suite
    slots:                                # words for several tests
      thing: [film, soup, hotel]
    tests:
      - name: plain praise                # minimum functionality: the answer must be the expected one
        capability: vocabulary
        kind: minimum
        expected: positive                # negative, neutral, positive, or a list of all that are right
        texts: ["The {thing} was {good}."]
        slots: {good: [excellent, superb]}
        most: 4                           # fillings of each text at most, drawn with `seed`
      - name: not                         # contrast sets: each filling is a group, which passes if all its texts do
        capability: negation
        kind: minimum
        contrast: [{positive: "I like the {thing}.", negative: "I do not like the {thing}."}]
      - name: capitals                    # invariance: the answer must not change
        capability: robustness
        kind: invariance
        texts: ["The {thing} was dull."]
        edits: [upper case]               # or `vary: thing`, or pairs: [[before, after]]
      - name: very                        # direction: the expected polarity's probability must not weaken, or rise
        capability: intensifiers
        kind: direction
        expected: positive
        must: rise                        # by more than the tolerance; `not weaken` (the default) allows a fall by it
        tolerance: 0.05
        pairs: [["The {thing} was good.", "The {thing} was very good."]]

A word in braces is a slot. Also the predictions of a run on a suite, the polarities of its classes, and which cases it
passes.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

import msgspec

from core import runs
from core.cache import get_cache_folder
from core.exceptions import DataError, InputError
from core.fingerprint import hash_file, hash_value
from core.formatting import count
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.record import MIX, SPEAKING, refuse_tagged
from core.runs.store import RunStore
from core.text.words import build_mark_class

Polarity = Literal["negative", "neutral", "positive"]
POLARITIES: tuple[Polarity, ...] = get_args(Polarity)
Kind = Literal["minimum", "invariance", "direction"]
Must = Literal["not weaken", "rise"]
MOST_CASES = 20_000  # of a suite, at most; a transformer on a CPU predicts these in minutes
LONGEST = 5_000  # characters of a text with filled slots, at most
MOST_CHARACTERS = 10_000_000  # of all texts of a suite together, at most


@dataclass(frozen=True)
class SuiteCase:
    """A behavioural test case: one or more texts, passed or failed together."""

    texts: tuple[str, ...]  # minimum: one · invariance: two or more with the same meaning · direction: before, after
    expected: tuple[Polarity, ...] = ()
    """minimum: all correct answers · direction: the polarity whose probability is compared · invariance: none."""
    template: str = ""  # cases with the same template are not independent
    group: str = ""  # contrast set, which passes if all its cases do; empty: none


@dataclass(frozen=True)
class SuiteTest:
    """A behavioural test: cases with the same requirement on the prediction."""

    name: str
    capability: str
    kind: Kind
    cases: tuple[SuiteCase, ...]
    about: str = ""
    must: Must = "not weaken"  # direction: what the probability of the expected polarity must do
    tolerance: float = 0.0  # direction: by how much it may fall, or must rise at least

    @property
    def words(self) -> str:
        """Return in words what the test requires of the prediction."""
        return {"minimum": "must be", "invariance": "must not change", "direction": f"must {self.must}"}[self.kind]


@dataclass(frozen=True)
class Suite:
    """A named list of behavioural tests."""

    name: str
    tests: tuple[SuiteTest, ...]
    about: str = ""
    path: str = ""  # The file that it was read from; empty: the built-in suite

    @functools.cached_property
    def capabilities(self) -> tuple[str, ...]:
        """Return the capabilities that the suite tests, in the order of their first test."""
        return tuple(dict.fromkeys(test.capability for test in self.tests))

    @functools.cached_property
    def texts(self) -> tuple[str, ...]:
        """Return every distinct text of the suite's test cases, in order."""
        return tuple(dict.fromkeys(text for test in self.tests for case in test.cases for text in case.texts))

    @functools.cached_property
    def digest(self) -> str:
        """Return the SHA-256 digest (64 hex digits) of all tests of the suite."""
        return hash_value([dataclasses.asdict(test) for test in self.tests])

    @functools.cached_property
    def size(self) -> int:
        """Return the number of cases in all tests of the suite."""
        return sum(len(test.cases) for test in self.tests)

    def select_tests(self, capability: str) -> tuple[SuiteTest, ...]:
        """Return the tests of the suite for one capability."""
        return tuple(test for test in self.tests if test.capability == capability)


def check_suite(suite: Suite, *, file: str) -> Suite:
    """Check a test suite and return it; DataError for no test, repeated names, or too many cases or characters."""
    if not suite.tests:
        raise DataError("it holds no test", file=file)
    names: set[str] = set()
    for test in suite.tests:
        if test.name in names:
            raise DataError(f"two tests are called '{test.name}'; give each its own name", file=file)
        names.add(test.name)
    refuse_too_many(suite.size, file=file)
    if sum(len(text) for test in suite.tests for case in test.cases for text in case.texts) > MOST_CHARACTERS:
        found = f"its texts have more than {count(MOST_CHARACTERS)} characters together"
        raise DataError(f"{found}; take some tests out", file=file)
    return suite


def refuse_too_many(cases: int, *, file: str) -> None:
    """Refuse a test suite with too many cases; raises DataError."""
    if cases > MOST_CASES:
        found = f"it comes to more than {count(MOST_CASES)} cases"
        raise DataError(f"{found}; take some tests out, or lower their `most`", file=file)


Edit = Literal["lower case", "upper case", "no punctuation", "exclamation", "typo", "doubled letter"]

_SIGNS = rf"{build_mark_class()}\u200c\u200d"  # vowel signs and joiners, which belong to a letter
_INSIDE = re.compile(r"[^\W\d_]{5,}")  # words long enough to stay readable with a typo

EDITS: dict[Edit, Callable[[str], str]] = {
    "lower case": str.lower,
    "upper case": str.upper,
    "no punctuation": lambda text: " ".join(re.sub(rf"[^\w\s'’#@{_SIGNS}-]", " ", text).split()),
    "exclamation": lambda text: re.sub(r"\.$", "!", text),
    "typo": lambda text: _change_word(text, lambda word, at: word[:at] + word[at + 1] + word[at] + word[at + 2 :]),
    "doubled letter": lambda text: _change_word(text, lambda word, at: word[: at + 1] + word[at:]),
}  # The same text always gets the same change; # and @ are no punctuation


def _change_word(text: str, change: Callable[[str, int], str]) -> str:
    """Change the inside of one long word of a text, not its first or last letter, if any word is long enough."""
    words = list(_INSIDE.finditer(text))
    random_ = random.Random(text)
    random_.shuffle(words)
    for word in words:
        places = list(range(1, len(word[0]) - 2))
        random_.shuffle(places)
        for at in places:
            if (changed := change(word[0], at)) != word[0]:
                return text[: word.start()] + changed + text[word.end() :]
    return text


MOST = 4  # fillings of a text, by default
TOLERANCE = 0.1

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
Slots = dict[str, Annotated[list[Text], msgspec.Meta(min_length=1)]]
Pair = Annotated[list[Text], msgspec.Meta(min_length=2, max_length=2)]


class WrittenTest(msgspec.Struct, forbid_unknown_fields=True):
    """A behavioural test as written in a YAML file."""

    name: Name
    capability: Name
    kind: Kind
    about: str = ""
    expected: Polarity | list[Polarity] | None = None
    texts: list[Text] = []
    pairs: list[Pair] = []
    contrast: list[dict[Polarity, Text]] = []
    slots: Slots = {}
    vary: str = ""
    edits: list[Edit] = []
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = MOST
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
    must: Must = "not weaken"
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1)] = TOLERANCE


class WrittenSuite(msgspec.Struct, forbid_unknown_fields=True):
    """A test suite as written in a YAML file; tests are converted one by one, so that errors name the test."""

    name: Name
    tests: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    about: str = ""
    slots: Slots = {}


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
    """The user's map, class → polarity (`core.behavioral_tests.suite.find_polarities`)."""

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
