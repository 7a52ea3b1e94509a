"""Counter-examples: sentences that a model gets wrong, with their true label, shared by all users of the runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

from core import error_analysis, evaluation, runs
from core.api.options import Author, CliArgument, Store
from core.api.printing import make_printer, say, tabulate
from core.atomic import write_named
from core.data.findings import plural
from core.exceptions import InputError
from core.formatting import format_csv
from core.runs.store import RunStore


def counter_examples_list(*, run: Annotated[str, CliArgument()] = "", store: Store = None) -> dict[str, Any]:
    """List all stored counter-examples (sentences that a model gets wrong), newest first.

    Args:
        run: A run whose current predictions are shown for them.

    Returns:
        `counter_examples`: `id`, `text`, `label` (the true class, or several labels separated by semicolons, or empty),
        `labels` (the same as a list), `note`, `author`, `link`, `time`; with a run also `predicted`, `p_label` (its
        probability of the label; of several labels the lowest), and `breaks`, whether it is wrong; both are None if the
        run has no such class.
    """
    store = store or RunStore()
    found = error_analysis.counter_examples.read_examples(store.folder)
    rows = list(map(_to_dict, found))
    if run:
        said = error_analysis.counter_examples.predict_examples(runs.load.load_run(store, run), found)
        rows = [{**row, **dataclasses.asdict(answer)} for row, answer in zip(rows, said, strict=True)]
    return {"counter_examples": rows, **({"run": run} if run else {})}


def counter_examples_keep(
    text: Annotated[str, CliArgument("The sentence.", pair=True)],
    label: Annotated[
        str | Collection[str],
        CliArgument(kind=list[str], parse=lambda labels: labels[0] if len(labels) == 1 else labels, place=False),
    ],
    *,
    note: str = "",
    author: Author = "",
    link: str = "",
    run: str = "",
    store: Store = None,
) -> dict[str, Any]:
    """Store a counter-example: a sentence with the label that a model should predict.

    Args:
        label: The expected class; repeat for several labels; 'none of them' means no label.
        note: What is wrong.
        link: Where it was found.
        run: A run that has the class.
    """
    store, labels = store or RunStore(), error_analysis.counter_examples.parse_labels(label)
    if run:
        record = store.read(run)
        if strange := [each for each in labels if each not in record.classes]:
            there = ", ".join(record.classes)
            raise InputError(f"--label {strange[0]!r:.60}: run '{run}' has no such class; it has {there}")
        if record.task == "single" and len(labels) != 1:
            raise InputError(f"--label: run '{run}' gives each text one class; name one")
    return _to_dict(error_analysis.counter_examples.keep_example(store.folder, text, labels, note, author, link))


def _to_dict(one: error_analysis.counter_examples.CounterExample) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "labels": list(one.labels)}


def counter_examples_remove(
    id: Annotated[str, CliArgument("As `list` shows it.", metavar="ID")], *, author: Author = "", store: Store = None
) -> dict[str, Any]:
    """Remove a counter-example from the list; training runs that used it keep it."""
    error_analysis.counter_examples.remove_example((store or RunStore()).folder, id, author)
    return {"id": id, "removed": True}


def counter_examples_export(
    file: Annotated[Path | str, CliArgument("CSV.", metavar="FILE")], *, store: Store = None
) -> dict[str, Any]:
    """Write all counter-examples to a CSV file that can be trained on."""
    rows = error_analysis.counter_examples.read_examples((store or RunStore()).folder)
    write_named("FILE", file, format_csv(error_analysis.counter_examples.build_table(rows)))
    return {"file": str(file), "rows": len(rows)}


def print_counter_examples_list(result: dict[str, Any]) -> None:
    """Print a row for each counter-example (a sentence that a model gets wrong), and how many a run gets wrong."""
    rows = result["counter_examples"]
    if not rows:
        say("None are stored yet: `sentiscope counter-examples keep TEXT --label CLASS`.")
        return
    columns: dict[str, Any] = {"id": "id", "label": _join_labels}
    if "run" in result:
        known = [row for row in rows if row["breaks"] is not None]
        wrong = sum(row["breaks"] for row in known)
        say(f"{result['run']} is wrong on {wrong} of the {len(known)} whose class it has.")
        columns |= {"predicted": "predicted", "p": "p_label"}
    tabulate(rows, columns | {name: name for name in ("text", "note", "author")}, "id")
    say(f"{plural(len(rows), 'counter-example')}; `sentiscope train --add counter-examples` trains with them.")


print_counter_examples_keep = make_printer(lambda r: f"{_join_labels(r)}: {r['text']}")
print_counter_examples_remove = make_printer(lambda r: f"{r['id']} is gone.")
print_counter_examples_export = make_printer(lambda r: f"{plural(r['rows'], 'counter-example')} in {r['file']}.")


def _join_labels(row: dict[str, Any]) -> str:
    return ", ".join(row["labels"]) or evaluation.metrics.NOTHING
