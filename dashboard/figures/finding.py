"""Slices that were found: one or two properties whose sentences go wrong more often, as a table of marks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.failures.found import Found, Slice, slices
from core.failures.gathering import rules_of
from core.failures.selection import in_words
from core.numbers import signed
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.gathering import log_axis, ratio_mark
from dashboard.figures.marks import Cell, Column, Marks, Row
from dashboard.figures.marks_drawing import component
from dashboard.figures.numbers import count, percent
from dashboard.figures.selecting import analysis
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd


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
    import pandas as pd

    return pd.DataFrame(
        [
            {"rules": rules_of(each), "n": each.risk.n, "wrong": each.risk.wrong, "rate": each.risk.rate}
            | {"excess": each.risk.excess, "ratio": each.risk.ratio, "low": each.interval[0], "high": each.interval[1]}
            | {"p_holm": each.p_holm}
            for each in shown.found.slices
        ]
    )


def _draw(shown: Sliced, look: Look) -> Component:
    return component(sliced_marks(shown), look, picked=shown.picked, picks=True)


SLICED: Figure[Sliced] = Figure(
    "error-slices",
    "errors",
    "Slices found",
    lambda source: sliced(analysis(source)),
    _draw,
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
