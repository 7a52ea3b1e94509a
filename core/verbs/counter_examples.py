"""Counter-examples: sentences that a model gets wrong, with what they ought to be, kept for all who use these runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.writing import write_named


def counter_examples_list(*, run: str = "", store: RunStore | None = None) -> dict[str, Any]:
    """All that are kept, the last first.

    Args:
        run: A run that is asked what it says of them today; empty: none.
        store: Where runs live.

    Returns:
        `counter_examples`: of each `id`, `text`, `label` (what it ought to be), `note`, `author`, `link`, `time`; with
        a run also `said`, what it says, `p_label`, its probability of the label, and `breaks`, whether it is wrong;
        both are None where it has no such class.

    Raises:
        InputError: There is no such run.
        NotAvailable: The run gives several labels per text, or has no weights.
        RunDamaged: Its model cannot be read.
    """
    from core.failures.counter_examples import answers, counter_examples

    store = store or RunStore()
    found = counter_examples(store.folder)
    rows = [dataclasses.asdict(each) for each in found]
    if run:
        from core.runs.load import load_run

        said = answers(load_run(store, run), found)
        rows = [{**row, **dataclasses.asdict(answer)} for row, answer in zip(rows, said, strict=True)]
    return {"counter_examples": rows, **({"run": run} if run else {})}


def counter_examples_keep(
    text: str,
    label: str,
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
        label: A class.
        note: What is wrong.
        author: Who found it.
        link: Where it was found.
        run: A run that has the class; empty: any class is taken.
        store: Where runs live.

    Returns:
        `id`, `text`, `label`, `note`, `author`, `link`, `time`.

    Raises:
        InputError: Text or label are empty or too long, or the run has no such class.
    """
    from core.failures.counter_examples import keep_example

    store = store or RunStore()
    if run and label not in (classes := store.read(run).classes):
        raise InputError(f"--label {label!r:.60}: run '{run}' has no such class; it has {', '.join(classes)}")
    return dataclasses.asdict(keep_example(store.folder, text, label, note, author, link))


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
