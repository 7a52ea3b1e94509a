"""The metrics of some rows of a table, as they are of a whole split, and what slices come to for a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.data.table import Task
from core.evaluation.intervals import intervals, newcombe, per_class_intervals
from core.evaluation.metrics import evaluate, per_class
from core.evaluation.scores import HALF
from core.exceptions import InputError, RunDamaged
from core.failures.coded import Coded
from core.failures.report import rate
from core.failures.selection import in_words, keep, parse, select
from core.failures.slices import Slice
from core.failures.table import Table, read_table
from core.failures.tags import Tagged
from core.metrics import TUNED, named
from core.runs.store import RunStore

SHOWN: dict[Task, tuple[str, ...]] = {
    "single": ("accuracy", "f1_macro"),
    "multi": ("subset_accuracy", "f1_macro", "f1_micro", "hamming_loss"),
}  # of few rows these say something; what ranks them needs every class, which most slices lack
FEW = 30  # fewer rows say little of a model
MOST_NAMED = 4  # classes in a sentence
PARTS = ("precision", "recall", "f1")
_OF = {"precision": "said", "recall": "true"}


def metric_names(table: Table) -> tuple[str, ...]:
    """Return the metrics of a table, with `tuned.` before them where labels have thresholds of their own."""
    tuned = TUNED if table.task == "multi" and table.record.tuned_thresholds else ""
    return tuple(f"{tuned}{name}" for name in SHOWN[table.task])


def measured(table: Table, places: np.ndarray) -> dict[str, Any]:
    """Compute metrics of (k,) rows of a table, with 95 % intervals.

    Returns:
        `metrics`, name → value, and `intervals`, name → [low, high]; `per_class`, class → `support`, `precision`,
        `recall`, `f1`, and `per_class_intervals`, in the same way; None is what is not defined on these rows. `lacks`
        says in a sentence which these are and why; empty: nothing.
    """
    record, task = table.record, table.task
    true, chances = table.true[places], table.probabilities[places]
    labels = true.argmax(1) if task == "single" else true
    thresholds = np.array([(record.tuned_thresholds or {}).get(name, HALF) for name in table.classes])
    asked = labels, chances, task, thresholds
    values = evaluate(*asked, ordered=record.ordered)
    plain = {name: named(name).name for name in metric_names(table)}
    ends = intervals(*asked, names=set(plain.values()), ordered=record.ordered) if len(places) else {}
    return {
        "metrics": {name: values.get(each) for name, each in plain.items()},
        "intervals": {name: ends.get(each) for name, each in plain.items()},
        **_classes(table, places, asked),
        "lacks": _lacks(table, places),
    }


def against_others(wrong: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """Compare how often (k,) rows are wrong with all others.

    Returns `others`, the rate of errors of the rest; `difference`, that of the rows less it, and its 95 %
    `difference_interval` (Newcombe 1998); None where there are no such rows or no others.
    """
    rest = len(wrong) - len(places)
    if not rest or not len(places):
        return {"others": None, "difference": None, "difference_interval": None}
    here = int(wrong[places].sum())
    there = int(wrong.sum()) - here
    return {
        "others": there / rest,
        "difference": here / len(places) - there / rest,
        "difference_interval": list(newcombe(here, len(places), there, rest)),
    }


def _classes(table: Table, places: np.ndarray, asked: tuple[Any, ...]) -> dict[str, Any]:
    """Return of each class what is true, what is predicted, and how alike the two are."""
    labels, chances, task, thresholds = asked
    whole = labels, chances, table.classes, task, thresholds
    counts = {"true": table.true[places].sum(0), "said": table.said[places].sum(0)}
    values, drawn = per_class(*whole), per_class_intervals(*whole)
    found: dict[str, dict[str, Any]] = {}
    ends: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(table.classes):
        n = {side: int(number[place]) for side, number in counts.items()}
        there = {part: n[_OF[part]] > 0 if part in _OF else sum(n.values()) > 0 for part in PARTS}
        found[name] = {"support": n["true"]} | {part: values[name][part] if there[part] else None for part in PARTS}
        ends[name] = {part: drawn[name].get(part) if there[part] else None for part in PARTS}
    return {"per_class": found, "per_class_intervals": ends}


def _lacks(table: Table, places: np.ndarray) -> str:
    if not len(places):
        return "There is no sentence of it, so nothing is measured."
    true, said = (has[places].any(0) for has in (table.true, table.said))
    never, unsaid, wrongly = (_named(table, where) for where in (~true, ~said, said & ~true))
    found = []
    if never:
        found.append(f"No sentence of it is {_listed(never)}: of what is not there, there is no recall.")
    if unsaid:
        found.append(f"None is said to be {_listed(unsaid)}: of what is never said, there is no precision.")
    if wrongly:
        found.append("Macro F1 counts a class as 0 that is said and never true.")
    return " ".join(found)


def _named(table: Table, where: np.ndarray) -> list[str]:
    return [name for name, holds in zip(table.classes, where, strict=True) if holds]


def _listed(classes: Sequence[str]) -> str:
    if len(classes) > MOST_NAMED:
        return f"any of {len(classes)} classes"
    return " or ".join([", ".join(classes[:-1]), classes[-1]] if len(classes) > 1 else classes)


_NUMBERS = ("n", "wrong", "rate", "interval", "share", "others", "difference", "difference_interval")
_MEASURED = ("metrics", "intervals", "per_class", "per_class_intervals")


def slices_report(
    store: RunStore, table: Table, kept: Sequence[Slice], codes: Coded | None = None
) -> list[dict[str, Any]]:
    """Return rules and numbers of each slice, see `core.api.slices`; without `codes` those of everybody count."""
    tagged = Tagged(store, table)
    return [slice_report(store, table, tagged, each, codes) for each in kept]


def slice_report(store: RunStore, table: Table, tagged: Tagged, one: Slice, codes: Coded | None) -> dict[str, Any]:
    """Return the rules and numbers of a slice; `tagged` has the tags of the table."""
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
