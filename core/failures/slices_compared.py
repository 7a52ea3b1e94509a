"""Several runs on the sentences of each saved slice, as a column that they are compared by.

Two runs are told apart on the same sentences only. A slice by rules on what a run says (wrong, margin, said) has others
for each run, and those of one of them would be unfair to it: it is left out, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from core.exceptions import InputError
from core.failures.rules import Codes
from core.failures.selection import parse, select
from core.failures.slices import Slice
from core.failures.table import Table, keys
from core.failures.tags import Tagged
from core.runs.record import RunRecord
from core.runs.sides import MOST_VALUES, Sides
from core.runs.store import RunStore


def with_slices(
    store: RunStore,
    sides: Sides,
    kept: Sequence[Slice],
    read: Callable[[RunRecord, str], Table],
    codes: Codes | None = None,
) -> Sides:
    """The same sides with the rows of each slice, and notes on those that are left out.

    Args:
        store: where the runs live.
        sides: on a split of their own data.
        kept: slices of these data.
        read: the table of a run and a split.
        codes: what was said of the rows, where a slice is of codes; None: by everybody.

    Raises:
        InputError: there are no slices, too many, or none that can be compared by.
    """
    if not kept:
        raise InputError(
            "--by slice: no slice of these data was saved; `sentiscope slices RUN --save NAME --where CLAUSE` keeps one"
        )
    if len(kept) > MOST_VALUES:
        raise InputError(f"--by slice: {len(kept)} slices; at most {MOST_VALUES} can be compared by")
    tables = {
        record.run: (table := read(record, sides.split), Tagged(store, table))
        for side in sides.sides
        for record in side.model.records
    }
    found: dict[str, dict[int, np.ndarray]] = {}
    notes = []
    for each in kept:
        chosen = parse(each.select)
        if chosen.split not in ("", sides.split):
            continue
        try:
            rows = {run: _keys(store, each, *of_run, codes) for run, of_run in tables.items()}
        except InputError as error:
            notes.append(f"slice {each.name} is left out: {error}")
            continue
        by_fold = _same(sides, rows)
        if by_fold is None:
            notes.append(f"slice {each.name} is left out: its rules select other sentences for each run")
        elif not any(map(len, by_fold.values())):
            notes.append(f"slice {each.name} is left out: there is no sentence of it")
        else:
            found[each.name] = by_fold
    if not found:
        raise InputError(f"--by slice: {'; '.join(notes) or f'no slice is of {sides.split}'}")
    return replace(sides, slices=found, notes=(*sides.notes, *notes))


def _keys(store: RunStore, one: Slice, table: Table, tagged: Tagged, codes: Codes | None) -> frozenset[str]:
    """The sentences of a slice, as one run has them."""
    places = select(parse(one.select), table, tagged, store, codes).places
    return frozenset(table.frame["key"].to_numpy()[places].tolist())


def _same(sides: Sides, rows: dict[str, frozenset[str]]) -> dict[int, np.ndarray] | None:
    """By fold the rows, in the order in which all sides have them; None where runs of a fold have others."""
    found: dict[int, np.ndarray] = {}
    of_fold: dict[int, frozenset[str]] = {}
    for side in sides.sides:
        for (_, fold), answers in side.answers.items():
            own = rows[answers.record.run]
            if of_fold.setdefault(fold, own) != own:
                return None
            if fold not in found:
                found[fold] = np.flatnonzero([key in own for key in keys(answers.texts)])
    return found
