"""Error rates by tag, column and slice: slices that a search finds, and saved slices with all metrics."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from core.error_analysis.facets import TAG
from core.error_analysis.linguistic_tags import NAMED, SIGNS
from core.error_analysis.query import RANGE
from core.error_analysis.report import LEAST, FoundSlice, collect_rates, format_rules, search_slices
from core.error_analysis.selection import describe_selection
from core.error_analysis.slices import FEW
from core.error_analysis.tags import BY_DEFINITION, CONSEQUENCES, MODELS, WITH, describe_tag, name_tag
from core.evaluation.intervals import METHOD
from core.exceptions import NotAvailable
from core.formatting import MINUS, count, number, percent, signed
from core.metrics import format_title
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Source
from dashboard.figures.filtering import make_selection_figure
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import Cell, IntervalTable, Mark, Marks, TextCell
from dashboard.figures.row_selection import RowSelection, SelectionFindings
from dashboard.figures.theme import Look

SHOWN = 20
PRESENTED = 12  # rows that a projector shows in readable size
FARTHEST = 16.0
_FRACTIONS = {-4: "1/16", -3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8", 4: "16"}
CLASS = "\x1f"
ANSWERS = {"True": "", "False": "not "}  # values of a column of yes and no → what stands before its name
MOST_ROWS = 100
TOLD = 2
PARTS = ("precision", "recall", "f1")


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


def build_ratio_axis(marks: Sequence[Mark]) -> columns.Axis:
    """Return a logarithmic axis of risk ratios, with ticks at doublings on both sides of 1, that fits all intervals."""
    ends = [end for mark in marks for end in (mark.low, mark.high) if end is not None]
    low, high = math.floor(min([-1.0, *ends])), math.ceil(max([1.0, *ends]))
    ticks = tuple(float(tick) for tick in range(low, high + 1))
    return columns.Axis(low - 0.15, high + 0.15, ticks, tuple(_FRACTIONS[int(tick)] for tick in ticks), 0.0)


def mark_ratio(row: Mapping[str, Any]) -> Mark:
    """Mark a risk ratio with its interval on a log axis; empty without an interval."""
    if row["ratio_interval"] is None:
        return Mark()
    low, high = row["ratio_interval"]
    value = "no errors elsewhere" if row["ratio"] is None else number(row["ratio"], 2)
    to = "and more" if high is None else f"to {number(high, 2)}"
    p = "< 0.001" if row["p_holm"] < 0.001 else f"= {number(row['p_holm'])}"
    said = f"{value} ({number(low, 2)} {to}), p after Holm {p}"
    known = (FARTHEST if each is None else each for each in (row["ratio"], low, high))
    ratio, start, end = (math.log2(max(1 / FARTHEST, min(FARTHEST, each))) for each in known)
    return Mark(ratio, start, end, not row["differs"], said=said)


def name_rule(rule: str) -> str:
    """Name the rows that a filter rule selects, such as `negation` or `source web`."""
    name, _, value = rule.partition("=")
    if value in ANSWERS and name != TAG:
        return f"{ANSWERS[value]}{name}"
    return name_tag(value) if name == TAG else f"{name} {format_value(value)}"


def format_value(value: str) -> str:
    """Format a data column's value for reading: `missing`, `yes`, `no`, or the value itself."""
    known = {"": "missing", "True": "yes", "False": "no"}
    return known.get(value, re.sub("^-(?=[0-9])", MINUS, value.replace(RANGE, " to ")))


def write_tag(tag: str, small: str = "") -> TextCell:
    """Write the table cell of an error tag; if the tag compares with another run, the cell names that run."""
    name, run = (MODELS, tag.removeprefix(WITH)) if tag.startswith(WITH) else (name_tag(tag), "")
    return TextCell(name, small=small or (f"with {run}" if run else ""), title=describe_tag(tag))


def _name_tag(row: Mapping[str, Any]) -> TextCell:
    name, _, value = row["tag"].partition("=")
    if name == TAG:
        return write_tag(value, "no cause" * _is_consequence(row))
    return TextCell(name_rule(row["tag"])) if value in ANSWERS else TextCell(format_value(value), small=name)


