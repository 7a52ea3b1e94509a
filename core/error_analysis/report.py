"""Error analysis of selected predictions as JSON-like data: rows, error rates per tag, slices and keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.data.findings import plural
from core.error_analysis.facets import Facet, Facets, rank_features
from core.error_analysis.predictions_table import PredictionTable
from core.error_analysis.query import Clause
from core.error_analysis.risk_ratio import TAGGED, collect_rates, report_found_slices
from core.error_analysis.tags import BY_DEFINITION, TableTags, describe_tag
from core.evaluation.intervals import compute_wilson
from core.formatting import count


def report_errors(
    table: PredictionTable, clauses: Sequence[Clause], chosen: np.ndarray, tags: TableTags | None
) -> dict[str, Any]:
    """Return statistics and rows of a selection as a dict; `tags` adds error rates per tag. See `core.api.errors`."""
    wrong = table.wrong
    found = {
        "run": table.record.run,
        "data": table.record.config.data.name,
        "split": table.split,
        "task": table.task,
        "classes": list(table.classes),
        **compute_rate(wrong),
        "where": list(map(str, clauses)),
        "selected": {**compute_rate(wrong[chosen]), "share": float(chosen.mean()) if len(chosen) else 0.0},
        "said": describe_result(table, clauses, chosen),
        "own": list(table.own),
    }
    rows = to_records(table.frame[chosen])
    if tags is None:
        return {**found, "rows": rows}
    facets = Facets(table).list_facets(dict(tags.available))
    of_rows = list_row_tags(tags, chosen)
    tagged = [{**row, "tags": own} for row, own in zip(rows, of_rows, strict=True)]
    return {
        **found,
        **_collect_rates(table, facets, tags, chosen),
        "absent": tags.absent,
        "slices": report_found_slices(facets, table.wrong),
        "marks": rank_features(table, tags.available, chosen, list_clause_names(clauses)),
        "words": [each._asdict() for each in table.phrases.find_keywords(chosen)],
        "rows": tagged,
    }


def list_clause_names(clauses: Sequence[Clause]) -> set[str]:
    """Return the columns and tags that a selection's filter rules use, and that thus cannot explain the selection."""
    named = {clause.value if clause.name == "tag" else clause.name for clause in clauses}
    return named | (BY_DEFINITION if "wrong" in named else set())


def _collect_rates(
    table: PredictionTable, facets: Sequence[Facet], tags: TableTags, chosen: np.ndarray
) -> dict[str, Any]:
    """Return error rates per error tag and per column value, and how many selected rows have the tag or value."""
    of_values = {str(option.clause): option.has for facet in facets for option in facet.options}
    found: dict[str, list[dict[str, Any]]] = {"tags": [], "values": []}
    for row in collect_rates(facets, tags.available, table.wrong):
        rule = row.pop("tag")
        if (name := rule.removeprefix(TAGGED)) in tags.available and rule.startswith(TAGGED):
            selected = int((tags.available[name] & chosen).sum())
            found["tags"].append({"tag": name, **row, "about": describe_tag(name), "selected": selected})
        else:
            found["values"].append({"rule": rule, **row, "selected": int((of_values[rule] & chosen).sum())})
    return found


def list_row_tags(tags: TableTags, chosen: np.ndarray) -> list[list[str]]:
    """Return the names of the error tags of each selected row."""
    names = list(tags.available)
    has = np.array([tags.available[name][chosen] for name in names], bool).reshape(len(names), -1).T
    return [[names[place] for place in np.flatnonzero(row)] for row in has]


def describe_result(table: PredictionTable, clauses: Sequence[Clause], chosen: np.ndarray) -> str:
    """Return a sentence that says how many rows a selection has and by which filter rules."""
    number, of, asked = int(chosen.sum()), plural(len(table), "sentence"), ", ".join(map(str, clauses)) or "all"
    if not number and not table.wrong.any() and clauses == (Clause("wrong"),):
        return f"All {of} are right."
    if not number:
        return f"No sentence is left of {of}: {asked}. Take a clause out."
    return f"{count(number)} of {of}: {asked}."


def to_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert table rows to JSON records: missing values as None, everything but numbers as text."""
    plain = {str(name): _to_plain(column) for name, column in frame.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def compute_rate(wrong: np.ndarray) -> dict[str, Any]:
    """Return the number of rows `n`, of errors `wrong`, the error `rate` and its 95 % Wilson `interval`."""
    n, errors = len(wrong), int(wrong.sum())
    return {"n": n, "wrong": errors, "rate": errors / n if n else 0.0, "interval": list(compute_wilson(errors, n))}


def _to_plain(column: pd.Series) -> list[Any]:
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        finite = column.astype(object).where(column.notna() & ~column.isin((np.inf, -np.inf)), None)
        return finite.tolist()
    return [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
