"""Failure rates of runs on a behavioural test suite, with their intervals, and the report as plain data for JSON.

Sentences of one template are not independent: a model that fails one is likely to fail the others too. Their agreement
ρ (the intracluster correlation of failures) is estimated once per run over the whole suite, by analysis of variance
between templates of the same capability (Ridout, Demétrio and Firth, Biometrics 1999, eq. 2). The effective number of
sentences is n / (1 + (m − 1) ρ) (Kish 1965; m = Σ nₖ² / n, nₖ sentences of template k), and the interval is Wilson's
for that number. A bootstrap of templates would give no uncertainty if all templates pass, and needs more templates.

Also the rates at which a run calls sentences about people of different groups positive, and the largest gap of each
kind. `groups.yaml` has templates in which only the term for a group differs; the terms of each kind (religion, age …)
are those of the data set `people`, whose templates are others. A rate counts templates, so its interval is Wilson's. A
gap is the difference between the groups of a kind with the highest and the lowest rate, paired by template (Newcombe);
since these two are picked afterwards, its interval has the level 1 − 0.05 / pairs, so that a gap whose interval
excludes 0 is not due to the picking.
"""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import combinations, product
from statistics import fmean
from typing import Any, Literal, get_args

from core.behavioral_tests.suite import Suite, SuiteAnswers, SuiteCase, SuiteResult, SuiteTest
from core.data.sources.builtin.corpus_files import fill_slot, read_groups
from core.data.yaml_tree import parse_yaml
from core.evaluation.comparison import apply_holm
from core.evaluation.intervals import LEVEL, compute_wilson
from core.evaluation.significance import ALPHA
from core.exceptions import InputError
from core.formatting import count, number, whole_percent
from core.json_store import convert
from core.lazy_imports import scipy
from core.runs.store import RunStore

TOLERATED = 0.3
"""A capability fails if the whole interval of its failure rate is above this rate, and passes if it is below."""

Verdict = Literal["passes", "fails", "open"]


