"""Error rates by tag and column, slices found by search, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.failures.facets import TAG
from core.failures.risk import LEAST, FoundSlice, FoundSlices, found_slices, rules_of
from core.failures.risk import gathered as risks
from core.failures.rules import RANGE
from core.failures.selection import in_words
from core.failures.tags import BY_DEFINITION, CONSEQUENCES, MODELS, WITH, about, called
from core.numbers import count, number, percent, signed
from dashboard.figures import interval_table as columns
from dashboard.figures.analysis import Analysis
from dashboard.figures.figure import Figure, interval_figure
from dashboard.figures.filtering import analysis
from dashboard.figures.interval_table import Axis, IntervalTable, Mark, Words

SHOWN = 20
FARTHEST = 16.0
_FRACTIONS = {-4: "1/16", -3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8", 4: "16"}


@dataclass(frozen=True, eq=False)
class Gathered:
    """Every tag and value of a column with the errors among its rows."""

    analysis: Analysis
    rows: Sequence[Mapping[str, Any]]
    """As `core.failures.risk.risk_table` gives them; `tag` is the rule that selects the rows."""
    picked: str = ""
    """The rule that is a word of the selection; empty: none is."""

    @property
    def shown(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows with the most excess errors, and the picked one; last those that no error comes from."""
        first = [row for row in self.rows if row["n"] and not _apart(row)]
        causes = [row for place, row in enumerate(first) if place < SHOWN or row["tag"] == self.picked]
        return [*causes, *(row for row in self.rows if row["n"] and _apart(row))]

    @property
    def few(self) -> bool:
        """Tell whether there are counts only."""
        return all(row["ratio"] is None for row in self.rows)


def gathered(of: Analysis) -> Gathered:
    """Count the errors by tag and column value over the whole split; NotAvailable: tags are still being found."""
    tags, rules = of.tags, {str(clause) for clause in of.clauses}
    rows = of.known.once("risks", lambda: risks(of.known.facets, tags, of.table.wrong))
    return Gathered(of, rows, next((row["tag"] for row in rows if row["tag"] in rules), ""))


def _apart(row: Mapping[str, Any]) -> bool:
    """Tell whether a tag follows from errors, as their effect or by definition."""
    return row["tag"].removeprefix(f"{TAG}=") in BY_DEFINITION | CONSEQUENCES


def log_axis(marks: Sequence[Mark]) -> Axis:
    """Return an axis of risk ratios: doublings to both sides of 1, as far as intervals reach."""
    ends = [end for mark in marks for end in (mark.low, mark.high) if end is not None]
    low, high = math.floor(min([-1.0, *ends])), math.ceil(max([1.0, *ends]))
    ticks = tuple(float(tick) for tick in range(low, high + 1))
    return Axis(low - 0.15, high + 0.15, ticks, tuple(_FRACTIONS[int(tick)] for tick in ticks), 0.0)


def ratio_mark(row: Mapping[str, Any]) -> Mark:
    """Return a risk ratio with its interval on that axis."""
    if row["ratio_interval"] is None:
        return Mark()
    most = math.log2(FARTHEST)
    low, high = row["ratio_interval"]
    value = "no errors elsewhere" if row["ratio"] is None else number(row["ratio"], 2)
    to = "and more" if high is None else f"to {number(high, 2)}"
    p = "< 0.001" if row["p_holm"] < 0.001 else f"= {number(row['p_holm'])}"
    said = f"{value} ({number(low, 2)} {to}), p after Holm {p}"
    return Mark(_log(row["ratio"], most), _log(low, most), _log(high, most), not row["differs"], said=said)


def _log(ratio: float | None, most: float) -> float:
    if ratio is None:
        return most
    return max(-most, min(most, math.log2(ratio))) if ratio > 0 else -most


def name_of(rule: str) -> str:
    """Name the rows that a rule selects: `negation`, `source web`."""
    name, _, value = rule.partition("=")
    return called(value) if name == TAG else f"{name} {said_value(value)}"


def said_value(value: str) -> str:
    """Write a value of an own column."""
    return {"": "missing", "True": "yes", "False": "no"}.get(value, value.replace(RANGE, " to "))