def build_rates_table(found: ErrorRates) -> IntervalTable:
    """Build the table of error rates with intervals: a row for each error tag and each column value."""
    few = found.has_only_counts

    def write_excess(row: Mapping[str, Any]) -> str:
        if few:
            return count(row["wrong"])
        return "" if _is_consequence(row) or row["excess"] is None else signed(row["excess"], 0)

    def mark_risk(row: Mapping[str, Any]) -> Mark:
        return Mark() if _is_consequence(row) else mark_ratio(row)

    return IntervalTable(
        "Tags and column values with their error risk",
        (
            columns.name("name", "Tag or column", _name_tag, "36%", wrap=True, rule="tag"),
            columns.count("n", "n", "n", "3.4rem"),
            columns.make_csv_columns("wrong"),
            columns.text("rate", "wrong", lambda row: percent(row["rate"]), "4.7rem", soft=True, rate="rate"),
            columns.make_csv_columns(low="interval.0", high="interval.1", rest_n="rest.n", rest_wrong="rest.wrong"),
            columns.make_csv_columns("excess", "ratio"),
            *([] if few else [columns.interval("ratio", "risk ratio", mark_risk, build_ratio_axis)]),
            columns.text("excess", "wrong" if few else "excess errors", write_excess, "4rem"),
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
    return f"{f'{shown} of ' * (shown < every)}{every} tags and column values, most excess errors first"


def _find_cluster(found: ErrorRates) -> Mapping[str, Any] | None:
    for row in found.shown:
        name = row["tag"].removeprefix("tag=")
        if name in (*SIGNS, *NAMED) and row["differs"] and (row["excess"] or 0.0) > 0:
            return row
    return None


def describe_clusters(found: ErrorRates) -> str:
    """Describe in a sentence the linguistic tag with most excess errors, after the correction for several tests."""
    if (row := _find_cluster(found)) is None:
        return "No tag has clearly more errors than the other sentences."
    rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
    tagged = f"the {count(row['n'])} sentences tagged “{name_rule(row['tag'])}”"
    return f"{percent(row['rate'])} of {tagged} are wrong, {percent(rest)} of the others."


def _draw_exhibit(found: ErrorRates, look: Look) -> Component:
    row, first = _find_cluster(found), found.shown[:PRESENTED]
    shown = first if row is None or row in first else [*first[:-1], row]
    marks = replace(build_rates_table(found), shown=shown).marks
    return build_component(marks, look, picked="" if row is None else row["tag"])


GATHERED = make_selection_figure("tags", "Error rate by tag", count_errors, build_rates_table).add_details(
    note=_write_note,
    reading=lambda found: (
        f"Fewer than {LEAST} sentences with and without each: counts only, no ratio."
        if found.has_only_counts
        else "Bar: interval of the risk ratio. Ring: not significant after correction."
    ),
    finding=describe_clusters,
    exhibit=_draw_exhibit,
    how="*Excess errors*: beyond those expected at the error rate of the others. *Risk ratio*: the error rate "
    "with the tag divided by the rate without, with Koopman's score interval at the level of its step in Holm's "
    f"correction over all tests, so it excludes 1 exactly if the test is significant; none below {LEAST} "
    "sentences on either side. *No cause*: errors have it by definition, or because they are errors.",
)


def find_slices(of: RowSelection) -> SelectionFindings:
    """Find the slices of a split in which errors are more frequent; NotAvailable: tags are being computed."""
    _ = of.tags
    found = of.known.compute_once("slices", lambda: search_slices(of.known.facets, of.table.wrong))
    held = (each for each in found.slices if set(map(str, each.clauses)) <= set(map(str, of.clauses)))
    return SelectionFindings(of, found, next(map(format_rules, sorted(held, key=lambda each: -len(each.clauses))), ""))


def build_slices_table(shown: SelectionFindings) -> IntervalTable:
    """Build the interval table of slices in which errors are more frequent."""

    def mark_slice(one: FoundSlice) -> Mark:
        ratio, *ends = (value if math.isfinite(value) else None for value in (one.risk.ratio, *one.interval))
        return mark_ratio({"ratio": ratio, "ratio_interval": ends, "p_holm": one.p_holm, "differs": True})

    return IntervalTable(
        "Slices with more errors",
        (
            columns.name(
                "name", "Slice", lambda each: describe_selection(each.clauses), "36%", wrap=True, rules=format_rules
            ),
            columns.count("n", "n", "risk.n", "3.4rem"),
            columns.make_csv_columns(wrong="risk.wrong"),
            columns.text("rate", "wrong", lambda each: percent(each.risk.rate), "4.7rem", soft=True, rate="risk.rate"),
            columns.make_csv_columns(excess="risk.excess", ratio="risk.ratio", low="interval.0", high="interval.1"),
            columns.interval("ratio", "risk ratio", mark_slice, build_ratio_axis),
            columns.text("excess", "excess errors", lambda each: signed(each.risk.excess, 0), "4rem"),
            columns.make_csv_columns(p_holm="p_holm"),
        ),
        shown.found.slices,
        format_rules,
    )


SLICED = make_selection_figure("slices", "Weak slices", find_slices, build_slices_table).add_details(
    note=lambda shown: f"{len(shown.found.slices)} of {count(shown.found.tried)} tried",
    reading=lambda shown: (
        "Each is significant after correction; a pair is worse than either part."
        if shown.found.slices
        else "No property or pair goes wrong more often than chance allows."
    ),
    how="Each tag, class and column value with 30 sentences or more, and each pair, is tested against all other "
    "sentences by the score test of the risk ratio; p after Holm over all tests. Of slices that share four fifths of "
    "their sentences, the one with more excess errors is listed. *score* is a column of the data, as *domain* "
    "is; in the built-in corpus it says how strong the opinion is, from −2 to 2.",
)


@dataclass(frozen=True)
class SavedSlices:
    """Saved slices (named selections of rows) of a split, and the whole split, each with a run's metrics."""

    slices: Sequence[Mapping[str, Any]]
    whole: Mapping[str, Any]

    @property
    def first(self) -> str:
        """Return the name of the slice reports' first metric, the share of correctly predicted sentences."""
        return next(iter(self.whole["metrics"]))

    @property
    def second(self) -> str:
        """Return the name of the slice reports' macro F1 metric (it depends on the task)."""
        return next(name for name in self.whole["metrics"] if name.endswith("f1_macro"))


def read_slices(source: Source) -> SavedSlices:
    """Read the saved slices of the shown split with their metrics; NotAvailable: none was saved."""
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    every = source.reader.measure_slices(source.record, source.split, source.author)
    if not (found := [each for each in every if each["split"] == source.split]):
        raise NotAvailable("no slice of these data was saved")
    return SavedSlices(found, source.reader.measure_split(source.record, source.split))


def draw_slice_table(shown: SavedSlices) -> Marks:
    """Build the table of saved slices with intervals: all sentences first; each row unfolds to its classes."""
    every = [shown.whole, *shown.slices]
    unfolds = len(every) * (1 + len(shown.whole["per_class"])) <= MOST_ROWS
    rows = [_build_row(shown, each, unfolds=unfolds) for each in every]
    drawn = [each.cells for row in rows for each in (row, *row.children)]
    marks = {key: [mark for cells in drawn if isinstance(mark := cells.get(key), Mark)] for key in ("right", "f1")}
    right, f1 = (columns.make_axis(marks[key], ends=(0.0, 1.0)) for key in ("right", "f1"))
    of_class = "; class: recall" if unfolds else ""
    listed = (
        columns.IntervalColumn("name", "Slice", "17rem"),
        columns.IntervalColumn("n", "n", "3.6rem", number=True),
        columns.IntervalColumn("right", f"{format_title(shown.first)}{of_class}", axis=right),
        columns.IntervalColumn("rate", "", "3.4rem", number=True),
        columns.IntervalColumn("others", "vs. others", "5rem", number=True),
        columns.IntervalColumn("f1", f"{format_title(shown.second)}{'; class: F1' if unfolds else ''}", axis=f1),
        columns.IntervalColumn("value", "", "3.4rem", number=True),
    )
    return Marks("Saved slices with the metrics of the run", listed, tuple(rows))


def _build_row(shown: SavedSlices, each: Mapping[str, Any], *, unfolds: bool) -> columns.IntervalRow:
    name, whole = each["name"], each is shown.whole
    small = "" if whole else each["problem"] or (each["said"] if each["n"] else each["lacks"])
    about = f"{name}: {each['said']}. {each['lacks']}"
    cells: dict[str, Cell] = {"name": TextCell("all sentences") if whole else TextCell(name, small=small, title=about)}
    if each["n"] is not None:
        cells["n"] = count(each["n"])
        for metric, mark, text in ((shown.first, "right", "rate"), (shown.second, "f1", "value")):
            cells |= _mark_value(mark, text, each["metrics"][metric], each["intervals"][metric], tie=whole)
        if each["difference"] is not None:
            low, high = (signed(-end, 2) for end in reversed(each["difference_interval"]))
            few = f" Fewer than {FEW} sentences are unreliable." if each["n"] < FEW else ""
            told = f"Other sentences: {number(1 - each['others'], 2)} correct. Difference, 95 %: {low} to {high}.{few}"
            cells["others"] = TextCell(signed(-each["difference"], 2), "few" if few else "", title=told)
    children = _build_class_rows(each) if unfolds and each["n"] else ()
    return columns.IntervalRow(name, cells, children=children, picks=bool(each["n"]) and not whole)


def _build_class_rows(each: Mapping[str, Any]) -> tuple[columns.IntervalRow, ...]:
    rows = []
    for label, found in each["per_class"].items():
        ends = each["per_class_intervals"][label]
        precise = "never predicted"
        if (precision := found["precision"]) is not None:
            precise = "precision {} ({} to {})".format(*(number(each, 2) for each in (precision, *ends["precision"])))
        cells: dict[str, Cell] = {"name": TextCell(label, small=precise), "n": count(found["support"])}
        cells |= _mark_value("right", "rate", found["recall"], ends["recall"], tie=True)
        cells |= _mark_value("f1", "value", found["f1"], ends["f1"], tie=True)
        rows.append(columns.IntervalRow(f"{each['name']}{CLASS}{label}", cells, picks=found["support"] > 0))
    return tuple(rows)


def _mark_value(
    mark: str, text: str, value: float | None, ends: Sequence[float] | None, *, tie: bool
) -> dict[str, Cell]:
    """Return the table cells of a metric: its value as text, and its mark on an axis; empty if undefined."""
    low, high = ends or (None, None)
    return {} if value is None else {mark: Mark(value, low, high, tie=tie), text: number(value)}


def build_slice_table(shown: SavedSlices) -> pd.DataFrame:
    """Return a table with a row for each saved slice: its size, error rate, metrics and interval bounds."""
    rows = []
    for each in shown.slices:
        row = {name: each[name] for name in ("name", "select", "n", "wrong", "rate", "others", "difference")}
        row["difference_low"], row["difference_high"] = each["difference_interval"] or (None, None)
        for metric, value in each["metrics"].items():
            row |= _name_bounds(metric, value, each["intervals"][metric])
        rows.append(row)
    return pd.DataFrame(rows)


def build_class_table(shown: SavedSlices) -> pd.DataFrame:
    """Return the metrics of each class in each saved slice, one row for each class and slice."""
    rows = []
    for each, label, found in ((one, *of) for one in shown.slices for of in one["per_class"].items()):
        row = {"name": each["name"], "class": label, "support": found["support"]}
        for part in PARTS:
            row |= _name_bounds(part, found[part], each["per_class_intervals"][label][part])
        rows.append(row)
    return pd.DataFrame(rows)


def _name_bounds(name: str, value: float | None, ends: Sequence[float] | None) -> dict[str, float | None]:
    low, high = ends or (None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _explain_slices(shown: SavedSlices) -> str:
    lacking = [f"“{each['name']}”: {each['lacks']}" for each in shown.slices if each["n"] and each["lacks"]]
    more = [f"{len(lacking) - TOLD} more slices lack a class."] if len(lacking) > TOLD else []
    return " ".join(["Open a row to see its classes. Bars: 95 % intervals.", *lacking[:TOLD], *more])


SAVED = Figure("slices", "performance", "Slices").add_details(
    read=read_slices,
    draw=lambda shown, look: build_component(draw_slice_table(shown), look, picks=True),
    note=lambda shown: f"{len(shown.slices)} saved, n = {count(shown.whole['n'])}",
    reading=_explain_slices,
    how="Predictions as evaluated; the threshold above has no effect. vs. others: share of correct sentences, minus "
    "that of all other sentences. Rules select the sentences of a slice again for each run; single chosen sentences "
    f"stay the same. Intervals: {METHOD}. Empty: not defined, such as the recall of a class without sentences, or the "
    "precision of a class that is never predicted.",
    tables=lambda shown: {"Slices": build_slice_table(shown), "Slices by class": build_class_table(shown)},
)
