"""Slices: selections with a name, kept for a data set, so that every run on it has them.

As codes are: whatever a run has added to its training rows, the sentences that it is judged on are the same.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from core import stored
from core.atomic import storage_errors, write_text
from core.data.findings import shown
from core.exceptions import InputError
from core.failures.chosen import Group, keep, recall
from core.failures.codes import data_of
from core.failures.rules import of_readers
from core.failures.selection import Selection, parse
from core.fingerprint import file_version
from core.runs.record import RunRecord
from core.runs.store import RunStore

FOLDER = ".slices"
"""Beside the runs."""
MOST = 200
"""Of a data set."""
LONGEST = 60
"""Characters of a name."""
OUTCOMES = frozenset(("wrong", "right", "all"))


@dataclass(frozen=True)
class Slice:
    """A selection by its name."""

    name: str
    select: str
    """As a link has it."""
    created: str
    group: Group | None = None
    """Its sentences, where they were chosen one by one."""

    @property
    def of_codes(self) -> bool:
        """Whether it asks for codes or notes, which change while nothing of a run does."""
        return any(map(of_readers, parse(self.select).rules))


WHOLE = Slice("", "all", "")
"""All sentences, as if they were one."""


def save_slice(store: RunStore, record: RunRecord, name: str, selection: Selection) -> Slice:
    """Keep a selection under a name, for the data of a run: right and wrong, whatever of the two was looked at.

    A slice is of the data and not of a run; one of wrong sentences alone would not say how often they are wrong.

    Raises:
        InputError: the name is empty, too long or taken by another selection, or there are too many slices.
        StorageError: the disk is full or read-only.
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
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    made = Slice(name, str(selection), now, group)
    _write(store, record, made)
    return made


def slices(store: RunStore, record: RunRecord) -> list[Slice]:
    """The slices of the data of a run, by name.

    Raises:
        RunDamaged: one cannot be read; the message names the file.
    """
    found = [stored.read(path, Slice) for path in _folder(store, record).glob("*.json")]
    return sorted(found, key=lambda each: each.name.casefold())


def version(store: RunStore, record: RunRecord) -> str:
    """A text that changes when a slice of the data of a run does."""
    return " ".join(f"{path.name} {file_version(path)}" for path in sorted(_folder(store, record).glob("*.json")))


def find_slice(store: RunStore, record: RunRecord, name: str) -> Selection:
    """The selection of a name, its sentences kept for links.

    Raises:
        InputError: there is none; the message says what there is.
        RunDamaged: it cannot be read.
    """
    found = slices(store, record)
    one = next((each for each in found if each.name == name), None)
    if one is None:
        there = f"there are {', '.join(shown(each.name) for each in found)}" if found else "there are none yet"
        raise InputError(f"no slice {shown(name)} of the data of run '{record.run}'; {there}")
    if one.group is not None:
        keep(store, one.group)
    return parse(one.select)


def rename_slice(store: RunStore, record: RunRecord, name: str, to: str) -> Slice:
    """Give a slice another name.

    Raises:
        InputError: there is none, or the new name is none or taken.
        StorageError: the folder is read-only.
    """
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
    """Forget a slice; its sentences stay.

    Raises:
        InputError: there is none.
        StorageError: the folder is read-only.
    """
    find_slice(store, record, name)
    path = _path(store, record, name)
    with storage_errors(path):
        path.unlink(missing_ok=True)


def _of_data(selection: Selection) -> Selection:
    """Without words of right and wrong, where anything is left."""
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
