"""Rates at which a run calls sentences about people of different groups positive, and the largest gap of each kind.

`groups.yaml` has templates in which only the term for a group differs; the terms of each kind (religion, age …) are
those of the data set `people`, whose templates are others. A rate counts templates, so its interval is Wilson's. A gap
is the difference between the groups of a kind with the highest and the lowest rate, paired by template (Newcombe);
since these two are picked afterwards, its interval has the level 1 − 0.05 / pairs, so that a gap whose interval
excludes 0 is not due to the picking.
"""

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import product
from statistics import fmean
from typing import Any, Literal, get_args

from core.behavioral_tests.report import compare_failures
from core.behavioral_tests.suite import Suite, SuiteCase, SuiteTest
from core.behavioral_tests.suite_predictions import SuiteAnswers, SuiteResult
from core.data.sources.builtin.people import fill_slot, read_groups
from core.data.yaml_tree import parse_yaml
from core.evaluation.intervals import compute_wilson
from core.evaluation.significance import ALPHA
from core.exceptions import InputError
from core.formatting import count, number, whole_percent
from core.json_store import convert
from core.runs.store import RunStore

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
