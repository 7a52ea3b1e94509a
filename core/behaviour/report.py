"""The report of several runs on a suite as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

from core.behaviour.judge import Answer, Judged
from core.behaviour.rates import RateDifference, agreement, compare_failures, consistency, failures, verdict
from core.behaviour.suite import Case, SuiteTest
from core.evaluation.comparison import holm
from core.evaluation.intervals import wilson
from core.evaluation.significance import ALPHA

Pairs = list[tuple[str, bool | None]]


def report(runs: Sequence[Judged]) -> dict[str, Any]:
    """Return failure rates by capability, test and run, failing cases, and differences; see `core.api.behave`."""
    suite, agreements = runs[0].suite, {each.run: _agreement(each) for each in runs}
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
        "runs": [_run(each, agreements[each.run]) for each in runs],
        "capabilities": [
            {
                "capability": name,
                "must": list(dict.fromkeys(test.words for test in suite.of(name))),
                "rates": {each.run: _rate(each, suite.of(name), agreements[each.run]) for each in runs},
                "tests": [_test(test, runs, agreements) for test in suite.of(name)],
            }
            for name in suite.capabilities
        ],
        "differences": _differences(runs, agreements),
    }


def _run(judged: Judged, agreement_: float) -> dict[str, Any]:
    rate = _rate(judged, judged.suite.tests, agreement_)
    return {"run": judged.run, "polarities": dict(judged.sides), "agreement": agreement_, **rate}


def _pairs(judged: Judged, tests: Sequence[SuiteTest], name: Literal["template", "group"] = "template") -> Pairs:
    return [
        (getattr(case, name), passed)
        for test in tests
        for case, passed in zip(test.cases, judged.passed[test.name], strict=True)
    ]


def _agreement(judged: Judged) -> float:
    suite = judged.suite
    return agreement([failures(_pairs(judged, suite.of(name))) for name in suite.capabilities])


def _rate(judged: Judged, tests: Sequence[SuiteTest], agreement_: float) -> dict[str, Any]:
    """Return the failure rate of some tests; `rate` and `interval` are None if no case applies."""
    found = failures(_pairs(judged, tests))
    interval = found.interval(agreement_)
    return {
        "n": found.n,
        "failed": found.total,
        "rate": found.rate if found.n else None,
        "interval": list(interval) if found.n else None,
        "verdict": verdict(interval),
        "not_asked": sum(len(test.cases) for test in tests) - found.n,
        "consistency": _consistency(judged, tests),
    }


def _consistency(judged: Judged, tests: Sequence[SuiteTest]) -> dict[str, Any] | None:
    groups, right = consistency(_pairs(judged, tests, "group"))
    if not groups:
        return None
    return {"groups": groups, "right": right, "rate": right / groups, "interval": list(wilson(right, groups))}


def _test(test: SuiteTest, runs: Sequence[Judged], agreements: dict[str, float]) -> dict[str, Any]:
    return {
        "test": test.name,
        "kind": test.kind,
        "must": test.words,
        "about": test.about,
        "tolerance": test.tolerance,
        "cases": len(test.cases),
        "rates": {each.run: _rate(each, (test,), agreements[each.run]) for each in runs},
        "failing": {each.run: [_failing(each, case) for case in each.failing(test)] for each in runs},
    }


def _failing(judged: Judged, case: Case) -> dict[str, Any]:
    return {
        "texts": list(case.texts),
        "expected": list(case.expected),
        "answers": [_said(judged.answers[text]) for text in case.texts],
    }


def _said(answer: Answer) -> dict[str, Any]:
    return {"label": answer.label, "polarity": answer.side, "probabilities": dict(answer.probabilities)}


def _differences(runs: Sequence[Judged], agreements: dict[str, float]) -> list[dict[str, Any]]:
    """Compare every two runs on every capability with Holm's correction; intervals at the level of their step."""
    suite, found = runs[0].suite, list[tuple[dict[str, Any], RateDifference]]()
    for name in suite.capabilities:
        for first, second in combinations(runs, 2):
            one, two = _pairs(first, suite.of(name)), _pairs(second, suite.of(name))
            own = max(agreements[first.run], agreements[second.run])
            gap = compare_failures([a for _, a in one], [b for _, b in two], [t for t, _ in one], own)
            if gap is not None:
                found.append(({"capability": name, "first": first.run, "second": second.run}, gap))
    return [
        {
            **named,
            "difference": gap.difference,
            "interval": list(gap.interval(step.alpha)),
            "p": gap.p,
            "p_holm": step.p,
            "differ": step.p < ALPHA,
        }
        for (named, gap), step in zip(found, holm([gap.p for _, gap in found]), strict=True)
    ]
