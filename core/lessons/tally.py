"""The tally of a class: anonymous answers to the two questions of a lesson, in a SQLite file next to the runs.

A teacher opens a class and gets a short code. Whoever opens the lesson with this code is counted once for each
question, by a hash of a random browser token that differs from class to class. Several server processes share the file.
"""

import contextlib
import datetime
import hashlib
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.atomic import open_transaction
from core.exceptions import InputError
from core.formatting import count

FILE = "lessons.sqlite"
LEAST = 5  # answers from which they are shown: of fewer, a class could guess whose they are
TURNS = 2  # the question, and the question once more
MOST_CLASSES = 300  # the oldest are deleted
MOST_VISITORS = 400  # in one class
MOST_HANDS = 999  # for one option
_SIGNS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that look alike
_LENGTH = 4
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS classes (code TEXT PRIMARY KEY, lesson TEXT NOT NULL, options INTEGER NOT NULL,
    owner TEXT NOT NULL, opened TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS answers (code TEXT NOT NULL, turn INTEGER NOT NULL, visitor TEXT NOT NULL,
    option INTEGER NOT NULL, PRIMARY KEY (code, turn, visitor))""",
    """CREATE TABLE IF NOT EXISTS hands (code TEXT NOT NULL, turn INTEGER NOT NULL, option INTEGER NOT NULL,
    raised INTEGER NOT NULL, PRIMARY KEY (code, turn, option))""",
)


@dataclass(frozen=True)
class SchoolClass:
    """A class that answers one lesson together."""

    code: str
    lesson: str
    options: int  # answers that can be chosen
    owner: str  # a hash of the browser token of whoever opened it


class TallyStore:
    """The SQLite file of all classes; each call opens it again, so that any thread or process may use it.

    StorageError: it cannot be read or written. InputError: no such class, option or right.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def open_class(self, lesson: str, options: int, secret: str) -> SchoolClass:
        """Open a class for a lesson and return it with its code; the oldest classes beyond a limit are deleted."""
        with self._open_connection() as connection:
            taken = {row[0] for row in connection.execute("SELECT code FROM classes")}
            while (code := "".join(secrets.choice(_SIGNS) for _ in range(_LENGTH))) in taken:
                continue
            owner = _hash_token(code, "owner", secret)
            opened = datetime.datetime.now(datetime.UTC).isoformat()
            connection.execute("INSERT INTO classes VALUES (?, ?, ?, ?, ?)", (code, lesson, options, owner, opened))
            old = "SELECT code FROM classes ORDER BY opened DESC, rowid DESC LIMIT -1 OFFSET ?"
            for (each,) in connection.execute(old, (MOST_CLASSES,)).fetchall():
                _delete_answers(connection, each)
                connection.execute("DELETE FROM classes WHERE code = ?", (each,))
        return SchoolClass(code, lesson, options, owner)

    def find_class(self, code: str) -> SchoolClass | None:
        """Return the class with a code; None if there is none (any more)."""
        if not code or not self.path.is_file():
            return None
        with self._open_connection() as connection:
            return _find_class(connection, code)

    def record_answer(self, code: str, turn: int, secret: str, option: int) -> None:
        """Store a visitor's answer to the first (0) or second (1) question, replacing an earlier answer."""
        with self._open_connection() as connection:
            _check_option(_require_class(connection, code), turn, option)
            visitor, where = _hash_token(code, "visitor", secret), (code, turn)
            [known] = connection.execute(
                "SELECT COUNT(*) FROM answers WHERE code = ? AND turn = ? AND visitor != ?", (*where, visitor)
            ).fetchone()
            if known >= MOST_VISITORS:
                raise InputError(f"this class is full: {count(MOST_VISITORS)} have answered")
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", (*where, visitor, option))

    def set_hands(self, code: str, secret: str, hands: Sequence[Sequence[int]]) -> None:
        """Store how many hands were raised for each option, at the first and at the second question."""
        with self._open_connection() as connection:
            found = _require_owner(connection, code, secret)
            rows = [(code, turn, option, n) for option, both in enumerate(hands) for turn, n in enumerate(both)]
            for _, turn, option, raised in rows:
                _check_option(found, turn, option)
                if not isinstance(raised, int) or not 0 <= raised <= MOST_HANDS:
                    raise InputError(f"{raised} hands: choose a number from 0 to {MOST_HANDS}")
            connection.executemany("INSERT OR REPLACE INTO hands VALUES (?, ?, ?, ?)", rows)

    def reset_class(self, code: str, secret: str) -> None:
        """Delete all answers and hands of a class, which stays open; only the visitor who opened it may."""
        with self._open_connection() as connection:
            _require_owner(connection, code, secret)
            _delete_answers(connection, code)

    def count_answers(self, code: str) -> dict[str, Any]:
        """Return how many `answered` each question, and `counts` of each option, None below `LEAST` answers."""
        with self._open_connection() as connection:
            found = _require_class(connection, code)
            asked = (
                "SELECT turn, option, COUNT(*) FROM answers WHERE code = ? GROUP BY turn, option "
                "UNION ALL SELECT turn, option, raised FROM hands WHERE code = ?"
            )
            counts = [[0] * found.options for _ in range(TURNS)]
            for turn, option, n in connection.execute(asked, (code, code)):
                counts[turn][option] += n
        answered = [sum(row) for row in counts]
        return {"answered": answered, "counts": [row if sum(row) >= LEAST else None for row in counts]}

    def _open_connection(self) -> contextlib.AbstractContextManager[sqlite3.Connection]:
        return open_transaction(self.path, _SCHEMA, "the answers of the class")


def is_owner(found: SchoolClass, secret: str) -> bool:
    """Return whether a class was opened by the browser with this secret token."""
    return secrets.compare_digest(found.owner, _hash_token(found.code, "owner", secret))


def _hash_token(code: str, role: str, secret: str) -> str:
    return hashlib.sha256(f"{role} {code} {secret}".encode()).hexdigest()[:20]


def _find_class(connection: sqlite3.Connection, code: str) -> SchoolClass | None:
    row = connection.execute("SELECT code, lesson, options, owner FROM classes WHERE code = ?", (code,)).fetchone()
    return SchoolClass(*row) if row else None


def _require_class(connection: sqlite3.Connection, code: str) -> SchoolClass:
    if found := _find_class(connection, code):
        return found
    raise InputError(f"there is no class {code!r:.20}; ask for a new link")


def _require_owner(connection: sqlite3.Connection, code: str, secret: str) -> SchoolClass:
    found = _require_class(connection, code)
    if not is_owner(found, secret):
        raise InputError("only the browser that opened the class may change its tally")
    return found


def _check_option(found: SchoolClass, turn: int, option: int) -> None:
    if not 0 <= turn < TURNS or not 0 <= option < found.options:
        raise InputError(f"question {turn + 1}, option {option + 1}: this lesson has no such answer")


def _delete_answers(connection: sqlite3.Connection, code: str) -> None:
    for table in ("answers", "hands"):
        connection.execute(f"DELETE FROM {table} WHERE code = ?", (code,))
