"""Error rates by tag and column, slices with many errors found by search, and suggested next steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.error_analysis.facets import TAG
from core.error_analysis.linguistic_tags import NAMED, SIGNS
from core.error_analysis.query import RANGE
from core.error_analysis.report import LEAST, FoundSlice, FoundSlices, collect_rates, format_rules, search_slices
from core.error_analysis.selection import describe_selection
from core.error_analysis.tags import BY_DEFINITION, CONSEQUENCES, MODELS, WITH, describe_tag, name_tag
from core.formatting import count, number, percent, signed
from dashboard.figures import interval_table as columns
from dashboard.figures.figure import Figure, make_interval_figure
from dashboard.figures.filtering import select_rows
from dashboard.figures.interval_table import Axis, IntervalTable, Mark, TextCell
from dashboard.figures.row_selection import RowSelection

SHOWN = 20
FARTHEST = 16.0
_FRACTIONS = {-4: "1/16", -3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8", 4: "16"}


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """Error counts and risk ratios for each group of rows with an error tag or a column value."""

    analysis: RowSelection
    rows: Sequence[Mapping[str, Any]]
    """Rows of `core.error_analysis.report.build_risk_table`; `tag` is the filter rule that selects a group."""
    picked: str = ""  # the rule of a row that is part of the filter; empty: none

    @property
    def shown(self) -> Sequence[Mapping[str, Any]]:
        """Return the error rates to show: sorted by excess errors, with tags that are consequences of errors last."""
        first = [row for row in self.rows if row["n"] and not _is_consequence(row)]
        causes = [row for place, row in enumerate(first) if place < SHOWN or row["tag"] == self.picked]
        return [*causes, *(row for row in self.rows if row["n"] and _is_consequence(row))]

    @property
    def has_only_counts(self) -> bool:
        """Tell whether the error table has only counts and no risk ratios."""
        return all(row["ratio"] is None for row in self.rows)


def count_errors(of: RowSelection) -> ErrorRates:
    """Count errors by error tag and column value over a whole split; NotAvailable: tags not computed yet."""
    tags, rules = of.tags, {str(clause) for clause in of.clauses}
    rows = of.known.compute_once("risks", lambda: collect_rates(of.known.facets, tags, of.table.wrong))
    return ErrorRates(of, rows, next((row["tag"] for row in rows if row["tag"] in rules), ""))


def _is_consequence(row: Mapping[str, Any]) -> bool:
    """Tell whether an error tag follows from errors or is an error by definition, and so cannot explain errors."""
    return row["tag"].removeprefix(f"{TAG}=") in BY_DEFINITION | CONSEQUENCES


def build_ratio_axis(marks: Sequence[Mark]) -> Axis:
    """Return a logarithmic axis of risk ratios, with ticks at doublings on both sides of 1, that fits all intervals."""
    ends = [end for mark in marks for end in (mark.low, mark.high) if end is not None]
    low, high = math.floor(min([-1.0, *ends])), math.ceil(max([1.0, *ends]))
    ticks = tuple(float(tick) for tick in range(low, high + 1))
    return Axis(low - 0.15, high + 0.15, ticks, tuple(_FRACTIONS[int(tick)] for tick in ticks), 0.0)


def mark_ratio(row: Mapping[str, Any]) -> Mark:
    """Mark a risk ratio with its interval on a log axis; empty without an interval."""
    if row["ratio_interval"] is None:
        return Mark()
    low, high = row["ratio_interval"]
    value = "no errors elsewhere" if row["ratio"] is None else number(row["ratio"], 2)
    to = "and more" if high is None else f"to {number(high, 2)}"
    p = "< 0.001" if row["p_holm"] < 0.001 else f"= {number(row['p_holm'])}"
    said = f"{value} ({number(low, 2)} {to}), p after Holm {p}"
    ratio, start, end = map(_clip_log, (row["ratio"], low, high))
    return Mark(ratio, start, end, not row["differs"], said=said)


def _clip_log(ratio: float | None) -> float:
    most = math.log2(FARTHEST)
    if ratio is None:
        return most
    return max(-most, min(most, math.log2(ratio))) if ratio > 0 else -most


def name_rule(rule: str) -> str:
    """Name the rows that a filter rule selects, such as `negation` or `source web`."""
    name, _, value = rule.partition("=")
    return name_tag(value) if name == TAG else f"{name} {format_value(value)}"


def format_value(value: str) -> str:
    """Format a data column's value for reading: `missing`, `yes`, `no`, or the value itself."""
    return {"": "missing", "True": "yes", "False": "no"}.get(value, value.replace(RANGE, " to "))


