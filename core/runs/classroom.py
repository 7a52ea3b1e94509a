"""A class that shares one dashboard: who is here, whose runs are whose, and what the teacher allows.

`sentiscope dashboard --classroom` starts it. A person is known by the hash of a browser cookie (`person`) and by the
name that they type. The SQLite file next to the runs is shared by all server processes.
"""

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from core import limits
from core.atomic import open_transaction
from core.exceptions import InputError

FILE = "classroom.sqlite"
KEY = "SENTISCOPE_CLASSROOM"  # environment variable with the teacher's key; without it there is no classroom
_TABLES = (
    "CREATE TABLE IF NOT EXISTS people (person TEXT PRIMARY KEY, name TEXT NOT NULL, page TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS tabs (tab TEXT PRIMARY KEY, person TEXT NOT NULL, pid INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS teachers (person TEXT PRIMARY KEY, proof TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS owners (job TEXT PRIMARY KEY, person TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS rules (rule TEXT PRIMARY KEY)",
)
_READ_ONLY = "read-only"
NOBODY = "(no name)"


class Person(NamedTuple):
    """A connected person: the typed name, the page that is open, and how many tabs are."""

    name: str
    page: str
    tabs: int
    teacher: bool


class Classroom:
    """The people, jobs and rules of a class; each call opens the file again. StorageError: it cannot be used."""

    def __init__(self, folder: Path, key: str) -> None:
        self.path, self._key = folder / FILE, key

    def record_person(self, person: str, name: str, page: str) -> str:
        """Store what a person calls themselves (an empty name changes nothing) and looks at; return their name."""
        with self._open_file() as file:
            known = file.execute("SELECT name FROM people WHERE person = ?", (person,)).fetchone()
            name = name or (known[0] if known else "")
            file.execute("INSERT OR REPLACE INTO people VALUES (?, ?, ?)", (person, name, page))
        return name

    @contextlib.contextmanager
    def hold_tab(self, person: str) -> Iterator[None]:
        """Count a person's open browser tab as long as the context lasts."""
        tab = secrets.token_hex(8)
        with self._open_file() as file:
            file.execute("INSERT INTO tabs VALUES (?, ?, ?)", (tab, person, os.getpid()))
        try:
            yield
        finally:
            with self._open_file() as file:
                file.execute("DELETE FROM tabs WHERE tab = ?", (tab,))

    def list_people(self) -> list[Person]:
        """List the connected people, the teacher first, then by name; tabs of a server that has ended do not count."""
        asked = (
            "SELECT COALESCE(name, ''), COALESCE(page, ''), COUNT(*), tabs.person FROM tabs "
            "LEFT JOIN people USING (person) GROUP BY tabs.person"
        )
        with self._open_file() as file:
            for (pid,) in file.execute("SELECT DISTINCT pid FROM tabs").fetchall():
                if not psutil.pid_exists(pid):
                    file.execute("DELETE FROM tabs WHERE pid = ?", (pid,))
            found = [
                Person(name or NOBODY, page, tabs, self._is_teacher(file, person))
                for name, page, tabs, person in file.execute(asked).fetchall()
            ]
        return sorted(found, key=lambda each: (not each.teacher, each.name == NOBODY, each.name.casefold()))

    def allow_teacher(self, person: str, key: str) -> None:
        """Remember a person as the teacher; InputError: that is not the key."""
        if not secrets.compare_digest(key.strip().encode(), self._key.encode()):
            raise InputError("this is not the teacher's key; the terminal that started the dashboard shows it")
        with self._open_file() as file:
            file.execute("INSERT OR REPLACE INTO teachers VALUES (?, ?)", (person, self._make_proof(person)))

    def is_teacher(self, person: str) -> bool:
        """Return whether a person has given the key that is valid now."""
        with self._open_file() as file:
            return self._is_teacher(file, person)

    def is_read_only(self) -> bool:
        """Return whether only the teacher may start and change runs."""
        with self._open_file() as file:
            return _is_read_only(file)

    def set_read_only(self, on: bool) -> None:
        """Set whether only the teacher may start and change runs."""
        with self._open_file() as file:
            file.execute("DELETE FROM rules WHERE rule = ?", (_READ_ONLY,))
            if on:
                file.execute("INSERT INTO rules VALUES (?)", (_READ_ONLY,))

    def assign_job(self, person: str, job: str) -> None:
        """Make a person the owner of a new run or sweep, replacing the owner of an earlier one of that name."""
        with self._open_file() as file:
            file.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)", (job, person))

    def drop_job(self, job: str) -> None:
        """Forget the owner of a run that was deleted."""
        with self._open_file() as file:
            file.execute("DELETE FROM owners WHERE job = ?", (job,))

    def name_owners(self) -> dict[str, str]:
        """Return the name of the owner of each run and sweep that somebody here started."""
        with self._open_file() as file:
            return dict(file.execute("SELECT job, COALESCE(name, '') FROM owners LEFT JOIN people USING (person)"))

    def check_start(self, person: str, busy: Collection[str]) -> None:
        """Refuse a person who may not start or bring in a run (InputError); `busy`: each live run or its sweep."""
        with self._open_file() as file:
            if self._is_teacher(file, person):
                return
            _refuse_read_only(file)
            mine = {job for (job,) in file.execute("SELECT job FROM owners WHERE person = ?", (person,))}
        if (waiting := sum(job in mine for job in busy)) >= limits.OWN():
            raise InputError(
                f"{waiting} {limits.OWN.what}, as many as this class allows ({limits.OWN.variable}); wait for one to "
                "end, or cancel one"
            )

    def check_change(self, person: str, *jobs: str) -> None:
        """Refuse a person who may not change a run or its sweep (InputError): neither an owner nor the teacher."""
        with self._open_file() as file:
            if self._is_teacher(file, person):
                return
            _refuse_read_only(file)
            for job in jobs:
                if file.execute("SELECT 1 FROM owners WHERE job = ? AND person = ?", (job, person)).fetchone():
                    return
        raise InputError(f"'{jobs[0]}' is not yours: only who started it, or the teacher, may change it")

    def _open_file(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        return open_transaction(self.path, _TABLES, "the state of the class")

    def _make_proof(self, person: str) -> str:
        return hashlib.sha256(f"{self._key} {person}".encode()).hexdigest()

    def _is_teacher(self, file: sqlite3.Connection, person: str) -> bool:
        known = file.execute("SELECT proof FROM teachers WHERE person = ?", (person,)).fetchone()
        return known is not None and secrets.compare_digest(known[0], self._make_proof(person))


def _is_read_only(file: sqlite3.Connection) -> bool:
    return file.execute("SELECT 1 FROM rules WHERE rule = ?", (_READ_ONLY,)).fetchone() is not None


def _refuse_read_only(file: sqlite3.Connection) -> None:
    if _is_read_only(file):
        raise InputError(
            "the teacher has made this class read-only: look at everything; nothing can be started or changed"
        )
