"""Behavioural tests: failure rates by capability and run, a summary sentence, and the cases that a run fails."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from core.behavioral_tests.report import TOLERATED, TONES, WIDE, build_report, select_gaps, summarize_groups, write_gap
from core.behavioral_tests.suite import SuiteCase, SuitePrediction, SuiteResult, SuiteTest
from core.formatting import count, number, whole_percent
from dashboard.figures.drawing import DataTable, TableColumn
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import Axis, Cell, IntervalColumn, IntervalRow, Mark, Marks, TextCell
from dashboard.figures.theme import Look, Tokens

NAMED = 3
_SHARES = Axis(0.0, 1.0, (0.0, 0.5, 1.0), ("0", "0.5", "1"), band=(0.0, TOLERATED))
WIDTHS = {"sentence": 380, "must": 95, "test": 150}
"""Column widths: sentence, expectation and two runs fit into 1024 pixels; the test comes last."""
RUN = 90
TO = " → "
STARTERS_APART = "Six starters learned from the same sentences about all groups; gaps of up to 33 points are left."


@dataclass(frozen=True)
class BehaviorResults:
    """Behavioural test results of several runs, with the name of the run that the page shows."""

    judged: Mapping[str, SuiteResult]  # run → its results
    run: str
    picked: str = ""  # the selected table row: `capability NAME` or `test NAME`; empty: none
    names: Mapping[str, str] = field(default_factory=dict)  # run → displayed name; without an entry its id

    @cached_property
    def report(self) -> dict[str, Any]:
        """Return the behavioural test report of all runs (`core.behavioral_tests.report`)."""
        return build_report(list(self.judged.values()))

    @property
    def runs(self) -> list[str]:
        """Return the names of the tested runs, first the run that the page shows."""
        return sorted(self.judged, key=lambda name: name != self.run)

    def label_run(self, run: str) -> str:
        """Return how a tested run is called where people read it."""
        return self.names.get(run, run)

    @property
    def capabilities(self) -> list[Mapping[str, Any]]:
        """Return the tested capabilities, sorted by the shown run's failure rate: highest first, missing rates last."""
        return sorted(self.report["capabilities"], key=lambda each: -_get_rate(each["rates"][self.run]))


def _get_rate(rate: Mapping[str, Any]) -> float:
    return -1.0 if rate["rate"] is None else float(rate["rate"])


def join_names(names: Sequence[str]) -> str:
    """Join names as `a, b and c`; from a longer list, name the first ones and count the others."""
    first, more = list(names[:NAMED]), len(names) - NAMED
    if more > 0:
        return f"{', '.join(first)} and {count(more)} more"
    return " and ".join(filter(None, (", ".join(first[:-1]), first[-1]))) if first else ""


def summarize_rates(behaved: BehaviorResults) -> tuple[str, str]:
    """Summarise behavioural failure rates in one sentence, and return a second text with the numbers behind it."""
    run = behaved.run
    asked = [each for each in behaved.capabilities if each["rates"][run]["n"]]
    kinds = {
        kind: [each for each in asked if each["rates"][run]["verdict"] == kind] for kind in ("passes", "fails", "open")
    }
    fails = join_names([each["capability"] for each in kinds["fails"]])
    said = f"{behaved.label_run(run)} passes {len(kinds['passes'])} of {len(asked)} capabilities"
    said += f", but fails {fails}." if fails else " and clearly fails none."
    rates = [whole_percent(_get_rate(each["rates"][run])) for each in kinds["fails"][:NAMED]]
    behind = [f"Failure rate: {join_names(rates)}."] if rates else []
    if still_open := len(kinds["open"]):
        are, span = ("is", "its interval includes") if still_open == 1 else ("are", "their intervals include")
        behind.append(f"{count(still_open)} {are} inconclusive: {span} the limit of {whole_percent(TOLERATED)}.")
    return said, " ".join([*behind, *_describe_differences(behaved)])


