"""Reports of a selection as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.data.findings import plural
from core.evaluation.intervals import wilson
from core.failures.facets import Facet, Facets, marking
from core.failures.risk import TAGGED, gathered, slices_found
from core.failures.rules import Clause
from core.failures.table import Table
from core.failures.tags import BY_DEFINITION, Tagged, about
from core.numbers import count


def report(table: Table, clauses: Sequence[Clause], chosen: np.ndarray, tags: Tagged | None) -> dict[str, Any]:
    """Return the table, a selection and its rows as plain data, with statistics of tags; see `core.api.errors`."""
    wrong = table.wrong
    found = {
        "run": table.record.run,
        "data": table.record.config.data.name,
        "split": table.split,
        "task": table.task,
        "classes": list(table.classes),
        **rate(wrong),
        "where": list(map(str, clauses)),
        "selected": {**rate(wrong[chosen]), "share": float(chosen.mean()) if len(chosen) else 0.0},
        "said": said(table, clauses, chosen),
        "own": list(table.own),
    }
    rows = records(table.frame[chosen])
    if tags is None:
        return {**found, "rows": rows}
    facets = Facets(table).with_tags(dict(tags.there))
    of_rows = tags_of_rows(tags, chosen)
    tagged = [{**row, "tags": own} for row, own in zip(rows, of_rows, strict=True)]
    return {
        **found,
        **_gathered(table, facets, tags, chosen),
        "absent": tags.absent,
        "slices": slices_found(facets, table.wrong),
        "marks": marking(table, tags.there, chosen, made_by(clauses)),
        "words": [each._asdict() for each in table.phrases.overused(chosen)],
        "rows": tagged,
    }


def made_by(clauses: Sequence[Clause]) -> set[str]:
    """Return the columns and tags that the selection's own clauses use; they cannot explain it."""
    named = {clause.value if clause.name == "tag" else clause.name for clause in clauses}
    return named | (BY_DEFINITION if "wrong" in named else set())


def _gathered(table: Table, facets: Sequence[Facet], tags: Tagged, chosen: np.ndarray) -> dict[str, Any]:
    """Return error rates of each tag and each column value, with the number of selected rows that have it."""
    of_values = {str(option.clause): option.has for facet in facets for option in facet.options}
    found: dict[str, list[dict[str, Any]]] = {"tags": [], "values": []}
    for row in gathered(facets, tags.there, table.wrong):
        rule = row.pop("tag")
        if (name := rule.removeprefix(TAGGED)) in tags.there and rule.startswith(TAGGED):
            selected = int((tags.there[name] & chosen).sum())
            found["tags"].append({"tag": name, **row, "about": about(name), "selected": selected})
        else:
            found["values"].append({"rule": rule, **row, "selected": int((of_values[rule] & chosen).sum())})
    return found


def tags_of_rows(tags: Tagged, chosen: np.ndarray) -> list[list[str]]:
    """Return the tags of each selected row."""
    names = list(tags.there)
    has = np.array([tags.there[name][chosen] for name in names], bool).reshape(len(names), -1).T
    return [[names[place] for place in np.flatnonzero(row)] for row in has]


def said(table: Table, clauses: Sequence[Clause], chosen: np.ndarray) -> str:
    """Return a sentence that describes the selection."""
    number, of, asked = int(chosen.sum()), plural(len(table), "sentence"), ", ".join(map(str, clauses)) or "all"
    if not number and not table.wrong.any() and clauses == (Clause("wrong"),):
        return f"All {of} are right."
    if not number:
        return f"No sentence is left of {of}: {asked}. Take a clause out."
    return f"{count(number)} of {of}: {asked}."


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON records: missing values as None, everything but numbers as text."""
    plain = {str(name): _plain(column) for name, column in frame.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def rate(wrong: np.ndarray) -> dict[str, Any]:
    """Return `n` rows, `wrong` ones, the error `rate` and its 95 % `interval` (Wilson)."""
    n, errors = len(wrong), int(wrong.sum())
    return {"n": n, "wrong": errors, "rate": errors / n if n else 0.0, "interval": list(wilson(errors, n))}


def _plain(column: pd.Series) -> list[Any]:
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        finite = column.astype(object).where(column.notna() & ~column.isin((np.inf, -np.inf)), None)
        return finite.tolist()
    return [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
