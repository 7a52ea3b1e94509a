"""Counter-examples: sentences that a model gets wrong, with what they ought to be, kept for all who use these runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.writing import write_named

if TYPE_CHECKING:
    from core.failures.counter_examples import CounterExample


def counter_examples_list(*, run: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """All that are kept, the last first.

    Args:
        run: A run that is asked what it says of them today; empty: none.
        store: Where runs live.

    Returns:
        `counter_examples`: of each `id`, `text`, `label` (what it ought to be: a class, or several labels with a
        semicolon between, of none nothing), `labels` (the same as a list), `note`, `author`, `link`, `time`; with a run
        also `said`, what it says, `p_label`, its probability of the label, of several that of the least sure one, and
        `breaks`, whether it is wrong; both are None where it has no such class.

    Raises:
        InputError: There is no such run.
        NotAvailable: The run has no weights.
        RunDamaged: Its model cannot be read.
    """
    from core.failures.counter_examples import answers, counter_examples

    store = store or RunStore()
    found = counter_examples(store.folder)
    rows = list(map(_shown, found))
    if run:
        from core.runs.load import load_run

        said = answers(load_run(store, run), found)
        rows = [{**row, **dataclasses.asdict(answer)} for row, answer in zip(rows, said, strict=True)]
    return {"counter_examples": rows, **({"run": run} if run else {})}


def counter_examples_keep(
    text: str,
    label: str | Collection[str],
    *,
    note: str = "",
    author: str = "",
    link: str = "",
    run: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Keep a sentence with the label that it ought to have.

    Args:
        text: The sentence.
        label: A class; of several labels per text a list of all that it ought to have, which may be empty, or these
            with a semicolon between; `"none of them"` is the empty list.
        note: What is wrong.
        author: Who found it.
        link: Where it was found.
        run: A run that has the class; empty: any class is taken.
        store: Where runs live.

    Returns:
        `id`, `text`, `label`, `labels`, `note`, `author`, `link`, `time`.

    Raises:
        InputError: Text or label are empty or too long, the run has no such class, or it gives one label per text, and
            there are none or several.
    """
    from core.failures.counter_examples import keep_example, labels_of

    store, labels = store or RunStore(), labels_of(label)
    if run:
        record = store.read(run)
        if strange := [each for each in labels if each not in record.classes]:
            there = ", ".join(record.classes)
            raise InputError(f"--label {strange[0]!r:.60}: run '{run}' has no such class; it has {there}")
        if record.task == "single" and len(labels) != 1:
            raise InputError(f"--label: run '{run}' gives each text one class; name one")
    return _shown(keep_example(store.folder, text, labels, note, author, link))


def _shown(one: CounterExample) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "labels": list(one.labels)}


def counter_examples_remove(id: str, *, author: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """Take one out of the list; trainings that took it along keep it.

    Raises:
        InputError: There is none of this id.
    """
    from core.failures.counter_examples import remove_example

    remove_example((store or RunStore()).folder, id, author)
    return {"id": id, "removed": True}


def counter_examples_export(file: Path | str, *, store: RunStore | None = None) -> dict[str, Any]:
    """Write all as CSV: `text`, `label`, `note`, `author`, `link`, `time`, `id`; a file that can be trained on.

    Returns:
        `file`, `rows`.

    Raises:
        InputError: The file cannot be written.
    """
    from core.cells import csv_text
    from core.failures.counter_examples import counter_examples, example_table

    rows = counter_examples((store or RunStore()).folder)
    write_named("FILE", Path(file), csv_text(example_table(rows)))
    return {"file": str(file), "rows": len(rows)}
