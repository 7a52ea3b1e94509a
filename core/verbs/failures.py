"""What a run gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.atomic import write_text
from core.cells import csv_text
from core.exceptions import InputError, NotAvailable, StorageError
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

    from core.failures.table import Table


def errors(
    run: str,
    *,
    split: str = "",
    where: Sequence[str] | str = (),
    tags: bool = False,
    against: Sequence[str] | str = (),
    label_errors: bool = False,
    csv: Path | None = None,
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """What a run says of each text of a split, and a selection of these rows.

    Args:
        run: An evaluated run.
        split: Empty: test, or the last that was evaluated.
        where: A clause, or clauses of which all must hold (`core.failures.rules`): `["truth=negative", "margin<0.2"]`;
            empty: what is wrong. `"all"` is every row.
        tags: What can be said of a text without reading it (`core.failures.tags`): how likely an error is with each
            and without; and what marks the selection. What takes long is kept in the cache of the machine.
        against: Further runs on the same rows, for the tags of those that disagree; seeds of the same model apart.
        label_errors: Which labels are likely wrong, of the training rows and of the split: confident learning
            (`core.failures.suspects`), by models that were not fitted on the row. Minutes at first, then kept.
        csv: A file for the selected rows, with every own column of the data; with `tags` a column 0/1 for each.
        store: Where runs live.
        on_progress: Told what is done, where that takes long.

    Returns:
        `run`, `data`, `split`, `task`, `classes`; `n` rows, of which `wrong`, with `rate` and its 95 % `interval`
        (Wilson); `where`, `selected` (the same numbers of the selection, and its `share` of all rows) and `said`, the
        selection as a sentence; `own`, the names of the data's own columns; `rows`: of each selected row `key` (stable
        over runs and splits), `row`, `text`, `truth`, `said`, `p_truth`, `p_said`, `margin`, `wrong`, of several labels
        `missed` and `invented` (`core.failures.table` has their meaning), and the own columns.

        With `tags`, by excess errors: of each `tag` what it is `about`; `n`, `wrong`, `rate` and `interval`; the `rest`
        of the rows; how many of the selection have it (`selected`); `excess`, the errors beyond those that its rows
        would have at the rate of the rest; the risk `ratio`, its `p`, `p_holm` (Holm over the tags), `ratio_interval`
        at the level of its Holm step and whether it `differs` from 1, exactly where that leaves out 1. These are None
        where fewer than 30 rows have the tag or have it not, and of a tag that only errors have; an upper end that is
        None has no bound. `absent`: tag → why it is not there; each row has its `tags`. `marks`: own columns and tags
        that the rules do not name, by how much they mark the selection (`core.failures.marking`). `words`: words and
        phrases that it has more than the rest, by z (`core.failures.phrases`): `words`, occurrences in the selection
        (`selected`) and in the `rest`, `log_odds` and `z`.

        With `label_errors` under this name: `n` rows and how many are `likely` wrong, by split; `rows`: those of which
        another label is likelier than theirs, by their normalised `margin`, the most doubtful first: `split`, `row`,
        `key`, `text`, `likely`, `truth` and the `likelier` label, `p_truth`, `p_likelier`; `conflicts`: each `text`
        that stands in the data with several `labels` (label → rows), and its `rows`; `left_out`: why there are none.

    Raises:
        InputError: There is no such run or split, a clause is not understood, or the file cannot be written.
        RunDamaged: The predictions cannot be read.
    """
    from core.failures.report import choose, report
    from core.failures.table import read_table
    from core.failures.tags import Tagged

    store = store or RunStore()
    where, against = ([each] if isinstance(each, str) else each for each in (where, against))
    for other in against:
        store.read(other)  # before anything is done: tags ask them when they are first wanted
    table = read_table(store, run, split)
    heard = {"tell": on_progress} if on_progress else {}
    tagged = Tagged(store, table, against, **heard)
    clauses, chosen = choose(where, table, tagged)
    if csv is not None:
        beside = {f"tag:{name}": has[chosen].astype(int) for name, has in tagged.there.items()} if tags else {}
        _write(csv, table.frame[chosen].assign(**beside))
    found = report(table, clauses, chosen, tagged if tags else None)
    return {**found, "label_errors": _label_errors(table, on_progress)} if label_errors else found


def _label_errors(table: Table, on_progress: Callable[[str, float | None], None] | None) -> dict[str, Any]:
    """Of the data of a run, where they are here."""
    from core.failures.label_errors import label_errors
    from core.runs.seen import trained_on

    try:
        dataset = trained_on(table.record)
    except NotAvailable as error:
        return {"rows": [], "likely": {}, "n": {}, "left_out": str(error), "conflicts": []}
    return label_errors(table, dataset, on_progress or (lambda what, share: None))


def _write(file: Path, frame: pd.DataFrame) -> None:
    """A table for other programs; nothing in it is computed by a spreadsheet."""
    try:
        path = file.expanduser().resolve()  # behind a link: the file, not the link, is replaced
        if not path.parent.is_dir() or (path.exists() and not path.is_file()):
            raise InputError(f"--csv {file!s:.200}: cannot be written: no such folder, or not a file")
        write_text(path, csv_text(frame))
    except (OSError, RuntimeError, ValueError, StorageError) as error:
        raise InputError(f"--csv {str(file)!r:.200}: cannot be written; choose another file") from error