def write_tag(tag: str, small: str = "") -> TextCell:
    """Write the table cell of an error tag; if the tag compares with another run, the cell names that run."""
    name, run = (MODELS, tag.removeprefix(WITH)) if tag.startswith(WITH) else (name_tag(tag), "")
    return TextCell(name, small=small or (f"with {run}" if run else ""), title=describe_tag(tag))


def _name_tag(row: Mapping[str, Any]) -> TextCell:
    name, _, value = row["tag"].partition("=")
    if name == TAG:
        return write_tag(value, "no cause" * _is_consequence(row))
    return TextCell(format_value(value), small=name)


def build_rates_table(found: ErrorRates) -> IntervalTable:
    """Build the table of error rates with intervals: a row for each error tag and each column value."""
    few = found.has_only_counts

    def write_excess(row: Mapping[str, Any]) -> str:
        """Write the excess errors of a tag or column value; if only counts are known, write the number of errors."""
        if few:
            return count(row["wrong"])
        return "" if _is_consequence(row) or row["excess"] is None else signed(row["excess"], 0)

    def mark_risk(row: Mapping[str, Any]) -> Mark:
        """Mark the risk ratio of a tag or column value; empty for a tag that follows from errors."""
        return Mark() if _is_consequence(row) else mark_ratio(row)

    return IntervalTable(
        "Tags and column values with their error risk",
        (
            columns.name("name", "Tag or column", _name_tag, "36%", rule="tag"),
            columns.count("n", "n", "n", "3.4rem"),
            columns.make_csv_columns("wrong"),
            columns.text("rate", "wrong", lambda row: percent(row["rate"]), "4.7rem", soft=True, rate="rate"),
            columns.make_csv_columns(low="interval.0", high="interval.1", rest_n="rest.n", rest_wrong="rest.wrong"),
            columns.make_csv_columns("excess", "ratio"),
            *([] if few else [columns.interval("ratio", "risk ratio", mark_risk, build_ratio_axis)]),
            columns.text("excess", "wrong" if few else "excess", write_excess, "4rem"),
            columns.make_csv_columns(ratio_low="ratio_interval.0", ratio_high="ratio_interval.1", p="p"),
            columns.make_csv_columns("p_holm", "differs"),
        ),
        found.rows,
        "tag",
        shown=found.shown,
        apart=_is_consequence,
    )


def _write_note(found: ErrorRates) -> str:
    shown, every = len(found.shown), sum(bool(row["n"]) for row in found.rows)
    some = f"{shown} of {every}" if shown < every else str(every)
    return f"{some} tags and column values, most excess errors first"


def describe_clusters(found: ErrorRates) -> str:
    """Describe in a sentence the linguistic tag with most excess errors, after the correction for several tests."""
    for row in found.shown:
        name = row["tag"].removeprefix("tag=")
        if name in (*SIGNS, *NAMED) and row["differs"] and (row["excess"] or 0.0) > 0:
            rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
            tagged = f"the {count(row['n'])} sentences tagged “{name_rule(row['tag'])}”"
            return f"{percent(row['rate'])} of {tagged} are wrong, {percent(rest)} of the others."
    return "No tag has clearly more errors than the other sentences."


GATHERED: Figure[ErrorRates] = make_interval_figure(
    "error-tags",
    "errors",
    "Where errors cluster",
    lambda source: count_errors(select_rows(source)),
    build_rates_table,
    "Tags",
    note=_write_note,
    reading=lambda found: (
        f"Fewer than {LEAST} sentences with and without each: counts only, no ratio."
        if found.has_only_counts
        else "Bar: interval of the risk ratio. Ring: not significant after correction."
    ),
    finding=describe_clusters,
    how="*Excess*: errors beyond those expected at the error rate of all other sentences. *Risk ratio*: the error rate "
    "with the tag divided by the rate without, with Koopman's score interval at the level of its step in Holm's "
    f"correction over all tests, so it excludes 1 exactly if the test is significant; none below {LEAST} "
    "sentences on either side. *No cause*: errors have it by definition, or because they are errors.",
)


@dataclass(frozen=True, eq=False)
class SplitSlices:
    """Slices of a split in which errors are more frequent."""

    analysis: RowSelection
    found: FoundSlices
    picked: str = ""


def find_slices(of: RowSelection) -> SplitSlices:
    """Find the slices of a split in which errors are more frequent; NotAvailable: tags are being computed."""
    _ = of.tags
    found = of.known.compute_once("slices", lambda: search_slices(of.known.facets, of.table.wrong))
    rules = {str(clause) for clause in of.clauses}
    held = (each for each in found.slices if {str(clause) for clause in each.clauses} <= rules)
    return SplitSlices(of, found, next(map(format_rules, sorted(held, key=lambda each: -len(each.clauses))), ""))


