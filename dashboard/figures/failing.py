"""The cases that a run does not pass, with what every run says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.behaviour.judge import Answer
from core.behaviour.suite import Case, SuiteTest
from dashboard.figures.behaviour import Behaved
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count, number
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

WIDTHS = {"sentence": 380, "must": 95, "test": 150}
"""Pixels: sentence, what it must be and two runs are seen without scrolling at 1024; the test stands last."""
RUN = 90
"""Pixels of a probability."""
TO = " → "
"""Between the texts of a case, and between what is said of them."""


@dataclass(frozen=True)
class Failing:
    """Cases of a capability, or of one of its tests, that a run does not pass."""

    behaved: Behaved
    name: str
    """Of the capability or the test."""
    run: str
    cases: tuple[tuple[SuiteTest, Case], ...]
    asked: int

    @property
    def single(self) -> bool:
        """Whether every case is one text with an expected answer, so that one probability says it."""
        return all(test.kind == "minimum" for test, _ in self.cases)


def failing(behaved: Behaved, picked: str, run: str) -> Failing:
    """What a run does not pass of a picked row.

    Args:
        behaved: What is shown.
        picked: The id of a row of the table of marks.
        run: One of its runs.
    """
    kind, _, name = picked.partition(" ")
    judged = behaved.judged[run]
    tests = [test for test in judged.suite.tests if name == (test.capability if kind == "capability" else test.name)]
    cases = tuple((test, case) for test in tests for case in judged.failing(test))
    asked = sum(passed is not None for test in tests for passed in judged.passed[test.name])
    return Failing(behaved, name, run, cases, asked)


def failing_table(found: Failing) -> pd.DataFrame:
    """A row each: the texts, the test, what was expected, and what every run says.

    A column for each run holds the probability of what is expected, or, where texts are compared, the answers to them
    with their probabilities. `text` is the one to look into: the last.
    """
    import pandas as pd

    rows = []
    for test, case in found.cases:
        row: dict[str, str | float] = {"sentence": TO.join(case.texts), "test": test.name, "must": _asked(test, case)}
        for run in found.behaved.runs:
            answers = [found.behaved.judged[run].answers[text] for text in case.texts]
            row[run] = _expected(answers[0], case) if found.single else TO.join(_told(each, case) for each in answers)
        rows.append({**row, "text": case.texts[-1]})
    return pd.DataFrame(rows, columns=["sentence", "test", "must", *found.behaved.runs, "text"])


def _asked(test: SuiteTest, case: Case) -> str:
    return " ".join(filter(None, (test.words.removeprefix("must "), " or ".join(case.expected))))


def _expected(answer: Answer, case: Case) -> float:
    return sum(answer.probabilities.get(side, 0.0) for side in case.expected)


def _told(answer: Answer, case: Case) -> str:
    """The probability of what is expected; where nothing is, the answer with its own."""
    if case.expected:
        return number(_expected(answer, case), 2)
    chance = answer.probabilities.get(answer.side, 0.0) if answer.side else 0.0
    return f"{answer.label} {number(chance, 2)}"


def _draw(found: Failing, look: Look) -> Table:
    several = len({test.name for test, _ in found.cases}) > 1
    shown = ["sentence", "must", *found.behaved.runs, *(["test"] if several else [])]
    columns = {name: Column(name.capitalize(), width=width) for name, width in WIDTHS.items()}
    own = Column(decimals=2, width=RUN) if found.single else Column()
    columns |= dict.fromkeys(found.behaved.runs, own)
    return Table(failing_table(found)[shown], columns)


FAILING = Figure(
    "failing",
    "behave",
    lambda found: f"Failing: {found.name}",
    None,
    _draw,
    note=lambda found: f"{count(len(found.cases))} of {count(found.asked)} fail for {found.run}",
    reading="Under each run: how likely it finds the expected answer; where the answer must not change, its answers.",
    tables=lambda found: {"Failing": failing_table(found).drop(columns="text")},
)
