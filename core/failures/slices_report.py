"""What the rows of a slice come to for a run."""

from __future__ import annotations

from typing import Any

from core.exceptions import InputError, RunDamaged
from core.failures.report import rate
from core.failures.selection import in_words, parse, select
from core.failures.slices import Slice
from core.failures.table import Table, read_table
from core.failures.tags import Tagged
from core.runs.store import RunStore

_NUMBERS = ("n", "wrong", "rate", "interval", "share")


def slice_report(store: RunStore, table: Table, one: Slice) -> dict[str, Any]:
    """Its rules and its numbers, see `core.verbs.slices`.

    Args:
        store: where the run lies.
        table: of the run; another is read where the slice is of another split.
        one: the slice.
    """
    asked = parse(one.select)
    about = {"name": one.name, "select": one.select, "created": one.created, "split": asked.split or table.split}
    try:
        if asked.split not in ("", table.split):
            table = read_table(store, table.record.run, asked.split)
        found = select(asked, table, Tagged(store, table), store)
    except (InputError, RunDamaged) as error:
        nothing = dict.fromkeys(_NUMBERS)
        return {**about, "where": list(asked.rules), "said": ", ".join(asked.rules), **nothing, "problem": str(error)}
    said = in_words(found.clauses, found.group)
    share = len(found.places) / len(table) if len(table) else 0.0
    numbers = {**rate(table.wrong[found.places]), "share": share}
    return {**about, "where": list(map(str, found.clauses)), "said": said, **numbers, "problem": ""}
