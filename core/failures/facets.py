"""What a table can be filtered by with a click: words such as the class that is said, with their options and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from core.evaluation.groups import MISSING, QUARTERS, grouped
from core.exceptions import InputError
from core.failures import rules
from core.failures.coded import Coded
from core.failures.dates import quarters
from core.failures.rules import CODE, RANGE, Clause
from core.failures.table import SEVERAL, Table
from core.failures.tags import called

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
    asked: tuple[str, ...] = field(init=False)
    """Own columns whose values are too many to be offered, such as ids and names: somebody types one."""

    def __post_init__(self) -> None:
        own = {name: _column(self.table, name) for name in self.table.own if self.table.frame[name].nunique() > 1}
        columns = (Facet(name, options) for name, options in own.items() if options)
        object.__setattr__(self, "found", (_outcome(self.table), *_classes(self.table), *columns))
        object.__setattr__(self, "asked", tuple(name for name, options in own.items() if not options))

    def with_tags(self, there: dict[str, np.ndarray]) -> list[Facet]:
        """All of them: outcome, classes, tags, own columns."""
        options = tuple(Option(Clause(TAG, "=", name), called(name), has) for name, has in there.items() if has.any())
        own = [facet for facet in self.found if facet.name in self.table.own]
        first = [facet for facet in self.found if facet.name not in self.table.own]
        return [*first, *([Facet(TAG, options)] if options else []), *own]


def of_codes(coded: Coded, keys: Sequence[str]) -> Facet:
    """Whether rows are coded, whether they have a note, and each code of the codebook.

    Args:
        coded: what was said.
        keys: of the rows of the table.
    """
    has = coded.rows(keys)
    found = [Option(Clause("coded"), "coded", has), Option(Clause("uncoded"), "not coded", ~has)]
    noted = coded.noted(keys)
    found += [Option(Clause("noted"), "noted", noted), Option(Clause("unnoted"), "without a note", ~noted)]
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


def looked_up(table: Table, columns: Sequence[str], typed: str) -> Clause:
    """What somebody typed who looks for an id or a name: it, else a part of it, in the first column that has it.

    Args:
        table: the rows.
        columns: as `Facets.asked` has them, at least one.
        typed: not empty.
    """
    clauses = (Clause(name, sign, typed) for sign in ("=", "~") for name in columns)
    return next((each for each in clauses if rules.rows([each], table).any()), Clause(columns[0], "=", typed))


def understood(table: Table, columns: Sequence[str], typed: str) -> Clause:
    """What somebody typed who searches: a rule, a whole id or name, a part of the texts, else a part of an id or name.

    Args:
        table: the rows.
        columns: as `Facets.asked` has them.
        typed: not empty.

    Raises:
        InputError: it begins as a rule does and cannot be understood; the message says what can.
    """
    if rules.begins(typed, table):
        return rules.read([typed], table)[0]
    text = Clause("text", "~", typed)
    every = (*(Clause(name, "=", typed) for name in columns), text, *(Clause(name, "~", typed) for name in columns))
    return next((each for each in every if rules.rows([each], table).any()), text)


def _column(table: Table, name: str) -> tuple[Option, ...]:
    """The options of an own column; none of one whose values are nearly all different."""
    column, times = table.frame[name], times_of(table, name)
    if times is None and column.is_unique and len(column) > 2 and not _measured(column):
        return ()
    labels = grouped(column).names if times is None else quarters(times).names
    options = tuple(option for label in labels if (option := _option(table, name, label)) is not None)
    return options if options and np.any([option.has for option in options], axis=0).mean() >= LEAST else ()


def times_of(table: Table, name: str) -> pd.Series | None:
    """An own column as times, where it has so many that they stand in quarters."""
    try:
        times = table.dates(name)
    except InputError:
        return None
    return times if times is not None and times.nunique() > QUARTERS else None


def _measured(column: pd.Series) -> bool:
    """Whether it holds numbers with fractions, which no id has."""
    numbers = pd.to_numeric(column, errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 != 0).any())


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
