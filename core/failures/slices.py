"""Slices: selections with a name, kept for a data set, so that every run on it has them and runs are compared by them.

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

import numpy as np

from core import stored
from core.atomic import storage_errors, write_text
from core.data.findings import shown
from core.exceptions import InputError
from core.failures.coded import Coded
from core.failures.codes import data_of
from core.failures.ledger import now
from core.failures.rules import of_readers
from core.failures.selection import Group, Selection, keep, parse, recall, select
from core.failures.table import Table, keys
from core.failures.tags import Tagged
from core.fingerprint import file_version
from core.runs.record import RunRecord
from core.runs.sides import MOST_VALUES, Sides
from core.runs.store import RunStore

FOLDER = ".slices"  # beside the runs
MOST = 200  # of a data set
LONGEST = 60  # characters of a name
OUTCOMES = frozenset(("wrong", "right", "all"))


@dataclass(frozen=True)
class Slice:
    """A selection with a name."""

    name: str
    select: str  # as a link has it
    created: str
    group: Group | None = None  # its sentences, where they were chosen one by one

    @property
    def of_codes(self) -> bool:
        """Return whether it asks for codes or notes, which change while nothing of a run does."""
        return any(map(of_readers, parse(self.select).rules))


WHOLE = Slice("", "all", "")  # all sentences, as if they were one


def save_slice(store: RunStore, record: RunRecord, name: str, selection: Selection) -> Slice:
    """Keep a selection under a name for the data of a run, without its clauses of right and wrong.

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
    """Return the selection of a name, its sentences kept for links; InputError if there is none."""
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
    """Drop words of right and wrong, where anything is left."""
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
    """Return the sides with the rows of each slice, and notes on those that are left out.

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
    """Return the sentences of a slice, as one run has them."""
    places = select(parse(one.select), table, tagged, store, codes).places
    return frozenset(table.frame["key"].to_numpy()[places].tolist())


def _same_rows(sides: Sides, rows: dict[str, frozenset[str]]) -> dict[int, np.ndarray] | None:
    """Return by fold the rows, in the order in which all sides have them; None where runs of a fold have others."""
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
