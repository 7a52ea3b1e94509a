"""What a table can be filtered by with a click: words such as the class that is said, with their options and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.evaluation.groups import MISSING, grouped
from core.exceptions import InputError
from core.failures import rules
from core.failures.codes import Coded
from core.failures.rules import CODE, RANGE, Clause
from core.failures.table import SEVERAL, Table

OUTCOME, TAG, CODES = "outcome", "tag", "code"
LEAST = 0.5
"""Share of the rows whose value has a group of its own: a column with less, such as one of names, is no facet."""


@dataclass(frozen=True, eq=False)
class Option:
    """One answer to a word."""

    clause: Clause
    label: str
    has: np.ndarray
    """(n,) bool."""


@dataclass(frozen=True, eq=False)
class Facet:
    """One word with its options."""

    name: str
    """`outcome`, `truth`, `said`, `missed`, `invented`, `tag`, `code`, or an own column."""
    options: tuple[Option, ...]

    def place(self, clause: Clause) -> int | None:
        """The option that a clause is; None: it is none of them."""
        return next((at for at, option in enumerate(self.options) if option.clause == clause), None)


@dataclass(frozen=True)
class Facets:
    """The words of a table; those of the tags are added when there are some."""

    table: Table
    found: tuple[Facet, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "found", (_outcome(self.table), *_classes(self.table), *_columns(self.table)))

    def with_tags(self, there: dict[str, np.ndarray]) -> list[Facet]:
        """All of them: outcome, classes, tags, own columns."""
        options = tuple(Option(Clause(TAG, "=", name), name, has) for name, has in there.items() if has.any())
        own = [facet for facet in self.found if facet.name in self.table.own]
        first = [facet for facet in self.found if facet.name not in self.table.own]
        return [*first, *([Facet(TAG, options)] if options else []), *own]


def of_codes(coded: Coded, keys: Sequence[str]) -> Facet:
    """Whether rows are coded, and each code that one of the codebook's is given.

    Args:
        coded: what was said.
        keys: of the rows of the table.
    """
    has = coded.rows(keys)
    found = [Option(Clause("coded"), "coded", has), Option(Clause("uncoded"), "not coded", ~has)]
    names = [each.name for each in coded.book]
    found += [Option(Clause(CODE, "=", each), f"coded {each}", coded.rows(keys, each)) for each in names]
    return Facet(CODES, tuple(found))


def counts(facets: Sequence[Facet], clauses: Sequence[Clause], masks: Sequence[np.ndarray]) -> list[list[int]]:
    """Of each option of each facet, how many rows have it that all clauses hold for but those of this facet.

    Args:
        facets: the words.
        clauses: k of them.
        masks: k, (n,) bool: where each holds.
    """
    found = []
    for facet in facets:
        left = np.ones(len(facet.options[0].has), bool) if facet.options else np.zeros(0, bool)
        for clause, mask in zip(clauses, masks, strict=True):
            if facet.place(clause) is None:
                left &= mask
        found.append([int((option.has & left).sum()) for option in facet.options])
    return found


def _outcome(table: Table) -> Facet:
    wrong = table.wrong
    rows = {"wrong": wrong, "right": ~wrong, "all": np.ones(len(table), bool)}
    labels = {"all": "right or wrong"}
    return Facet(OUTCOME, tuple(Option(Clause(name), labels.get(name, name), has) for name, has in rows.items()))


def _classes(table: Table) -> Iterator[Facet]:
    has = {"truth": table.true, "said": table.said}
    if table.task == "multi":
        has |= dict(zip(SEVERAL, (table.true & ~table.said, table.said & ~table.true), strict=True))
    for name, matrix in has.items():
        yield Facet(
            name,
            tuple(Option(Clause(name, "=", each), each, matrix[:, at]) for at, each in enumerate(table.classes)),
        )


def _columns(table: Table) -> Iterator[Facet]:
    for name in table.own:
        column = table.frame[name]
        if column.nunique() < 2 or (column.is_unique and len(column) > 2):
            continue
        found = (_option(table, name, label) for label in grouped(column).names)
        options = tuple(option for option in found if option is not None)
        if options and np.any([option.has for option in options], axis=0).mean() >= LEAST:
            yield Facet(name, options)


def _option(table: Table, name: str, label: str) -> Option | None:
    """The rows of a group; None of one that no rule can name, such as rare values together."""
    low, _, high = label.partition(" to ")
    for value in ("" if label == MISSING else label, f"{low}{RANGE}{high}"):
        clause = Clause(name, "=", value)
        try:
            (read,) = rules.read([str(clause)], table)
        except InputError:
            continue
        if read == clause and (has := rules.rows([clause], table)).any():
            return Option(clause, label, has)
    return None
