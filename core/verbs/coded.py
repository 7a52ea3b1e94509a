"""Rows of a run that are selected, and what was said of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from core.exceptions import InputError
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np

    from core.failures.coded import Coded
    from core.failures.codes import Codes
    from core.failures.draws import Draw
    from core.failures.table import Table

Where = Sequence[str] | str


class Selected(NamedTuple):
    """Rows of a run, and what was said of them."""

    codes: Codes
    coded: Coded
    table: Table
    rows: np.ndarray
    said: str
    by_codes: bool
    """Whether they were selected by what was said of them."""

    @property
    def keys(self) -> list[str]:
        """What the rows are known by, whatever else the file holds."""
        found: list[str] = self.table.frame["key"][self.rows].tolist()
        return found


def codes_of(run: str, store: RunStore | None) -> Codes:
    """The codes of the data set of a run."""
    from core.failures.codes import Codes, data_of

    store = store or RunStore()
    return Codes(store.folder, data_of(store.read(run)))


def selected(run: str, split: str, where: Where, store: RunStore | None, author: str | None = None) -> Selected:
    """The rows of a split that clauses select; without any, what is wrong.

    Raises:
        InputError: there is no such run or split, or a clause is not understood.
    """
    from core.failures.report import said
    from core.failures.rules import of_readers
    from core.failures.selection import Selection, chosen_rows
    from core.failures.table import read_table
    from core.failures.tags import Tagged

    store = store or RunStore()
    table, codes = read_table(store, run, split), codes_of(run, store)
    coded = codes.coded(author)
    asked = Selection((where,) if isinstance(where, str) and where else tuple(where) or ("wrong",), split)
    clauses, rows = chosen_rows(asked, table, Tagged(store, table), store)
    by_codes = any(of_readers(rule) for rule in asked.rules)
    return Selected(codes, coded, table, rows, said(table, clauses, rows), by_codes)


def keyed(found: Selected, keys: Sequence[str]) -> list[str]:
    """The same keys.

    Raises:
        InputError: no row of the split has one of them.
    """
    known = set(found.table.frame["key"])
    if strange := [key for key in keys if key not in known]:
        raise InputError(
            f"key {strange[0]!r:.40}: no sentence of {found.table.record.run}, {found.table.split} has it; "
            "`sentiscope errors` shows keys"
        )
    return list(keys)


def about(found: Selected) -> dict[str, Any]:
    """What a selection is, as every verb tells it."""
    run, split = found.table.record.run, found.table.split
    return {"run": run, "data": found.codes.data, "split": split, "n": int(found.rows.sum()), "said": found.said}


def drawn(draw: Draw) -> dict[str, Any]:
    """A draw without its keys."""
    sizes = {"n": len(draw.keys), "of": len(draw.population)}
    return {"id": draw.id, **sizes, "seed": draw.seed, "said": draw.said, "author": draw.author, "time": draw.time}
