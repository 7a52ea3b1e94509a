"""Counter-examples: sentences that a model gets wrong, with what they ought to be, kept for all who use these runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.writing import write_named


def counter_examples_list(*, store: RunStore | None = None) -> dict[str, Any]:
    """All that are kept, the last first.

    Returns:
        `counter_examples`: of each `id`, `text`, `label` (what it ought to be), `note`, `author`, `link`, `time`.
    """
    from core.failures.counter_examples import counter_examples

    found = counter_examples((store or RunStore()).folder)
    return {"counter_examples": [dataclasses.asdict(each) for each in found]}


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
    import pandas as pd

    from core.cells import csv_text

    rows = counter_examples_list(store=store)["counter_examples"]
    columns = ["text", "label", "note", "author", "link", "time", "id"]
    write_named("FILE", Path(file), csv_text(pd.DataFrame(rows, columns=columns)))
    return {"file": str(file), "rows": len(rows)}