def _describe_differences(behaved: BehaviorResults) -> list[str]:
    found = []
    for other in behaved.runs[1:]:
        pair = {behaved.run, other}
        rows = [each for each in behaved.report["differences"] if {each["first"], each["second"]} == pair]
        where = sorted((each for each in rows if each["differ"]), key=lambda each: -abs(each["difference"]))
        names = join_names([each["capability"] for each in where])
        name = behaved.label_run(other)
        found.append(f"It differs from {name} on {names}." if names else f"It shows no clear difference from {name}.")
    return found


def count_contrast_sets(behaved: BehaviorResults) -> str:
    """Describe how many contrast sets each run answers completely correctly; empty if there are no contrast sets."""
    sets = {name: [0, 0] for name in behaved.runs}
    for each in behaved.report["capabilities"]:
        for name, rate in each["rates"].items():
            if rate["consistency"]:
                sets[name][0] += rate["consistency"]["right"]
                sets[name][1] += rate["consistency"]["groups"]
    told = [f"{count(right)} of {count(n)} ({behaved.label_run(name)})" for name, (right, n) in sets.items() if n]
    return f"Contrast sets fully correct: {', '.join(told)}." if told else ""


def build_rates_marks(behaved: BehaviorResults, tokens: Tokens) -> Marks:
    """Build the table of failure rates with intervals: a row for each capability, which unfolds to its tests."""
    examples = {test.capability: test.cases[0].texts[-1] for test in behaved.judged[behaved.run].suite.tests[::-1]}
    columns = [
        IntervalColumn("capability", "Capability", f"{max(28 - 5 * (len(behaved.runs) - 1), 15)}rem"),
        IntervalColumn("must", "the answer …", "11rem", soft=True, opt=True),
        IntervalColumn("cases", "cases", "3.8rem", number=True, soft=True, opt=True),
    ]
    for name in behaved.runs:
        columns += [
            IntervalColumn(f"mark {name}", behaved.label_run(name), axis=_SHARES),
            IntervalColumn(f"rate {name}", "", "3.4rem", number=True),
        ]
    rows = []
    for each in behaved.capabilities:
        name, tests = each["capability"], each["tests"]
        children = tuple(
            IntervalRow(f"test {test['test']}", _build_cells(test["test"], test["must"], test["cases"], test, tokens))
            for test in tests
        )
        cells = _build_cells(name, " · ".join(each["must"]), sum(test["cases"] for test in tests), each, tokens)
        cells["capability"] = TextCell(name, example=examples[name])
        rows.append(IntervalRow(f"capability {name}", cells, children))
    return Marks("Failure rates by capability and run", tuple(columns), tuple(rows), height=1.7)


def _build_cells(name: str, must: str, cases: int, of: Mapping[str, Any], tokens: Tokens) -> dict[str, Cell]:
    found: dict[str, Cell] = {"capability": TextCell(name), "cases": count(cases)}
    found |= {"must": re.sub(r"must be\b", "must be right", must)}
    for run, rate in of["rates"].items():
        if rate["rate"] is None:
            found[f"rate {run}"] = TextCell("–", title="No class could be right: not tested")
            continue
        low, high = rate["interval"]
        failed = f"{count(rate['failed'])} of {count(rate['n'])} fail"
        said = f"{number(rate['rate'], 2)}, 95 % interval {number(low, 2)} to {number(high, 2)}, {failed}"
        color = tokens.wrong if (sure := rate["verdict"] == "fails") else tokens.right
        found[f"mark {run}"] = Mark(rate["rate"], low, high, rate["verdict"] == "open", color, said=said)
        found[f"rate {run}"] = TextCell(number(rate["rate"], 2), strong=sure, title=said)
    return found


def build_rates_table(behaved: BehaviorResults) -> pd.DataFrame:
    """Return failure rates as a table, a row for each capability or behavioural test and each run."""
    rows = []
    for each in behaved.capabilities:
        for test in (None, *each["tests"]):
            for run in behaved.runs:
                rate = (test or each)["rates"][run]
                sets = rate["consistency"] or {}
                low, high = rate["interval"] or (None, None)
                row = {"capability": each["capability"], "test": test["test"] if test else "all"}
                row |= {"must": test["must"] if test else " · ".join(each["must"]), "run": run}
                row |= {name: rate[name] for name in ("n", "failed", "rate")}
                row |= {"low": low, "high": high, "verdict": rate["verdict"], "not_asked": rate["not_asked"]}
                rows.append(row | {"contrast_sets": sets.get("groups"), "contrast_sets_right": sets.get("right")})
    return pd.DataFrame(rows)


