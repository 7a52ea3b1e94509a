"""What a run gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.cells import csv_text
from core.exceptions import InputError, NotAvailable
from core.runs.store import RunStore
from core.verbs.writing import write_named


def errors(  # noqa: PLR0913 - each is an option that a person types by name
    run: str,
    *,
    split: str = "",
    where: Sequence[str] | str = (),
    tags: bool = False,
    against: Sequence[str] | str = (),
    label_errors: bool | Path = False,
    unsure: bool = False,
    slice: str = "",
    order: str = "file",
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
        against: Further runs on the same rows, each for a tag `models disagree with RUN`. Other seeds of the same model
            need no naming: `seeds disagree` is there wherever one was trained on the same data.
        label_errors: Which labels are likely wrong, of the training rows and of the split: confident learning
            (`core.failures.suspects`), by models that were not fitted on the row. Minutes at first, then kept. A path:
            also write these rows to that file.
        unsure: First have the run read the texts again and again with dropout left on, for the tag `unsure under
            dropout` (`core.failures.unsure`). Minutes at first, then kept.
        slice: A slice of these data by its name (`slices`); with `where`, those of its rows where that holds too.
        order: Of the rows: `file`, as they stand there; `sure`, the surest answers first; `wrong`, the surest wrong
            ones; `margin`, the lowest margin first: what is nearly wrong too; `unsure`, the least sure first.
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
        would have at the rate of the rest; the risk `ratio`, its `p`, `p_holm` (Holm over tags and values),
        `ratio_interval` at the level of its Holm step and whether it `differs` from 1, exactly where that leaves out 1.
        These are None where fewer than 30 rows have the tag or have it not, and of a tag that only errors have; an
        upper end that is None has no bound. `values`: the same of each value of an own column, with the `rule` that
        selects its rows. `slices`: properties, and pairs of two, that go wrong more often than chance allows for all
        that were tried (`core.failures.found`): `select`, `said` and the same numbers. `absent`: tag → why it is not
        there; each row has its `tags`. `marks`: own columns and tags that the rules do not name, by how much they mark
        the selection (`core.failures.marking`). `words`: words and phrases that it has more than the rest, by z
        (`core.failures.phrases`): `words`, how many texts of the selection have them (`selected`, as many as
        `word=WORDS` selects of it) and how many of the `rest`, `log_odds` and `z`, 4 or more.

        With `label_errors` under this name: `n` rows and how many are `likely` wrong, by split; `rows`: those of which
        another label is likelier than theirs, by the probability of their label (`p_truth`), the least first: `split`,
        `row`, `key`, `text`, `likely`, `truth` and the `likelier` label, `p_truth`, `p_likelier`, `margin`;
        `conflicts`: each `text` that stands in the data with several `labels` (label → rows), and its `rows`;
        `left_out`: why there are none.

    Raises:
        InputError: There is no such run, split, slice or order, a clause is not understood, the run has no dropout, or
            the file cannot be written.
        RunDamaged: The predictions cannot be read.
    """
    import numpy as np

    from core.failures import unsure as under_dropout
    from core.failures.doubted import doubted, doubted_rows
    from core.failures.order import ordered, refuse_unknown
    from core.failures.report import report
    from core.failures.selection import Selection, chosen_rows
    from core.failures.slices import find_slice
    from core.failures.table import read_table
    from core.failures.tags import Tagged

    refuse_unknown(order)
    store = store or RunStore()
    where, against = ([each] if isinstance(each, str) else each for each in (where, against))
    for other in against:
        store.read(other)  # before anything is done: tags ask them when they are first wanted
    named = find_slice(store, store.read(run), slice) if slice else Selection(())
    table = read_table(store, run, split or named.split)
    if unsure:
        try:
            under_dropout.find(store, table, on_progress)
        except NotAvailable as error:
            raise InputError(f"--unsure: run '{run}' cannot be read with dropout on: {error}") from error
    heard = {"tell": on_progress} if on_progress else {}
    tagged = Tagged(store, table, against, **heard)
    asked = Selection((*named.rules, *where) or ("wrong",), split)
    clauses, chosen = chosen_rows(asked, table, tagged, store)
    places = ordered(table, np.flatnonzero(chosen), order or "file")
    if csv is not None:
        beside = {f"tag:{name}": has[places].astype(int) for name, has in tagged.there.items()} if tags else {}
        write_named("--csv", csv, csv_text(table.frame.iloc[places].assign(**beside)))
    found = report(table, clauses, chosen, tagged if tags else None)
    at = {int(place): rank for rank, place in enumerate(places)}
    found["rows"] = sorted(found["rows"], key=lambda row: at[row["row"]])
    if not label_errors:
        return found
    labels = doubted(store, table, on_progress)
    if isinstance(label_errors, Path):
        write_named("--label-csv", label_errors, csv_text(doubted_rows(labels)))
    return {**found, "label_errors": labels}


def slices(
    run: str,
    *,
    save: str = "",
    where: Sequence[str] | str = (),
    rename: tuple[str, str] = ("", ""),
    remove: str = "",
    split: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """The slices of the data of a run: selections with a name, which every run on these data has.

    Args:
        run: An evaluated run; the rules of a slice are asked of its predictions.
        save: First keep what `where` selects under this name.
        where: As of `errors`; empty: what is wrong.
        rename: First give the slice of the first name the second.
        remove: First forget the slice of this name.
        split: Of which split it selects; empty: test, or the last that was evaluated.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`; `slices`, by name: `name`, `select` as a link has it, `where` (its clauses) and `said`
        in words, `created`; `split`, `n` rows, their `share` of all, how many are `wrong`, `rate` and its 95 %
        `interval` (Wilson); the rate of the `others`, the `difference` to it and its `difference_interval` (Newcombe
        1998); `metrics` of these rows under their names everywhere (accuracy and macro F1; of several
        labels all labels right, macro and micro F1 and the Hamming loss, `tuned.` before them at thresholds of the
        run's own), with `intervals`; `per_class`: `support`, `precision`, `recall` and `f1` of each class, with
        `per_class_intervals`. None is what is not defined on these rows, and `lacks` says why. `problem`: why this run
        has no such rows; all of these numbers are None or empty then.

    Raises:
        InputError: There is no such run, split, slice or order, a clause is not understood, or the name is taken.
        RunDamaged: The predictions or a slice cannot be read.
        StorageError: Nothing can be written.
    """
    from core.failures.selection import Selection, select
    from core.failures.slices import remove_slice, rename_slice, save_slice
    from core.failures.slices import slices as kept
    from core.failures.slices_report import slices_report
    from core.failures.table import read_table
    from core.failures.tags import Tagged

    store = store or RunStore()
    if where and not save:
        raise InputError("--where says what is to be saved; name it with --save NAME")
    table = read_table(store, run, split)
    if save:
        asked = Selection((where,) if isinstance(where, str) and where else tuple(where) or ("wrong",), split)
        select(asked, table, Tagged(store, table), store)  # what cannot be asked is not kept
        save_slice(store, table.record, save, asked)
    if any(rename):
        rename_slice(store, table.record, *rename)
    if remove:
        remove_slice(store, table.record, remove)
    found = slices_report(store, table, kept(store, table.record))
    return {"run": run, "data": table.record.config.data.name, "split": table.split, "slices": found}