def words_of(tag: str, small: str = "") -> Words:
    """Write a tag for a table; if it compares with another run, with the name of that run."""
    name, run = (MODELS, tag.removeprefix(WITH)) if tag.startswith(WITH) else (called(tag), "")
    return Words(name, small=small or (f"with {run}" if run else ""), title=about(tag))


def _name_tag(row: Mapping[str, Any]) -> Words:
    name, _, value = row["tag"].partition("=")
    return words_of(value, "no cause" * _apart(row)) if name == TAG else Words(said_value(value), small=name)


def rates_table(found: Gathered) -> IntervalTable:
    """Build a table with a row for each tag and value of a column."""
    few = found.few

    def excess(row: Mapping[str, Any]) -> str:
        """Write the excess errors, or the errors where there are counts only."""
        if few:
            return count(row["wrong"])
        return "" if _apart(row) or row["excess"] is None else signed(row["excess"], 0)

    def ratio(row: Mapping[str, Any]) -> Mark:
        """Mark the risk ratio; nothing for a tag that follows from errors."""
        return Mark() if _apart(row) else ratio_mark(row)

    return IntervalTable(
        "Tags and values of columns, with the risk of an error",
        (
            columns.name("name", "Tag or column", _name_tag, "36%", rule="tag"),
            columns.count("n", "n", "n", "3.4rem"),
            columns.also("wrong"),
            columns.text("rate", "wrong", lambda row: percent(row["rate"]), "4.7rem", soft=True, rate="rate"),
            columns.also(low="interval.0", high="interval.1", rest_n="rest.n", rest_wrong="rest.wrong"),
            columns.also("excess", "ratio"),
            *([] if few else [columns.interval("ratio", "risk ratio", ratio, log_axis)]),
            columns.text("excess", "wrong" if few else "excess", excess, "4rem"),
            columns.also(ratio_low="ratio_interval.0", ratio_high="ratio_interval.1", p="p"),
            columns.also("p_holm", "differs"),
        ),
        found.rows,
        "tag",
        shown=found.shown,
        apart=_apart,
    )


def _note(found: Gathered) -> str:
    shown, every = len(found.shown), sum(bool(row["n"]) for row in found.rows)
    some = f"{shown} of {every}" if shown < every else str(every)
    return f"{some} tags and values of columns, most excess errors first"


GATHERED: Figure[Gathered] = interval_figure(
    "error-tags",
    "errors",
    "Where errors gather",
    lambda source: gathered(analysis(source)),
    rates_table,
    "Tags",
    note=_note,
    reading=lambda found: (
        f"Fewer than {LEAST} sentences with and without each: counts only, no ratio."
        if found.few
        else "Bar: interval of the risk ratio at the level of its Holm step. A ring: it does not survive correction."
    ),
    how="*Excess*: errors beyond those that these sentences would have at the error rate of all others. *Risk ratio*: "
    "the error rate with it over the one without, with Koopman's score interval at the level of its step in Holm's "
    f"correction over all that are tested, so that it leaves out 1 exactly where that holds; none below {LEAST} "
    "sentences on either side. *No cause*: what errors have by definition, or because they are errors.",
)


@dataclass(frozen=True, eq=False)
class Sliced:
    """The slices of a split."""

    analysis: Analysis
    found: FoundSlices
    picked: str = ""


def sliced(of: Analysis) -> Sliced:
    """Find the slices of the whole split; NotAvailable: its tags are still being found."""
    _ = of.tags
    found = of.known.once("slices", lambda: found_slices(of.known.facets, of.table.wrong))
    rules = {str(clause) for clause in of.clauses}
    held = (each for each in found.slices if {str(clause) for clause in each.clauses} <= rules)
    return Sliced(of, found, next(map(rules_of, sorted(held, key=lambda each: -len(each.clauses))), ""))


def _told(one: FoundSlice) -> dict[str, Any]:
    """Return a slice as a row of `core.failures.risk.risk_table`."""
    ratio, *ends = (value if math.isfinite(value) else None for value in (one.risk.ratio, *one.interval))
    return {"ratio": ratio, "ratio_interval": ends, "p_holm": one.p_holm, "differs": True}


