"""Facets that filter a prediction table with a click."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
import pandas as pd

from core.error_analysis import query
from core.error_analysis.predictions_table import SEVERAL, PredictionTable, cut_quarters
from core.error_analysis.query import CODE, RANGE, Clause
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.tags import name_tag
from core.evaluation.group_metrics import MISSING, QUARTERS, group_rows
from core.exceptions import InputError

OUTCOME, TAG, CODES = "outcome", "tag", "code"
LEAST = 0.5  # share of rows that the options of a column must cover; columns such as names cover fewer


@dataclass(frozen=True, eq=False)
class Filter:
    """One option of a facet, such as a class or a tag, with its filter rule and its rows of the prediction table."""

    clause: Clause
    label: str
    has: np.ndarray  # (n,) bool


@dataclass(frozen=True, eq=False)
class Facet:
    """A facet: a property of the predictions to filter by, such as outcome or true class, with its options."""

    name: str  # outcome, true, predicted, missed, invented, tag, code, or an own column
    options: tuple[Filter, ...]

    def find_option(self, clause: Clause) -> int | None:
        """Return the index of the facet option with this filter rule, or None."""
        return next((at for at, option in enumerate(self.options) if option.clause == clause), None)


class Facets:
    """The facets by which a prediction table can be filtered; error tags are added as a facet on request."""

    def __init__(self, table: PredictionTable) -> None:
        own = {name: _list_options(table, name) for name in table.own if table.frame[name].nunique() > 1}
        columns = (Facet(name, options) for name, options in own.items() if options)
        self.table = table
        rows = {"wrong": table.wrong, "right": ~table.wrong, "all": np.ones(len(table), bool)}
        labels = {"all": "right or wrong"}
        outcome = tuple(Filter(Clause(name), labels.get(name, name), has) for name, has in rows.items())
        said = {"true": table.true, "predicted": table.said}
        if table.task == "multi":
            said |= dict(zip(SEVERAL, (table.true & ~table.said, table.said & ~table.true), strict=True))
        classes = {
            name: tuple(Filter(Clause(name, "=", each), each, matrix[:, at]) for at, each in enumerate(table.classes))
            for name, matrix in said.items()
        }
        self.found: tuple[Facet, ...] = (Facet(OUTCOME, outcome), *starmap(Facet, classes.items()), *columns)
        # Columns with too many values for a list of options, such as ids and names: users type a value.
        self.asked = tuple(name for name, options in own.items() if not options)

    def list_facets(self, there: dict[str, np.ndarray]) -> list[Facet]:
        """Return all facets of a prediction table in order: outcome, classes, error tags, the data's own columns."""
        options = tuple(Filter(Clause(TAG, "=", name), name_tag(name), has) for name, has in there.items() if has.any())
        own = [facet for facet in self.found if facet.name in self.table.own]
        first = [facet for facet in self.found if facet.name not in self.table.own]
        return [*first, *([Facet(TAG, options)] if options else []), *own]


def make_code_facet(coded: Annotations, keys: Sequence[str]) -> Facet:
    """Return the facet of annotation codes, whose options are coded, noted and each code of the codebook."""
    has = coded.match_code(keys)
    found = [Filter(Clause("coded"), "coded", has), Filter(Clause("uncoded"), "not coded", ~has)]
    noted = coded.match_notes(keys)
    found += [Filter(Clause("noted"), "noted", noted), Filter(Clause("unnoted"), "without a note", ~noted)]
    names = [each.name for each in coded.book]
    found += [Filter(Clause(CODE, "=", each), f"coded {each}", coded.match_code(keys, each)) for each in names]
    return Facet(CODES, tuple(found))


def find_clause(table: PredictionTable, columns: Sequence[str], typed: str) -> Clause:
    """Return the filter rule that finds a typed id or name in a table: as a whole value, or else as part of a value."""
    clauses = (Clause(name, sign, typed) for sign in ("=", "~") for name in columns)
    return next((each for each in clauses if query.match_rows([each], table).any()), Clause(columns[0], "=", typed))


def parse_search(table: PredictionTable, columns: Sequence[str], typed: str) -> Clause:
    """Return the filter rule for a typed search: a rule, an exact id or name, part of a text, else part of an id.

    Raises InputError if it begins like a rule and is not a valid one.
    """
    if query.is_rule_like(typed, table):
        return query.parse_rules([typed], table)[0]
    text = Clause("text", "~", typed)
    every = (*(Clause(name, "=", typed) for name in columns), text, *(Clause(name, "~", typed) for name in columns))
    return next((each for each in every if query.match_rows([each], table).any()), text)


def _list_options(table: PredictionTable, name: str) -> tuple[Filter, ...]:
    """Return the facet options of one of the data's own columns; empty if nearly all of its values differ."""
    column, times = table.frame[name], read_times(table, name)
    numbers = pd.to_numeric(column, errors="coerce")
    fractions = numbers.notna().all() and (numbers % 1 != 0).any()  # which ids do not have
    if times is None and column.is_unique and len(column) > 2 and not fractions:
        return ()
    labels = group_rows(column).names if times is None else cut_quarters(times).names
    options = tuple(option for label in labels if (option := _make_option(table, name, label)) is not None)
    return options if options and np.any([option.has for option in options], axis=0).mean() >= LEAST else ()


def read_times(table: PredictionTable, name: str) -> pd.Series | None:
    """Return one of the data's own columns as times; None unless it holds enough dates to be grouped in quartiles."""
    try:
        times = table.read_dates(name)
    except InputError:
        return None
    return times if times is not None and times.nunique() > QUARTERS else None


def _make_option(table: PredictionTable, name: str, label: str) -> Filter | None:
    """Return the facet option for a group of column values; None if no filter rule can select the group."""
    low, _, high = label.partition(" to ")
    for value in ("" if label == MISSING else label, f"{low}{RANGE}{high}"):
        clause = Clause(name, "=", value)
        try:
            (read,) = query.parse_rules([str(clause)], table)
        except InputError:
            continue
        if read == clause and (has := query.match_rows([clause], table)).any():
            return Filter(clause, label, has)
    return None