@dataclass(frozen=True)
class Failures:
    """The numbers of a run's test cases and failures for each template."""

    cases: Mapping[str, int]
    failed: Mapping[str, int]

    @property
    def n(self) -> int:
        """Return the number of test cases."""
        return sum(self.cases.values())

    @property
    def total(self) -> int:
        """Return the number of failed test cases."""
        return sum(self.failed.values())

    @property
    def rate(self) -> float:
        """Return the failure rate of the test cases; 0 without cases."""
        return self.total / self.n if self.n else 0.0

    def compute_effective_n(self, agreement: float) -> float:
        """Return the effective number of test cases, which is lower if cases of one template tend to fail together."""
        if not self.n:
            return 0.0
        sisters = sum(size**2 for size in self.cases.values()) / self.n
        return self.n / (1 + (sisters - 1) * agreement)

    def compute_interval(self, agreement: float, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval of the failure rate of the test cases; 0 to 1 without cases."""
        effective = self.compute_effective_n(agreement)
        return compute_wilson(self.rate * effective, effective, level)


def count_failures(cases: Sequence[tuple[str, bool | None]]) -> Failures:
    """Count test cases and failures by template, from pairs (template, passed); cases with None do not count."""
    asked = [(template, passed) for template, passed in cases if passed is not None]
    return Failures(Counter(each for each, _ in asked), Counter(each for each, passed in asked if not passed))


def estimate_agreement(groups: Sequence[Failures]) -> float:
    """Return the intracluster correlation ρ of failures in templates, 0 to 1, by analysis of variance.

    It is 1, the most cautious value, if it cannot be estimated (no variation, or one case per template).
    """
    between = within = squares = 0.0
    templates = rows = 0
    for group in (group for group in groups if group.n):
        counts = [(n, group.failed.get(name, 0)) for name, n in group.cases.items()]
        between += sum(n * (failed / n - group.rate) ** 2 for n, failed in counts)
        within += sum(failed * (n - failed) / n for n, failed in counts)
        squares += sum(n**2 for n in group.cases.values()) / group.n
        templates, rows = templates + len(group.cases), rows + group.n
    free = templates - sum(1 for group in groups if group.n)
    if rows == templates or free < 1 or between + within == 0:
        return 1.0
    size = (rows - squares) / free
    a, b = between / free, within / (rows - templates)
    return min(1.0, max(0.0, (a - b) / (a + (size - 1) * b)))


def judge_interval(interval: tuple[float, float]) -> Verdict:
    """Return whether the interval of a failure rate means `passes`, `fails` or `open`."""
    low, high = interval
    return "fails" if low > TOLERATED else "passes" if high < TOLERATED else "open"


def count_consistent(groups: Sequence[tuple[str, bool | None]]) -> tuple[int, int]:
    """Count the contrast sets that were tested and those that passed in full, from pairs (group, passed)."""
    found: dict[str, bool] = defaultdict(lambda: True)
    for group, passed in groups:
        if group and passed is not None:
            found[group] = found[group] and passed
    return len(found), sum(found.values())


@dataclass(frozen=True)
class RateDifference:
    """The difference of two runs' failure rates on the same cases, with a p-value that agrees with the interval."""

    first: Failures
    second: Failures
    together: float  # φ: the correlation of both failing a case
    agreement: float  # ρ of failures within a template, the larger of the two runs'

    @property
    def difference(self) -> float:
        """Return the failure rate of the first run minus that of the second."""
        return self.first.rate - self.second.rate

    @cached_property
    def p(self) -> float:
        """Return the two-sided p-value of the rate difference, derived from its confidence interval; at least 1e-12."""
        least = 1e-12
        if not self.difference:
            return 1.0
        if self._measure_distance(least) > 0:
            return least
        return float(scipy.optimize.brentq(self._measure_distance, least, 1.0, xtol=1e-14))

    def compute_interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval of the rate difference at level 1 − alpha (Newcombe, Stat. Med. 1998, 17:2635).

        This is his method 10 without the continuity correction of φ. Without it, two equally good runs differ
        significantly in 1 to 6 % of simulated suites, since sentences of one template count less.
        """
        runs, level = (self.first, self.second), 1 - alpha
        (low, high), (low_, high_) = (each.compute_interval(self.agreement, level) for each in runs)
        p, q, gap = self.first.rate, self.second.rate, self.difference
        return gap - self._combine_widths(p - low, high_ - q), gap + self._combine_widths(high - p, q - low_)

    def _combine_widths(self, a: float, b: float) -> float:
        return math.sqrt(max(0.0, a**2 - 2 * self.together * a * b + b**2))

    def _measure_distance(self, alpha: float) -> float:
        """Return how far 0 lies outside the interval of the rate difference; negative if 0 lies inside."""
        low, high = self.compute_interval(alpha)
        return low if self.difference > 0 else -high


def compare_failures(
    first: Sequence[bool | None], second: Sequence[bool | None], templates: Sequence[str], agreement: float
) -> RateDifference | None:
    """Compare the failure rates of two runs on the test cases that both were tested on; None without any.

    `first` and `second` hold whether each case passed (None: not tested); `agreement` is the larger ρ of the two runs.
    """
    both = [(t, a, b) for t, a, b in zip(templates, first, second, strict=True) if a is not None and b is not None]
    if not both:
        return None
    one, two = count_failures([(t, a) for t, a, _ in both]), count_failures([(t, b) for t, _, b in both])
    p, q = one.rate, two.rate
    spread = math.sqrt(p * (1 - p) * q * (1 - q))
    together = (sum(not a and not b for _, a, b in both) / len(both) - p * q) / spread if spread else 0.0
    return RateDifference(one, two, together, agreement)


Pairs = list[tuple[str, bool | None]]


def build_report(runs: Sequence[SuiteResult]) -> dict[str, Any]:
    """Return runs' failure rates by capability and test, failing cases, and differences; see `core.api.behave`."""
    suite = runs[0].suite
    groups = [suite.select_tests(name) for name in suite.capabilities]
    counted = {each.run: [count_failures(_pair_outcomes(each, tests)) for tests in groups] for each in runs}
    agreements = {run: estimate_agreement(each) for run, each in counted.items()}
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
            for name, tests in zip(suite.capabilities, groups, strict=True)
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


def _summarize_rate(judged: SuiteResult, tests: Sequence[SuiteTest], agreement: float) -> dict[str, Any]:
    """Return the failure rate of a run on some tests; `rate` and `interval` are None if no case applies."""
    found = count_failures(_pair_outcomes(judged, tests))
    interval = found.compute_interval(agreement)
    sets, right = count_consistent(_pair_outcomes(judged, tests, "group"))
    ends, share = list(compute_wilson(right, sets)), right / max(1, sets)
    return {
        "n": found.n,
        "failed": found.total,
        "rate": found.rate if found.n else None,
        "interval": list(interval) if found.n else None,
        "verdict": judge_interval(interval),
        "not_asked": sum(len(test.cases) for test in tests) - found.n,
        "consistency": {"groups": sets, "right": right, "rate": share, "interval": ends} if sets else None,
    }


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


Tone = Literal["neutral", "praising", "blaming"]
TONES: tuple[Tone, ...] = get_args(Tone)
FILE = "groups.yaml"
WIDE = 0.15  # gap in neutral sentences above which the summary counts a kind


@functools.cache
def load_group_templates() -> dict[Tone, list[str]]:
    """Return the templates that come with Sentiscope, by tone."""
    content = (resources.files("core.behavioral_tests") / FILE).read_bytes()
    return convert(parse_yaml(content, FILE), dict[Tone, list[str]])


@functools.cache
def load_group_suite() -> Suite:
    """Return all filled templates as a suite: a test for each kind and tone; the group of a case is its term."""
    tests = list[SuiteTest]()
    for kind, terms in read_groups().items():
        for tone, templates in load_group_templates().items():
            pairs = product(templates, terms)
            cases = (SuiteCase((fill_slot(text, term),), template=text, group=term) for text, term in pairs)
            tests.append(SuiteTest(f"{kind} {tone}", kind, "minimum", tuple(cases)))
    return Suite("Groups of people", tuple(tests))


def measure_groups(judged: SuiteResult) -> dict[str, Any]:
    """Return a run's rate of positive answers for each group and tone, and the largest gap of each kind and tone.

    Returns:
        `run`, `terms`, `templates`; `groups`: `kind`, `group`, `tone`, `n` templates, of which `positive`, `rate` and
        its 95 % `interval`, and the mean `probability` of the positive class; `gaps`: `kind`, `tone`, the groups with
        the `highest` and `lowest` rate, the `gap` and its `interval`, corrected for the number of pairs, and
        `probability_gap`, the largest difference of the mean probability.
    """
    rates, gaps = list[dict[str, Any]](), list[dict[str, Any]]()
    for test in judged.suite.tests:
        tone, answers = test.name.removeprefix(f"{test.capability} "), dict[str, dict[str, bool]]()
        chances = dict[str, list[float]]()
        for case in test.cases:
            answer = judged.answers[case.texts[0]]
            answers.setdefault(case.group, {})[case.template] = answer.side == "positive"
            chances.setdefault(case.group, []).append(answer.probabilities["positive"])
        means = {group: fmean(own) for group, own in chances.items()}
        about = {"kind": test.capability, "tone": tone}
        for term, said in answers.items():
            n, hits = len(said), sum(said.values())
            ends = list(compute_wilson(hits, n))
            rate = {"positive": hits, "rate": hits / n, "interval": ends, "probability": means[term]}
            rates.append({**about, "group": term, "n": n, **rate})
        apart = max(means.values()) - min(means.values())
        gaps.append({**about, **_compare_extremes(answers), "probability_gap": apart})
    sizes = {
        "terms": sum(map(len, read_groups().values())),
        "templates": sum(map(len, load_group_templates().values())),
    }
    return {"run": judged.run, **sizes, "groups": rates, "gaps": gaps}


def _compare_extremes(answers: Mapping[str, Mapping[str, bool]]) -> dict[str, Any]:
    """Compare the groups with the highest and the lowest rate of positive answers, paired by template."""
    highest = max(answers, key=lambda term: sum(answers[term].values()))
    lowest = min(list(answers)[::-1], key=lambda term: sum(answers[term].values()))
    low, high = ([*answers[term].values()] for term in (lowest, highest))
    found = compare_failures(low, high, list(answers[lowest]), 1.0)  # of the lowest, more are not positive
    assert found is not None
    pairs = len(answers) * (len(answers) - 1) / 2
    ends = list(found.compute_interval(ALPHA / pairs))
    gap = (sum(answers[highest].values()) - sum(answers[lowest].values())) / len(low)
    return {"highest": highest, "lowest": lowest, "gap": gap, "interval": ends}


def find_groups(
    store: RunStore, run: str, chosen: Mapping[str, str] | None = None, *, stored: bool = False
) -> dict[str, Any] | None:
    """Return a run's rates by group, computed unless `stored` is set; None: not stored, or no positive class."""
    try:
        job = SuiteAnswers.from_suite(store, run, load_group_suite(), chosen)
        judged = None if stored and job.read() is None else job.judge()
    except InputError:
        return None
    return measure_groups(judged) if judged and "positive" in judged.sides.values() else None


def select_gaps(found: Mapping[str, Any], tone: Tone = "neutral") -> list[Mapping[str, Any]]:
    """Return the gaps of one tone, the largest first."""
    return sorted((each for each in found["gaps"] if each["tone"] == tone), key=lambda each: -each["gap"])


def summarize_groups(found: Mapping[str, Any], run: str = "") -> str:
    """Say in sentences how far a run judges people of a kind apart in neutral sentences."""
    (worst, *others), rates = select_gaps(found), {(each["group"], each["tone"]): each for each in found["groups"]}
    wide = sum(each["gap"] > WIDE for each in (worst, *others))
    sure = sum(each["interval"][0] > 0 for each in (worst, *others))
    high, low = (
        f"{whole_percent(rates[worst[name], 'neutral']['rate'])} of those with “{worst[name]}”"
        for name in ("highest", "lowest")
    )
    said = f"Of neutral sentences, {run or found['run']} calls {high} positive, and {low}: {write_gap(worst)}"
    of = f"{count(wide)} of {count(len(others) + 1)} kinds have groups over {round(100 * WIDE)} points apart, "
    of += f"{count(sure)} beyond chance"
    mean = max(each["probability_gap"] for each in (worst, *others))
    return f"{said}. {of}. Mean probabilities differ by up to {round(100 * mean)} points."


def write_gap(gap: Mapping[str, Any]) -> str:
    """Write a gap between two groups with its interval, in points."""
    low, high = (number(100 * end, 0) for end in gap["interval"])
    return f"{round(100 * gap['gap'])} points apart ({low} to {high})"


def list_gap_rows(found: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return a printed row for each kind: the largest gap of each run in neutral sentences, and its two groups."""
    rows = {kind: {"kind": kind} for kind in read_groups()}
    for each in found:
        for gap in select_gaps(each):
            rows[gap["kind"]][each["run"]] = f"{gap['highest']}, {gap['lowest']}: {write_gap(gap)}"
    return list(rows.values())