def _to_risk_row(one: FoundSlice) -> dict[str, Any]:
    """Convert a slice to a row of the error table: risk ratio, its interval and corrected p-value."""
    ratio, *ends = (value if math.isfinite(value) else None for value in (one.risk.ratio, *one.interval))
    return {"ratio": ratio, "ratio_interval": ends, "p_holm": one.p_holm, "differs": True}


def build_slices_table(shown: SplitSlices) -> IntervalTable:
    """Build the interval table of slices in which errors are more frequent."""
    return IntervalTable(
        "Slices with more errors",
        (
            columns.name("name", "Slice", lambda each: describe_selection(each.clauses), "36%", rules=format_rules),
            columns.count("n", "n", "risk.n", "3.4rem"),
            columns.make_csv_columns(wrong="risk.wrong"),
            columns.text("rate", "wrong", lambda each: percent(each.risk.rate), "4.7rem", soft=True, rate="risk.rate"),
            columns.make_csv_columns(excess="risk.excess", ratio="risk.ratio", low="interval.0", high="interval.1"),
            columns.interval("ratio", "risk ratio", lambda each: mark_ratio(_to_risk_row(each)), build_ratio_axis),
            columns.text("excess", "excess", lambda each: signed(each.risk.excess, 0), "4rem"),
            columns.make_csv_columns(p_holm="p_holm"),
        ),
        shown.found.slices,
        format_rules,
    )


SLICED: Figure[SplitSlices] = make_interval_figure(
    "error-slices",
    "errors",
    "Weak slices",
    lambda source: find_slices(select_rows(source)),
    build_slices_table,
    "Slices",
    note=lambda shown: f"{len(shown.found.slices)} of {count(shown.found.tried)} tried",
    reading=lambda shown: (
        "Each is significant after correction; a pair is worse than either part."
        if shown.found.slices
        else "No property or pair goes wrong more often than chance allows."
    ),
    how="Each tag, class and column value with 30 sentences or more, and each pair, is tested against all other "
    "sentences by the score test of the risk ratio; p after Holm over all tests. Of slices that share four fifths of "
    "their sentences, the one with more excess errors is listed.",
)


MOST = 4
WORTH = 1.0  # fewest excess errors that lead to a suggested step


class NextStep(NamedTuple):
    """Recommended next step for a run, with the evidence for it and the filter rules of the rows concerned."""

    advice: str
    evidence: str
    rules: tuple[str, ...]


ADVICE: dict[str, str] = {
    "negation": "Add training sentences with negation: pairs with and without it",
    "contrast": "Add training sentences whose second half decides",
    "question": "Add questions to the training sentences, or define how to label questions",
    "unknown words": "Let the model read the letters of words (--recipe strong, or byte pairs)",
    "truncated": "Let the model read longer texts (text.max_length)",
    "lexicon disagrees": "Check these for irony, domain words and doubtful labels",
    "low margin": "Leave the least sure answers to a person: set a threshold on Performance",
    "seeds disagree": "Combine several seeds: chance decides these answers",
    "near duplicate": "Check the labels of the near duplicates in training",
}


def suggest_steps(shown: RowSelection, tags: ErrorRates, slices: SplitSlices) -> list[NextStep]:
    """Suggest next steps based on the error rates, sorted by excess errors; empty if there are none."""
    found = []
    for row in tags.rows:
        name = row["tag"].removeprefix("tag=")
        if name in BY_DEFINITION | CONSEQUENCES or not row["differs"] or (row["excess"] or 0.0) < WORTH:
            continue
        rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
        usual = f"Read the errors with {name_rule(row['tag'])}, and add training sentences like them"
        if name.startswith(WITH):
            usual = f"See on Compare what {name.removeprefix(WITH)} gets right here, and whether both can be combined"
        evidence = f"{name_rule(row['tag'])}: {_compare_shares(row['rate'], row['n'], rest)}"
        found.append(NextStep(ADVICE.get(name, usual), evidence, ("wrong", row["tag"])))
    for each in slices.found.slices:
        if len(each.clauses) > 1:
            risk, rules = each.risk, [*map(str, each.clauses)]
            name = " and ".join(map(name_rule, rules))
            advice = "Read this slice: its two properties together are worse than either"
            evidence = f"{name}: {_compare_shares(risk.rate, risk.n, risk.rest_rate)}"
            found.append(NextStep(advice, evidence, ("wrong", *rules)))
    sure = shown.known.found_tags.get("sure and wrong")
    if sure is not None and sure.any():
        evidence = f"{count(int(sure.sum()))} errors have a probability of 90 % or more"
        advice = "Read the surest errors first: some labels may be wrong"
        found.append(NextStep(advice, evidence, ("tag=sure and wrong",)))
    return found[:MOST]


def _compare_shares(rate: float, n: int, rest: float) -> str:
    return f"{percent(rate)} of {count(n)} are wrong, {percent(rest)} of the others"