def slices_table(shown: Sliced) -> IntervalTable:
    """Build a table with a row for each slice."""
    return IntervalTable(
        "Slices that go wrong more often",
        (
            columns.name("name", "Slice", lambda each: in_words(each.clauses), "36%", rules=rules_of),
            columns.count("n", "n", "risk.n", "3.4rem"),
            columns.also(wrong="risk.wrong"),
            columns.text("rate", "wrong", lambda each: percent(each.risk.rate), "4.7rem", soft=True, rate="risk.rate"),
            columns.also(excess="risk.excess", ratio="risk.ratio", low="interval.0", high="interval.1"),
            columns.interval("ratio", "risk ratio", lambda each: ratio_mark(_told(each)), log_axis),
            columns.text("excess", "excess", lambda each: signed(each.risk.excess, 0), "4rem"),
            columns.also(p_holm="p_holm"),
        ),
        shown.found.slices,
        rules_of,
    )


SLICED: Figure[Sliced] = interval_figure(
    "error-slices",
    "errors",
    "Slices found",
    lambda source: sliced(analysis(source)),
    slices_table,
    "Slices",
    note=lambda shown: f"{len(shown.found.slices)} of {count(shown.found.tried)} tried",
    reading=lambda shown: (
        "Each survives the correction for all that were tried; a pair is worse than either of its parts."
        if shown.found.slices
        else "No property, and no pair of two, goes wrong more often than chance allows for so many tried."
    ),
    how="Every tag, class and value of a column that 30 sentences have, and every pair of two, is tested against all "
    "others by the score test of the risk ratio; p after Holm over all of them. Of slices that share four fifths of "
    "their sentences the one with more excess errors stands.",
)


MOST = 4
WORTH = 1.0
"""Excess errors below which nothing is advised."""


class Step(NamedTuple):
    """A recommended next step with its evidence."""

    advice: str
    evidence: str
    rules: tuple[str, ...]


ADVICE: dict[str, str] = {
    "negation": "Add training sentences that deny: pairs with and without the negation",
    "contrast": "Add training sentences whose second half decides",
    "question": "Add questions to the training sentences, or say what a question is to be labelled",
    "unknown words": "Let the model read the letters of words (--recipe strong, or byte pairs)",
    "truncated": "Let the model read longer texts (text.max_length)",
    "lexicon disagrees": "Read these for irony, trade words and doubtful labels",
    "low margin": "Leave the least sure answers to a person: set a threshold on Performance",
    "seeds disagree": "Let several seeds answer together: chance decides these",
    "near duplicate": "Look at the labels of the near duplicates in training",
}


def next_steps(shown: Analysis, tags: Gathered, slices: Sliced) -> list[Step]:
    """Suggest the steps that the numbers support, most excess errors first; empty where there are none."""
    found = []
    for row in tags.rows:
        name = row["tag"].removeprefix("tag=")
        if name in BY_DEFINITION | CONSEQUENCES or not row["differs"] or (row["excess"] or 0.0) < WORTH:
            continue
        rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
        usual = f"Read the errors with {name_of(row['tag'])}, and add training sentences like them"
        if name.startswith(WITH):
            usual = f"See on Compare what {name.removeprefix(WITH)} knows here, and whether both can answer together"
        evidence = f"{name_of(row['tag'])}: {_compare_shares(row['rate'], row['n'], rest)}"
        found.append(Step(ADVICE.get(name, usual), evidence, ("wrong", row["tag"])))
    for each in slices.found.slices:
        if len(each.clauses) > 1:
            risk, rules = each.risk, [*map(str, each.clauses)]
            name = " and ".join(map(name_of, rules))
            advice = "Read this slice: its two properties together are worse than either"
            evidence = f"{name}: {_compare_shares(risk.rate, risk.n, risk.rest_rate)}"
            found.append(Step(advice, evidence, ("wrong", *rules)))
    sure = shown.known.there.get("sure and wrong")
    if sure is not None and sure.any():
        evidence = f"{count(int(sure.sum()))} are wrong with a probability of 0.9 or more"
        advice = "Read the surest errors first: doubtful labels stand among them"
        found.append(Step(advice, evidence, ("tag=sure and wrong",)))
    return found[:MOST]


def _compare_shares(rate: float, n: int, rest: float) -> str:
    return f"{percent(rate)} of {count(n)} are wrong, {percent(rest)} of the others"
