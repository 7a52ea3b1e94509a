"""What the rows of slices come to for a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.exceptions import InputError, RunDamaged
from core.failures.chosen import keep
from core.failures.measured import against_others, measured
from core.failures.report import rate
from core.failures.rules import Codes
from core.failures.selection import in_words, parse, select
from core.failures.slices import Slice
from core.failures.table import Table, read_table
from core.failures.tags import Tagged
from core.runs.store import RunStore

_NUMBERS = ("n", "wrong", "rate", "interval", "share", "others", "difference", "difference_interval")
_MEASURED = ("metrics", "intervals", "per_class", "per_class_intervals")


def slices_report(
    store: RunStore, table: Table, kept: Sequence[Slice], codes: Codes | None = None
) -> list[dict[str, Any]]:
    """The rules and the numbers of each, see `core.api.slices`.

    Args:
        store: where the run lies.
        table: of the run; another is read where a slice is of another split.
        kept: the slices.
        codes: what was said of the rows, where a slice is of codes; None: by everybody.
    """
    tagged = Tagged(store, table)
    return [slice_report(store, table, tagged, each, codes) for each in kept]


def slice_report(store: RunStore, table: Table, tagged: Tagged, one: Slice, codes: Codes | None) -> dict[str, Any]:
    """One of them; `tagged` has the tags of the table."""
    asked = parse(one.select)
    about = {"name": one.name, "select": one.select, "created": one.created, "split": asked.split or table.split}
    try:
        if asked.split not in ("", table.split):
            table = read_table(store, table.record.run, asked.split)
            tagged = Tagged(store, table)
        if one.group is not None:
            keep(store, one.group)  # the slice has its sentences, the file of their selection may be gone
        found = select(asked, table, tagged, store, codes)
    except (InputError, RunDamaged) as error:
        nothing = dict.fromkeys(_NUMBERS) | {name: {} for name in _MEASURED} | {"lacks": ""}
        return {**about, "where": list(asked.rules), "said": ", ".join(asked.rules), **nothing, "problem": str(error)}
    said = in_words(found.clauses, found.group)
    share = len(found.places) / len(table) if len(table) else 0.0
    numbers = {
        **rate(table.wrong[found.places]),
        "share": share,
        **against_others(table.wrong, found.places),
        **measured(table, found.places),
    }
    return {**about, "where": list(map(str, found.clauses)), "said": said, **numbers, "problem": ""}
