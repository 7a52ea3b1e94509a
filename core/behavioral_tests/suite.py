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

A word in braces is a slot.
"""

import dataclasses
import functools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import msgspec

from core.exceptions import DataError
from core.fingerprint import hash_value
from core.formatting import count
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
