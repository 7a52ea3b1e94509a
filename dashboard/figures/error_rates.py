"""Error rates by tag and column, slices found by search, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from core.failures.facets import TAG
from core.failures.found import Found, Slice, slices
from core.failures.gathering import gathered as risks
from core.failures.gathering import rules_of
from core.failures.risk import LEAST
from core.failures.rules import RANGE
from core.failures.selection import in_words
from core.failures.tags import BY_DEFINITION, CONSEQUENCES, MODELS, WITH, about, called
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.interval_drawing import component
from dashboard.figures.interval_table import Axis, Cell, Column, Mark, Marks, Row, Words
from dashboard.figures.numbers import count, number, percent
from dashboard.figures.selecting import analysis
from dashboard.figures.theme import Look

SHOWN = 20
"""Rows of the table, those with the most excess errors."""
FARTHEST = 16.0
"""Risk ratio at which the axis ends at the latest; it begins at its reciprocal at the earliest."""
_FRACTIONS = {-4: "1/16", -3: "⅛", -2: "¼", -1: "½", 0: "1", 1: "2", 2: "4", 3: "8", 4: "16"}


@dataclass(frozen=True, eq=False)
class Gathered:
    """Every property with the errors among its rows."""

    analysis: Analysis
    rows: Sequence[Mapping[str, Any]]
    """As `core.failures.risk.table` gives them; `tag` is the rule that selects the rows."""
    picked: str = ""
    """The rule that is a word of the selection; empty: none is."""

    @property
    def shown(self) -> Sequence[Mapping[str, Any]]:
        """Those with the most excess errors, and the one that is picked; last those that no error comes from."""
        first = [row for row in self.rows if row["n"] and not _apart(row)]
        causes = [row for place, row in enumerate(first) if place < SHOWN or row["tag"] == self.picked]
        return [*causes, *(row for row in self.rows if row["n"] and _apart(row))]

    @property
    def few(self) -> bool:
        """Whether there are counts only."""
        return all(row["ratio"] is None for row in self.rows)


def gathered(of: Analysis) -> Gathered:
    """Of all rows of the split, whatever is selected of them.

    Raises:
        NotAvailable: its tags are still being found.
    """
    tags, rules = of.tags, {str(clause) for clause in of.clauses}
    rows = of.known.once("risks", lambda: risks(of.known.facets, tags, of.table.wrong))
    return Gathered(of, rows, next((row["tag"] for row in rows if row["tag"] in rules), ""))


def _apart(row: Mapping[str, Any]) -> bool:
    """Whether an error brings it about, or it is one by definition."""
    return row["tag"].removeprefix(f"{TAG}=") in BY_DEFINITION | CONSEQUENCES


def log_axis(rows: Iterable[Mapping[str, Any]]) -> Axis:
    """Of risk ratios: doublings to both sides of 1, as far as intervals reach."""
    most = math.log2(FARTHEST)
    ends = [_log(end, most) for row in rows for end in row["ratio_interval"] or ()]
    low, high = math.floor(min([-1.0, *ends])), math.ceil(max([1.0, *ends]))
    ticks = tuple(float(tick) for tick in range(low, high + 1))
    return Axis(low - 0.15, high + 0.15, ticks, tuple(_FRACTIONS[int(tick)] for tick in ticks), 0.0)


def ratio_mark(row: Mapping[str, Any]) -> Mark:
    """A risk ratio with its interval on that axis."""
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
    """A rule as the name of what it selects: `negation`, `source web`."""
    name, _, value = rule.partition("=")
    return called(value) if name == TAG else f"{name} {said_value(value)}"


def said_value(value: str) -> str:
    """A value of an own column in words."""
    return {"": "missing", "True": "yes", "False": "no"}.get(value, value.replace(RANGE, " to "))


def words_of(tag: str, small: str = "") -> Words:
    """A tag in a table; of another run that says something else the run stands behind it."""
    name, run = (MODELS, tag.removeprefix(WITH)) if tag.startswith(WITH) else (called(tag), "")
    return Words(name, small=small or (f"with {run}" if run else ""), title=about(tag))


def gathered_marks(found: Gathered) -> Marks:
    """A row for each property."""
    shown = found.shown
    columns = [
        Column("name", "Tag or column", "36%"),
        Column("n", "n", "3.4rem", number=True),
        Column("rate", "wrong", "4.7rem", number=True, soft=True),
    ]
    if not found.few:
        columns.append(Column("ratio", "risk ratio", axis=log_axis(row for row in shown if not _apart(row))))
    columns.append(Column("excess", "excess" if not found.few else "wrong", "4rem", number=True))
    rows = list[Row]()
    for row in shown:
        small = "no cause" if _apart(row) else ""
        name, _, tag = row["tag"].partition("=")
        named = words_of(tag, small) if name == TAG else Words(said_value(tag), small=name)
        cells: dict[str, Cell] = {"name": named, "n": count(row["n"])}
        cells["rate"] = percent(row["rate"])
        if not _apart(row):
            cells["ratio"] = ratio_mark(row)
            cells["excess"] = "" if row["excess"] is None else signed(row["excess"], 0)
        if found.few:
            cells["excess"] = count(row["wrong"])
        rows.append(Row(row["tag"], cells, apart=_apart(row) and not any(each.apart for each in rows)))
    return Marks("Tags and values of columns, with the risk of an error", tuple(columns), tuple(rows), height=1.8)


def gathered_table(found: Gathered) -> pd.DataFrame:
    """Every property with all numbers."""
    rows = []
    for row in found.rows:
        low, high = row["interval"]
        least, most = row["ratio_interval"] or (None, None)
        rows.append(
            {"rule": row["tag"], **{name: row[name] for name in ("n", "wrong", "rate")}, "low": low, "high": high}
            | {"rest_n": row["rest"]["n"], "rest_wrong": row["rest"]["wrong"], "excess": row["excess"]}
            | {"ratio": row["ratio"], "ratio_low": least, "ratio_high": most}
            | {name: row[name] for name in ("p", "p_holm", "differs")}
        )
    return pd.DataFrame(rows)


def _note(found: Gathered) -> str:
    every = [row for row in found.rows if row["n"]]
    some = f"{len(found.shown)} of {len(every)}" if len(found.shown) < len(every) else str(len(every))
    return f"{some} tags and values of columns, most excess errors first"


def _draw_rates(found: Gathered, look: Look) -> Component:
    return component(gathered_marks(found), look, picked=found.picked, picks=True)


GATHERED: Figure[Gathered] = Figure(
    "error-tags",
    "errors",
    "Where errors gather",
    lambda source: gathered(analysis(source)),
    _draw_rates,
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
    tables=lambda found: {"Tags": gathered_table(found)},
)
"""Of the whole split: what is selected does not change it."""


@dataclass(frozen=True, eq=False)
class Sliced:
    """The slices of a split."""

    analysis: Analysis
    found: Found
    picked: str = ""
    """The one whose rules are the selection."""


def sliced(of: Analysis) -> Sliced:
    """Of all rows of the split, whatever is selected of them.

    Raises:
        NotAvailable: its tags are still being found.
    """
    _ = of.tags
    found = of.known.once("slices", lambda: slices(of.known.facets, of.table.wrong))
    rules = {str(clause) for clause in of.clauses}
    held = (each for each in found.slices if {str(clause) for clause in each.clauses} <= rules)
    return Sliced(of, found, next(map(rules_of, sorted(held, key=lambda each: -len(each.clauses))), ""))


def _told(one: Slice) -> dict[str, Any]:
    """As a row of `core.failures.risk.table`."""
    ratio, *ends = (value if math.isfinite(value) else None for value in (one.risk.ratio, *one.interval))
    return {"ratio": ratio, "ratio_interval": ends, "p_holm": one.p_holm, "differs": True}


def sliced_marks(shown: Sliced) -> Marks:
    """A row for each slice."""
    told = [_told(each) for each in shown.found.slices]
    rows = []
    for each, row in zip(shown.found.slices, told, strict=True):
        cells: dict[str, Cell] = {"name": in_words(each.clauses), "n": count(each.risk.n)}
        cells |= {"rate": percent(each.risk.rate), "ratio": ratio_mark(row), "excess": signed(each.risk.excess, 0)}
        rows.append(Row(rules_of(each), cells))
    columns = (
        Column("name", "Slice", "36%"),
        Column("n", "n", "3.4rem", number=True),
        Column("rate", "wrong", "4.7rem", number=True, soft=True),
        Column("ratio", "risk ratio", axis=log_axis(told)),
        Column("excess", "excess", "4rem", number=True),
    )
    return Marks("Slices that go wrong more often", columns, tuple(rows), height=1.8)


def sliced_table(shown: Sliced) -> pd.DataFrame:
    """All numbers."""
    return pd.DataFrame(
        [
            {"rules": rules_of(each), "n": each.risk.n, "wrong": each.risk.wrong, "rate": each.risk.rate}
            | {"excess": each.risk.excess, "ratio": each.risk.ratio, "low": each.interval[0], "high": each.interval[1]}
            | {"p_holm": each.p_holm}
            for each in shown.found.slices
        ]
    )


def _draw_slices(shown: Sliced, look: Look) -> Component:
    return component(sliced_marks(shown), look, picked=shown.picked, picks=True)


SLICED: Figure[Sliced] = Figure(
    "error-slices",
    "errors",
    "Slices found",
    lambda source: sliced(analysis(source)),
    _draw_slices,
    note=lambda shown: f"{len(shown.found.slices)} of {count(shown.found.tried)} tried",
    reading=lambda shown: (
        "Each survives the correction for all that were tried; a pair is worse than either of its parts."
        if shown.found.slices
        else "No property, and no pair of two, goes wrong more often than chance allows for so many tried."
    ),
    how="Every tag, class and value of a column that 30 sentences have, and every pair of two, is tested against all "
    "others by the score test of the risk ratio; p after Holm over all of them. Of slices that share four fifths of "
    "their sentences the one with more excess errors stands.",
    tables=lambda shown: {"Slices": sliced_table(shown)},
)


MOST = 4
WORTH = 1.0
"""Excess errors below which nothing is advised."""


class Step(NamedTuple):
    """One of them."""

    advice: str
    evidence: str
    rules: tuple[str, ...]
    """That select the sentences it is about."""


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
"""By tag, where its errors survive correction."""


def next_steps(shown: Analysis, tags: Gathered, slices: Sliced) -> list[Step]:
    """The steps that the numbers bear out, most excess errors first; empty where none does."""
    found = [*_of_tags(tags), *_of_slices(slices)]
    sure = shown.known.there.get("sure and wrong")
    if sure is not None and sure.any():
        evidence = f"{count(int(sure.sum()))} are wrong with a probability of 0.9 or more"
        found.append(
            Step("Read the surest errors first: doubtful labels stand among them", evidence, ("tag=sure and wrong",))
        )
    return found[:MOST]


def _of_tags(tags: Gathered) -> Iterator[Step]:
    for row in tags.rows:
        name = row["tag"].removeprefix("tag=")
        if name in BY_DEFINITION | CONSEQUENCES or not row["differs"] or (row["excess"] or 0.0) < WORTH:
            continue
        rest = row["rest"]["wrong"] / max(1, row["rest"]["n"])
        evidence = f"{percent(row['rate'])} of {count(row['n'])} are wrong, {percent(rest)} of the others"
        if name.startswith(WITH):
            usual = f"See on Compare what {name.removeprefix(WITH)} knows here, and whether both can answer together"
        else:
            usual = f"Read the errors with {name_of(row['tag'])}, and add training sentences like them"
        yield Step(ADVICE.get(name, usual), f"{name_of(row['tag'])}: {evidence}", ("wrong", row["tag"]))


def _of_slices(slices: Sliced) -> Iterator[Step]:
    for each in slices.found.slices:
        if len(each.clauses) > 1:
            risk, name = each.risk, " and ".join(map(name_of, map(str, each.clauses)))
            evidence = f"{percent(risk.rate)} of {count(risk.n)} are wrong, {percent(risk.rest_rate)} of the others"
            rules = ("wrong", *map(str, each.clauses))
            yield Step(
                "Read this slice: its two properties together are worse than either", f"{name}: {evidence}", rules
            )