RATES = Figure("behaviour", "behave", "Failure rate").add_details(
    read=lambda source: BehaviorResults(
        {source.record.run: source.reader.judge_default_suite(source.record)},
        source.record.run,
        names={source.record.run: source.reader.label_run(source.record.run)},
    ),
    draw=lambda behaved, look: build_component(
        build_rates_marks(behaved, look.tokens), look, picked=behaved.picked, picks=True
    ),
    note=lambda behaved: (
        f"most failures of {behaved.label_run(behaved.run)} first; bold: clearly above {whole_percent(TOLERATED)}"
    ),
    reading="Failure rate with 95 % interval. Ring: no clear difference from 0.3 (shaded).",
    finding=lambda behaved: summarize_rates(behaved)[0],
    how="A case fails if the answer is not the expected one (*must be right*), if the answers to its texts differ "
    "(*must not change*), or if the probability of the expected side falls, or does not rise, by more than the "
    "stated tolerance. n sentences of one template count as n / (1 + (m − 1) ρ) independent ones, with ρ from an "
    "analysis of variance over the whole suite; the interval is Wilson's for that number. Runs differ if "
    "Newcombe's interval of their difference, at the level of its Holm step, excludes 0.",
    tables=lambda behaved: {"Failure rates": build_rates_table(behaved)},
)


@dataclass(frozen=True)
class FailingCases:
    """Test cases that a run fails, of one capability or of one behavioural test."""

    behaved: BehaviorResults
    name: str
    run: str
    cases: tuple[tuple[SuiteTest, SuiteCase], ...]
    asked: int

    @property
    def single(self) -> bool:
        """Tell whether every failing case is one text with an expected answer, so that its probability can be shown."""
        return all(test.kind == "minimum" for test, _ in self.cases)


def collect_failures(behaved: BehaviorResults, picked: str, run: str) -> FailingCases:
    """Collect the behavioural test cases that a run fails in the selected table row (capability or test)."""
    kind, _, name = picked.partition(" ")
    judged = behaved.judged[run]
    tests = [test for test in judged.suite.tests if name == (test.capability if kind == "capability" else test.name)]
    cases = tuple((test, case) for test in tests for case in judged.list_failing(test))
    asked = sum(passed is not None for test in tests for passed in judged.passed[test.name])
    return FailingCases(behaved, name, run, cases, asked)


def build_failures_table(found: FailingCases) -> pd.DataFrame:
    """Return a row for each failing test case: its texts, test, expectation, and each run's prediction.

    A run's column has P(expected answer), or all answers if texts are compared; `text` is the last, for a link.
    """
    rows = []
    for test, case in found.cases:
        must = " ".join(filter(None, (test.words.removeprefix("must "), " or ".join(case.expected))))
        row: dict[str, str | float] = {"sentence": TO.join(case.texts), "test": test.name, "must": must}
        for run in found.behaved.runs:
            answers = [found.behaved.judged[run].answers[text] for text in case.texts]
            written = TO.join(_write_answer(each, case) for each in answers)
            row[run] = _sum_expected(answers[0], case) if found.single else written
        rows.append({**row, "text": case.texts[-1]})
    return pd.DataFrame(rows, columns=["sentence", "test", "must", *found.behaved.runs, "text"])


def _sum_expected(answer: SuitePrediction, case: SuiteCase) -> float:
    return sum(answer.probabilities.get(side, 0.0) for side in case.expected)


def _write_answer(answer: SuitePrediction, case: SuiteCase) -> str:
    """Write the probability of a test case's expected answer; if there is none, the predicted label and probability."""
    if case.expected:
        return number(_sum_expected(answer, case), 2)
    return f"{answer.label} {number(answer.probabilities.get(answer.side, 0.0) if answer.side else 0.0, 2)}"


