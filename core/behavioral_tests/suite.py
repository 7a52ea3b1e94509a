"""Suites of behavioural tests: capabilities, tests and their cases. Imports nothing heavy.

The three kinds are those of CheckList (Ribeiro, Wu, Guestrin and Singh, ACL 2020): minimum functionality, invariance
and direction. Contrast sets (Gardner et al., Findings of EMNLP 2020) are groups of cases of the first kind.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Literal, get_args

from core.exceptions import DataError
from core.fingerprint import hash_value
from core.formatting import count

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
    path: str = ""
    """The file that it was read from; empty: the built-in suite."""

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
