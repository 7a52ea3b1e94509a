"""Slices: named selections, stored per data set, so that all of its runs can be compared on them.

As codes are: whatever a run has added to its training rows, the sentences that it is judged on are the same.

Two runs are told apart on the same sentences only. A slice by rules on what a run says (wrong, margin, said) has others
for each run, and those of one of them would be unfair to it: it is left out, and that is said.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core import stored
from core.atomic import storage_errors, write_text
from core.data.findings import shown
from core.data.table import Task
from core.evaluation.intervals import intervals, newcombe, per_class_intervals
from core.evaluation.metrics import evaluate, per_class
from core.evaluation.scores import HALF
from core.exceptions import InputError, RunDamaged
from core.failures.coded import Coded
from core.failures.codes import data_of
from core.failures.ledger import now
from core.failures.report import rate
from core.failures.rules import of_readers
from core.failures.selection import Group, Selection, in_words, keep, parse, recall, select
from core.failures.table import Table, keys, read_table
from core.failures.tags import Tagged
from core.fingerprint import file_version
from core.metrics import TUNED, named
from core.runs.record import RunRecord
from core.runs.sides import MOST_VALUES, Sides
from core.runs.store import RunStore

FOLDER = ".slices"  # beside the runs
MOST = 200  # of a data set
LONGEST = 60  # characters of a name
OUTCOMES = frozenset(("wrong", "right", "all"))


@dataclass(frozen=True)
class Slice:
    """A named selection."""

    name: str
    select: str  # as a link has it
    created: str
    group: Group | None = None  # its sentences, where they were chosen one by one

    @property
    def of_codes(self) -> bool:
        """Return whether the slice uses codes or notes, which may change although the run does not."""
        return any(map(of_readers, parse(self.select).rules))


WHOLE = Slice("", "all", "")  # all sentences, as if they were one


def save_slice(store: RunStore, record: RunRecord, name: str, selection: Selection) -> Slice:
    """Store a selection under a name for the data of a run, without its outcome clauses.

    A slice is of the data and not of a run; one of wrong sentences alone would not say how often they are wrong. Raises
    InputError if the name is none or taken, or there are too many slices; StorageError if it cannot be written.
    """
    name, selection = _name(name), _of_data(selection)
    before = slices(store, record)
    if same := next((each for each in before if each.name == name), None):
        if same.select == str(selection):
            return same
        raise InputError(f"there is a slice {shown(name)} already, of {same.select}; take another name, or remove it")
    if len(before) >= MOST:
        raise InputError(f"there are {MOST} slices of these data, and no more are kept; remove one")
    group = recall(store, selection.digest) if selection.digest else None
    made = Slice(name, str(selection), now(), group)
    _write(store, record, made)
    return made


def slices(store: RunStore, record: RunRecord) -> list[Slice]:
    """Read the slices of the data of a run, by name; RunDamaged, which names the file, if one cannot be read."""
    found = [stored.read(path, Slice) for path in _folder(store, record).glob("*.json")]
    return sorted(found, key=lambda each: each.name.casefold())


def version(store: RunStore, record: RunRecord) -> str:
    """Return a text that changes when a slice of the data of a run does."""
    return " ".join(f"{path.name} {file_version(path)}" for path in sorted(_folder(store, record).glob("*.json")))


def find_slice(store: RunStore, record: RunRecord, name: str) -> Selection:
    """Return the selection of a name and store its sentences for links; InputError if there is none."""
    found = slices(store, record)
    one = next((each for each in found if each.name == name), None)
    if one is None:
        there = f"there are {', '.join(shown(each.name) for each in found)}" if found else "there are none yet"
        raise InputError(f"no slice {shown(name)} of the data of run '{record.run}'; {there}")
    if one.group is not None:
        keep(store, one.group)
    return parse(one.select)


def rename_slice(store: RunStore, record: RunRecord, name: str, to: str) -> Slice:
    """Rename a slice; InputError if there is none or the new name is taken."""
    to, before = _name(to), slices(store, record)
    find_slice(store, record, name)
    if to != name and any(each.name == to for each in before):
        raise InputError(f"there is a slice {shown(to)} already; take another name, or remove it")
    made = dataclasses.replace(next(each for each in before if each.name == name), name=to)
    if to != name:
        _write(store, record, made)
        remove_slice(store, record, name)
    return made


def remove_slice(store: RunStore, record: RunRecord, name: str) -> None:
    """Delete a slice, not its sentences; InputError if there is none."""
    find_slice(store, record, name)
    path = _path(store, record, name)
    with storage_errors(path):
        path.unlink(missing_ok=True)


def _of_data(selection: Selection) -> Selection:
    """Drop the outcome rules, if other rules remain."""
    left = tuple(rule for rule in selection.rules if rule not in OUTCOMES)
    return dataclasses.replace(selection, rules=left or selection.rules)


def _name(name: str) -> str:
    found = " ".join(name.split())
    if not found or len(found) > LONGEST or not found.isprintable():
        raise InputError(f"{shown(found)} is no name for a slice: write 1 to {LONGEST} characters")
    return found


def _write(store: RunStore, record: RunRecord, made: Slice) -> None:
    path = _path(store, record, made.name)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(dataclasses.asdict(made), ensure_ascii=False, indent=1))


def _folder(store: RunStore, record: RunRecord) -> Path:
    return store.folder / FOLDER / hashlib.sha256(data_of(record).encode()).hexdigest()[:16]


def _path(store: RunStore, record: RunRecord, name: str) -> Path:
    return _folder(store, record) / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


def with_slices(
    store: RunStore,
    sides: Sides,
    kept: Sequence[Slice],
    read: Callable[[RunRecord, str], Table],
    codes: Coded | None = None,
) -> Sides:
    """Return the compared models with the rows of each slice, and notes on slices that are left out.

    `read` gives the table of a run and a split; without `codes` those of everybody count. Raises InputError if there
    are no slices, too many, or none that can be compared by.
    """
    if not kept:
        raise InputError(
            "--by slice: no slice of these data was saved; `sentiscope slices RUN --save NAME --where CLAUSE` keeps one"
        )
    if len(kept) > MOST_VALUES:
        raise InputError(f"--by slice: {len(kept)} slices; at most {MOST_VALUES} can be compared by")
    tables = {
        record.run: (table := read(record, sides.split), Tagged(store, table))
        for side in sides.sides
        for record in side.model.records
    }
    found: dict[str, dict[int, np.ndarray]] = {}
    notes = []
    for each in kept:
        chosen = parse(each.select)
        if chosen.split not in ("", sides.split):
            continue
        try:
            rows = {run: _keys(store, each, *of_run, codes) for run, of_run in tables.items()}
        except InputError as error:
            notes.append(f"slice {each.name} is left out: {error}")
            continue
        by_fold = _same_rows(sides, rows)
        if by_fold is None:
            notes.append(f"slice {each.name} is left out: its rules select other sentences for each run")
        elif not any(map(len, by_fold.values())):
            notes.append(f"slice {each.name} is left out: there is no sentence of it")
        else:
            found[each.name] = by_fold
    if not found:
        raise InputError(f"--by slice: {'; '.join(notes) or f'no slice is of {sides.split}'}")
    return replace(sides, slices=found, notes=(*sides.notes, *notes))


def _keys(store: RunStore, one: Slice, table: Table, tagged: Tagged, codes: Coded | None) -> frozenset[str]:
    """Return the keys of the sentences that a slice selects in one run."""
    places = select(parse(one.select), table, tagged, store, codes).places
    return frozenset(table.frame["key"].to_numpy()[places].tolist())


def _same_rows(sides: Sides, rows: dict[str, frozenset[str]]) -> dict[int, np.ndarray] | None:
    """Return the rows by fold, in the order shared by all sides; None if runs of a fold select different sentences."""
    found: dict[int, np.ndarray] = {}
    of_fold: dict[int, frozenset[str]] = {}
    for side in sides.sides:
        for (_, fold), answers in side.answers.items():
            own = rows[answers.record.run]
            if of_fold.setdefault(fold, own) != own:
                return None
            if fold not in found:
                found[fold] = np.flatnonzero([key in own for key in keys(answers.texts)])
    return found


SHOWN: dict[Task, tuple[str, ...]] = {
    "single": ("accuracy", "f1_macro"),
    "multi": ("subset_accuracy", "f1_macro", "f1_micro", "hamming_loss"),
}  # of few rows these say something; what ranks them needs every class, which most slices lack
FEW = 30  # fewer rows say little of a model
MOST_NAMED = 4  # classes in a sentence
PARTS = ("precision", "recall", "f1")
_OF = {"precision": "said", "recall": "true"}


def metric_names(table: Table) -> tuple[str, ...]:
    """Return the names of a table's metrics, prefixed by `tuned.` if labels have their own thresholds."""
    tuned = TUNED if table.task == "multi" and table.record.tuned_thresholds else ""
    return tuple(f"{tuned}{name}" for name in SHOWN[table.task])


def measured(table: Table, places: np.ndarray) -> dict[str, Any]:
    """Compute metrics on (k,) rows of a table, with 95 % intervals.

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
    """Compare the error rate of (k,) rows with that of all others.

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
    """Return, for each class, its true rows, its predicted rows and its metrics."""
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
