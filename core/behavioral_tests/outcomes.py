"""The decision whether a run passes each case of a behavioural test suite, from its class probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.behavioral_tests.polarity import Sides
from core.behavioral_tests.suite import POLARITIES, Polarity, Suite, SuiteCase, SuiteTest


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
    if test.must == "rise":
        return after > before + test.tolerance
    return after >= before - test.tolerance
