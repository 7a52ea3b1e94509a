"""Codes of the selected sentences: how many have each and, where that can be told, how often it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.failures.code_rates import Draw, rates
from core.failures.coded import Coded, agreement
from core.failures.names import known_as
from dashboard.figures import interval_table as columns
from dashboard.figures.interval_table import IntervalTable, Mark, Words, axis
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
    """Rates of codes, as `core.failures.code_rates` tells them, and the agreement of the author with another one."""

    found: dict[str, Any]
    pair: dict[str, Any] | None
    """None: nobody else may be seen."""
    definitions: dict[str, str]


def codes_shape(
    coded: Coded, author: str, keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False
) -> CodesShape:
    """Count the codes of a selection."""
    authors = coded.authors
    counted = coded.by(author) if author in authors else coded
    about = {code.name: code.definition for code in coded.book}
    return CodesShape(rates(counted, keys, known, by_codes=by_codes), _pair(coded, author, authors, keys), about)


def _pair(coded: Coded, author: str, authors: Sequence[str], keys: Sequence[str]) -> dict[str, Any] | None:
    """Find with whom the author shares most rows."""
    if author not in authors:
        return None
    found = [agreement(coded, author, other, keys) for other in authors if other != author]
    return max((each for each in found if each["n"]), key=lambda each: each["n"], default=None)


def note(shape: CodesShape) -> str:
    """Tell the progress, and how far two authors agree."""
    said = [str(shape.found["said"]).removesuffix(".")]
    if (pair := shape.pair) and pair["kappa"] is not None:
        low, high = pair["interval"]
        kappa = f"{number(pair['kappa'], 2)} ({number(low, 2)} to {number(high, 2)}), n = {pair['n']}"
        said.append(f"κ with {known_as(pair['second'])} {kappa}")
    return " · ".join(said)


def codes_table(shape: CodesShape) -> IntervalTable:
    """Declare a row for each code, the most frequent first."""

    def call(row: Mapping[str, Any]) -> Words:
        return Words(row["code"], str(row["place"] or ""), title=shape.definitions[row["code"]])

    def write_count(row: Mapping[str, Any]) -> str:
        return count(row["n"] if row["hits"] is None else row["hits"])  # of the rows that the share is of

    def write_share(row: Mapping[str, Any]) -> str:
        return "" if row["share"] is None else f"{row['share']:.2f}"

    def mark(row: Mapping[str, Any]) -> Mark:
        return Mark(row["share"], *(row["interval"] or (None, None)))

    shares = (
        columns.text("share", "share", write_share, "3.6rem", soft=True),
        columns.interval("mark", "95 %", mark, partial(axis, ends=(0.0, 1.0), zero=0.0), "45%"),
    )
    drawn = (columns.name("code", "Code", call), columns.text("n", "n", write_count, "3rem"))
    complete = shape.found["complete"]
    return IntervalTable("codes", drawn + shares * complete, shape.found["codes"], "code", height=1.75)
