"""What a run gets wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.atomic import write_text
from core.cells import csv_text
from core.exceptions import InputError
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd


def errors(
    run: str,
    *,
    split: str = "",
    where: Sequence[str] = (),
    csv: Path | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What a run says of each text of a split, and a selection of these rows.

    Args:
        run: An evaluated run.
        split: Empty: test, or the last that was evaluated.
        where: Clauses of which all must hold (`core.failures.rules`): `["truth=negative", "margin<0.2"]`; empty: what
            is wrong. `["all"]` is every row.
        csv: A file for the selected rows, with every own column of the data.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, `task`, `classes`; `n` rows, of which `wrong`, with `rate` and its 95 % `interval`
        (Wilson); `where`, `selected` (the same numbers of the selection, and its `share` of all rows) and `said`, the
        selection as a sentence; `own`, the names of the data's own columns; `rows`: of each selected row `key` (stable
        over runs and splits), `row`, `text`, `truth`, `said`, `p_truth`, `p_said`, `margin`, `wrong`, of several labels
        `missed` and `invented` (`core.failures.table` has their meaning), and the own columns.

    Raises:
        InputError: There is no such run or split, a clause is not understood, or the file cannot be written.
        RunDamaged: The predictions cannot be read.
    """
    from core.failures.report import choose, report
    from core.failures.table import read_table

    table = read_table(store or RunStore(), run, split)
    clauses, chosen = choose(where, table, None)
    if csv is not None:
        _write(csv, table.frame[chosen])
    return report(table, clauses, chosen)


def _write(file: Path, frame: pd.DataFrame) -> None:
    """A table for other programs; nothing in it is computed by a spreadsheet."""
    path = file.expanduser()
    if not path.parent.is_dir() or path.is_dir():
        raise InputError(f"--csv {file}: cannot be written: no such folder, or a folder itself")
    write_text(path, csv_text(frame))