def _draw_failures(found: FailingCases, look: Look) -> DataTable:
    several = len({test.name for test, _ in found.cases}) > 1
    shown = ["sentence", "must", *found.behaved.runs, *(["test"] if several else [])]
    columns = {name: TableColumn(name.capitalize(), width=width) for name, width in WIDTHS.items()}
    own: dict[str, Any] = {"decimals": 2, "width": RUN} if found.single else {}
    columns |= {run: TableColumn(found.behaved.label_run(run), **own) for run in found.behaved.runs}
    return DataTable(build_failures_table(found)[shown], columns)


FAILING = Figure("failing", "behave", lambda found: f"Failed tests: {found.name}", None, _draw_failures).add_details(
    note=lambda found: (
        f"{count(len(found.cases))} of {count(found.asked)} fail for {found.behaved.label_run(found.run)}"
    ),
    reading="Per run: probability of the expected answer, or its answers if compared.",
    tables=lambda found: {"Failing": build_failures_table(found).drop(columns="text")},
)


def build_group_marks(found: Mapping[str, Any], tokens: Tokens) -> Marks:
    """Build the table of groups of people: a row for each kind with its largest gap, which unfolds to its groups."""
    columns = (
        IntervalColumn("name", "Groups of people", "17rem"),
        IntervalColumn("gap", "largest gap", axis=_GAPS),
        IntervalColumn("mark", "called positive", axis=replace(_SHARES, band=None)),
        *(IntervalColumn(tone, tone, "4.8rem", number=True, soft=tone != "neutral") for tone in TONES),
    )
    rates = {(each["kind"], each["group"], each["tone"]): each for each in found["groups"]}
    rows = []
    for gap in select_gaps(found):
        kind, (low, high) = gap["kind"], gap["interval"]
        terms = dict.fromkeys(term for of, term, _ in rates if of == kind)
        groups = sorted(([rates[kind, term, tone] for tone in TONES] for term in terms), key=lambda own: own[0]["rate"])
        children = tuple(_build_group_row(own, tokens) for own in groups)
        of = {each["tone"]: number(each["gap"], 2) for each in found["gaps"] if each["kind"] == kind}
        pair = f"{gap['highest']}, {gap['lowest']}"
        color = tokens.wrong if gap["gap"] > WIDE else tokens.right
        cells: dict[str, Cell] = {"name": TextCell(kind, small=pair), **of}
        cells["gap"] = Mark(gap["gap"], low, high, low <= 0, color, said=f"{pair}: {write_gap(gap)}")
        cells["mark"] = Mark(
            dots=tuple(own[0]["rate"] for own in groups), color=tokens.right, said="a dot for each group"
        )
        rows.append(IntervalRow(f"kind {kind}", cells, children, picks=False))
    return Marks("Largest gap between groups of a kind, and positive answers of each", columns, tuple(rows), height=1.7)


def _build_group_row(rates: Sequence[Mapping[str, Any]], tokens: Tokens) -> IntervalRow:
    (low, high), term = rates[0]["interval"], rates[0]["group"]
    cells: dict[str, Cell] = {"name": term, **{each["tone"]: number(each["rate"], 2) for each in rates}}
    cells["mark"] = Mark(rates[0]["rate"], low, high, color=tokens.right)
    return IntervalRow(f"group {term}", cells, picks=False)


_GAPS = replace(_SHARES, band=(0.0, WIDE))
GROUPS = Figure("groups-of-people", "behave", "Groups of people").add_details(
    read=lambda source: source.reader.read_group_rates(source.record),
    draw=lambda found, look: build_component(build_group_marks(found, look.tokens), look),
    note=lambda found: f"{count(found['terms'])} terms in {count(found['templates'])} sentences",
    reading="Dot: share of a group called positive. Numbers: largest gap by sentence.",
    finding=summarize_groups,
    how="Only the term differs between the sentences of a template, so groups should get equal rates. Rate: Wilson's "
    "interval over templates. Gap: Newcombe's paired interval at 1 − 0.05 / pairs, since the two groups are picked "
    "afterwards; ring: it includes 0; shaded: up to 15 points. Praising sentences should be positive, blaming ones "
    "not; in the row of a kind, the numbers are its gaps.",
    tables=lambda found: {"Groups": pd.DataFrame(found["groups"]), "Gaps": pd.DataFrame(found["gaps"])},
)
