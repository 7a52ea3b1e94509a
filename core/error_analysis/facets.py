"""Facets that filter a prediction table with a click, and the columns and tags that distinguish a selection.

Columns and tags are ranked by Cramér's V, 0 to 1, between selection and value, with the bias correction of Bergsma
(Journal of the Korean Statistical Society 2013). Values are grouped by `core.evaluation.group_metrics`: numbers and
dates in quartiles, rare values together. p is from the chi-square test, Holm-corrected over all that are ranked, and
None if counts are too small (Cochran 1954: an expected count below 1, or over a fifth of them below 5).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import numpy as np
import pandas as pd

from core.error_analysis import query
from core.error_analysis.predictions_table import SEVERAL, PredictionTable, cut_quarters
from core.error_analysis.query import CODE, RANGE, Clause
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.tags import name_tag
from core.evaluation.comparison import apply_holm
from core.evaluation.group_metrics import MISSING, QUARTERS, RowGroups, group_rows
from core.exceptions import InputError
from core.lazy_imports import scipy

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
    """Return the filter rule for a typed search: a rule (InputError: invalid), id, name, part of a text or of an id."""
    if query.split_rule(typed.strip(), table):
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


YES, NO = "yes", "no"


def group_columns(table: PredictionTable) -> dict[str, RowGroups]:
    """Group a prediction table's rows by the values of each of the data's own columns (dates by quartiles)."""
    times = {name: read_times(table, name) for name in table.own}
    return {name: group_rows(table.frame[name]) if each is None else cut_quarters(each) for name, each in times.items()}


def rank_features(
    table: PredictionTable,
    tags: Mapping[str, np.ndarray],
    chosen: np.ndarray,
    without: Collection[str] = (),
    groups: Mapping[str, RowGroups] | None = None,
) -> list[dict[str, Any]]:
    """Rank columns and error tags by how much they differ between the `chosen` rows, (n,) bool, and the others.

    `without` are columns and tags by which the rows were selected, `groups` the result of `group_columns`, if known.

    Returns:
        For each `name`: `kind` (`column` or `tag`), `v`, `p`, `p_holm`, and the `value` most over-represented in the
        selection, with `selected` rows, their `share`, `rest` and `rest_share`; empty if none or all are selected.
    """
    if chosen.all() or not chosen.any():
        return []
    found = []
    for name, values in (group_columns(table) if groups is None else groups).items():
        if name not in without:
            found.append({"name": name, "kind": "column", **_compare_column(values.place, list(values.names), chosen)})
    for name in (name for name in tags if name not in without):
        found.append({"name": name, "kind": "tag", **_compare_column(tags[name].astype(np.int64), [NO, YES], chosen)})
    found = [each for each in found if each["v"] is not None]
    tested = [each for each in found if each["p"] is not None]
    for each, step in zip(tested, apply_holm([each["p"] for each in tested]), strict=True):
        each["p_holm"] = step.p
    return sorted(found, key=lambda each: (-each["v"], each["name"]))


def compute_cramer(counts: np.ndarray) -> tuple[float, float | None]:
    """Compute bias-corrected Cramér's V and the chi-square p of (2, k) counts without an empty row or column."""
    n, (rows, columns) = counts.sum(), counts.shape
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / n
    square = float(((counts - expected) ** 2 / expected).sum())
    free = (rows - 1) * (columns - 1)
    phi = max(0.0, square / n - free / (n - 1))
    sides = (side - (side - 1) ** 2 / (n - 1) for side in (rows, columns))
    few = expected.min() < 1 or (expected < 5).mean() > 0.2
    least = min(sides) - 1
    return math.sqrt(phi / least) if least > 0 else 0.0, None if few else float(scipy.special.chdtrc(free, square))


def _compare_column(place: np.ndarray, names: list[str], chosen: np.ndarray) -> dict[str, Any]:
    inside, rest = (np.bincount(place[rows], minlength=len(names)) for rows in (chosen, ~chosen))
    there = np.flatnonzero(inside + rest)
    if len(there) < 2:
        return {"v": None}
    v, p = compute_cramer(np.stack([inside, rest])[:, there])
    shares = inside / inside.sum(), rest / rest.sum()
    top = names.index(YES) if names == [NO, YES] else int((shares[0] - shares[1]).argmax())
    return {
        "v": v,
        "p": p,
        "p_holm": None,
        "value": names[top],
        "selected": int(inside[top]),
        "share": float(shares[0][top]),
        "rest": int(rest[top]),
        "rest_share": float(shares[1][top]),
    }
