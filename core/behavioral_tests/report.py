"""The report of several runs on a behavioural test suite, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

from core.behavioral_tests.failure_rates import (
    RateDifference,
    compare_failures,
    count_consistent,
    count_failures,
    estimate_agreement,
    judge_interval,
)
from core.behavioral_tests.outcomes import SuiteResult
from core.behavioral_tests.suite import SuiteCase, SuiteTest
from core.evaluation.comparison import apply_holm
from core.evaluation.intervals import compute_wilson
from core.evaluation.significance import ALPHA

Pairs = list[tuple[str, bool | None]]


def build_report(runs: Sequence[SuiteResult]) -> dict[str, Any]:
    """Return runs' failure rates by capability and test, failing cases, and differences; see `core.api.behave`."""
    suite, agreements = runs[0].suite, {each.run: _estimate_agreement(each) for each in runs}
    return {
        "suite": {
            "name": suite.name,
            "about": suite.about,
            "digest": suite.digest,
            "tests": len(suite.tests),
            "capabilities": len(suite.capabilities),
            "cases": suite.size,
            "texts": len(suite.texts),
        },
        "runs": [
            {
                "run": each.run,
                "polarities": dict(each.sides),
                "agreement": agreements[each.run],
                **_summarize_rate(each, suite.tests, agreements[each.run]),
            }
            for each in runs
        ],
        "capabilities": [
            {
                "capability": name,
                "must": list(dict.fromkeys(test.words for test in tests)),
                "rates": {each.run: _summarize_rate(each, tests, agreements[each.run]) for each in runs},
                "tests": [_describe_test(test, runs, agreements) for test in tests],
            }
            for name, tests in zip(suite.capabilities, map(suite.select_tests, suite.capabilities), strict=True)
        ],
        "differences": _compare_runs(runs, agreements),
    }


def _pair_outcomes(
    judged: SuiteResult, tests: Sequence[SuiteTest], name: Literal["template", "group"] = "template"
) -> Pairs:
    return [
        (getattr(case, name), passed)
        for test in tests
        for case, passed in zip(test.cases, judged.passed[test.name], strict=True)
    ]


def _estimate_agreement(judged: SuiteResult) -> float:
    groups = map(judged.suite.select_tests, judged.suite.capabilities)
    return estimate_agreement([count_failures(_pair_outcomes(judged, tests)) for tests in groups])


def _summarize_rate(judged: SuiteResult, tests: Sequence[SuiteTest], agreement: float) -> dict[str, Any]:
    """Return the failure rate of a run on some tests; `rate` and `interval` are None if no case applies."""
    found = count_failures(_pair_outcomes(judged, tests))
    interval = found.compute_interval(agreement)
    return {
        "n": found.n,
        "failed": found.total,
        "rate": found.rate if found.n else None,
        "interval": list(interval) if found.n else None,
        "verdict": judge_interval(interval),
        "not_asked": sum(len(test.cases) for test in tests) - found.n,
        "consistency": _summarize_contrast(judged, tests),
    }


def _summarize_contrast(judged: SuiteResult, tests: Sequence[SuiteTest]) -> dict[str, Any] | None:
    groups, right = count_consistent(_pair_outcomes(judged, tests, "group"))
    if not groups:
        return None
    return {"groups": groups, "right": right, "rate": right / groups, "interval": list(compute_wilson(right, groups))}


def _describe_test(test: SuiteTest, runs: Sequence[SuiteResult], agreements: dict[str, float]) -> dict[str, Any]:
    return {
        "test": test.name,
        "kind": test.kind,
        "must": test.words,
        "about": test.about,
        "tolerance": test.tolerance,
        "cases": len(test.cases),
        "rates": {each.run: _summarize_rate(each, (test,), agreements[each.run]) for each in runs},
        "failing": {each.run: [_describe_case(each, case) for case in each.list_failing(test)] for each in runs},
    }


def _describe_case(judged: SuiteResult, case: SuiteCase) -> dict[str, Any]:
    return {
        "texts": list(case.texts),
        "expected": list(case.expected),
        "answers": [
            {"label": each.label, "polarity": each.side, "probabilities": dict(each.probabilities)}
            for each in (judged.answers[text] for text in case.texts)
        ],
    }


def _compare_runs(runs: Sequence[SuiteResult], agreements: dict[str, float]) -> list[dict[str, Any]]:
    """Compare every two runs' failure rates on every capability, with Holm's correction of p-values and intervals."""
    suite, found = runs[0].suite, list[tuple[dict[str, Any], RateDifference]]()
    for name in suite.capabilities:
        for first, second in combinations(runs, 2):
            one, two = _pair_outcomes(first, suite.select_tests(name)), _pair_outcomes(second, suite.select_tests(name))
            own = max(agreements[first.run], agreements[second.run])
            gap = compare_failures([a for _, a in one], [b for _, b in two], [t for t, _ in one], own)
            if gap is not None:
                found.append(({"capability": name, "first": first.run, "second": second.run}, gap))
    return [
        {
            **named,
            "difference": gap.difference,
            "interval": list(gap.compute_interval(step.alpha)),
            "p": gap.p,
            "p_holm": step.p,
            "differ": step.p < ALPHA,
        }
        for (named, gap), step in zip(found, apply_holm([gap.p for _, gap in found]), strict=True)
    ]
