"""Codes of the selected sentences: how many have each and, where that can be told, how often it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.failures.code_rates import Draw, rates
from core.failures.coded import Coded, agreement
from core.failures.names import known_as
from dashboard.figures.interval_table import Column, Mark, Marks, Row, Words, axis
from dashboard.figures.numbers import count, number

ABOUT = (
    "Share of the coded sentences that have the code, with its 95 % interval (Wilson). It is told only where all "
    "selected sentences are coded, or all of a random draw from them: sentences that somebody chose say nothing of "
    "the others. A sentence may have several codes, so shares need not add up to 1. κ is Cohen's, with all codes of "
    "a sentence as one, on the sentences that both have coded; what others said of a sentence is hidden until you have "
    "coded it."
)


@dataclass(frozen=True)
class CodesShape:
    """The panel."""

    found: dict[str, Any]
    """As `core.failures.code_rates` tells it."""
    pair: dict[str, Any] | None
    """The author and another one, as `core.failures.coded.agreement` tells it; None: nobody else may be seen."""
    definitions: dict[str, str]


def codes_shape(
    coded: Coded, author: str, keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False
) -> CodesShape:
    """Of the rows of a selection."""
    authors = coded.authors
    counted = coded.by(author) if author in authors else coded
    about = {code.name: code.definition for code in coded.book}
    return CodesShape(rates(counted, keys, known, by_codes=by_codes), _pair(coded, author, authors, keys), about)


def _pair(coded: Coded, author: str, authors: Sequence[str], keys: Sequence[str]) -> dict[str, Any] | None:
    """With whom the author shares most rows."""
    if author not in authors:
        return None
    found = [agreement(coded, author, other, keys) for other in authors if other != author]
    return max((each for each in found if each["n"]), key=lambda each: each["n"], default=None)


def note(shape: CodesShape) -> str:
    """Behind the heading: progress, and how far two authors agree."""
    said = [str(shape.found["said"]).removesuffix(".")]
    if (pair := shape.pair) and pair["kappa"] is not None:
        low, high = pair["interval"]
        kappa = f"{number(pair['kappa'], 2)} ({number(low, 2)} to {number(high, 2)}), n = {pair['n']}"
        said.append(f"κ with {known_as(pair['second'])} {kappa}")
    return " · ".join(said)


def codes_marks(shape: CodesShape) -> Marks:
    """The codebook as a table, the most frequent code first."""
    rows = shape.found["codes"]
    marks = {row["code"]: Mark(row["share"], *(row["interval"] or (None, None))) for row in rows}
    columns = [Column("code", "Code"), Column("n", "n", "3rem", number=True)]
    if shape.found["complete"]:
        shares = axis(list(marks.values()), ends=(0.0, 1.0), zero=0.0)
        columns += [Column("share", "share", "3.6rem", number=True, soft=True), Column("mark", "95 %", "45%", shares)]
    drawn = tuple(
        Row(
            row["code"],
            {
                "code": Words(row["code"], str(row["place"] or ""), title=shape.definitions[row["code"]]),
                "n": count(row["n"] if row["hits"] is None else row["hits"]),  # of the rows that the share is of
                "share": "" if row["share"] is None else f"{row['share']:.2f}",
                "mark": marks[row["code"]],
            },
        )
        for row in rows
    )
    return Marks("codes", tuple(columns), drawn, height=1.75)
