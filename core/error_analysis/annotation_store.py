"""The SQLite file of annotations (codes and notes) next to the runs, in which every change can be undone.

Many users may write at once: each change is one transaction that waits for its turn (`BEGIN IMMEDIATE`) and is on disk
when it returns; readers do not wait. `history` stores each changed row before and after. Texts are normalised first.
"""

import contextlib
import datetime
import json
import re
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from core import limits
from core.exceptions import InputError, StorageError
from core.fingerprint import get_file_version
from core.formatting import count

LONGEST = 60  # characters of a code's or an author's name
LONGEST_TEXT = 4000  # characters of a definition, an example or a note
SEPARATOR = ";"  # separates codes in files, so names must not contain it
JOINERS = "\u200c\u200d"  # needed between Persian letters and between parts of an emoji
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs that fonts draw as empty space
_VISITOR = re.compile(r"\?[0-9a-f]{12}")


def make_visitor_id(token: str) -> str:
    """Return the annotator ID of a visitor who gave no name: `?` and 12 hex digits that keep visitors apart."""
    return f"?{token}"


def has_name(author: str) -> bool:
    """Return whether an annotator gave a name, rather than having a generated visitor ID."""
    return bool(author) and not _VISITOR.fullmatch(author)


def name_author(author: str) -> str:
    """Return an annotator's name for display, `(no name)` for a generated visitor ID."""
    return author if has_name(author) else "(no name)"


def clean_author(author: str) -> str:
    """Normalise an annotator's name, empty for no name; InputError if too long or with hidden characters."""
    return _clean_line(author, "author") if author.strip() else ""


def clean_code_name(name: str, what: str = "code") -> str:
    """Normalise the name of an annotation code or label; InputError if the name is invalid."""
    found = _clean_line(name, what)
    if not found or SEPARATOR in found:
        raise InputError(f"{what} {name!r:.80}: write a name of one line without {SEPARATOR!r}, which separates codes")
    return found


def _clean_line(text: str, what: str) -> str:
    found = unicodedata.normalize("NFC", " ".join(_drop_invalid(text).split()))
    if len(found) > LONGEST:
        raise InputError(f"{what} {found[:30]!r}…: at most {LONGEST} characters")
    if hidden := [each for each in found if _is_hidden(each)]:
        raise InputError(f"{what} {found!r:.80}: holds the character U+{ord(hidden[0]):04X}, which is invisible")
    if found and not any(unicodedata.category(each)[0] in "LNPS" for each in found):
        raise InputError(f"{what} {found!r:.80}: has no visible letter, digit or sign")
    return found


def _is_hidden(sign: str) -> bool:
    """Return whether a character is invisible (control, format or blank); zero-width joiners do not count."""
    return sign in BLANK or (unicodedata.category(sign) in ("Cc", "Cf") and sign not in JOINERS)


def clean_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """Normalise a typed text, such as a definition or note, before it is stored; InputError if it is too long."""
    found = _drop_invalid(text).strip()
    if len(found) > longest:
        raise InputError(f"{found[:30]!r}…: at most {longest} characters, these are {len(found)}")
    return found


def _drop_invalid(text: str) -> str:
    """Remove NUL from a text and replace lone surrogates, which no file can store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def match_name(name: str, names: Iterable[str]) -> str:
    """Return the spelling of a name in a list, ignoring letter case; empty if the list lacks it."""
    same = [each for each in names if each.casefold() == name.casefold()]
    return name if name in same else next(iter(same), "")


FILE = "codes.sqlite"
BUSY_S = 30.0
REST_NS = 100_000_000  # a change that is later than this gives the file a new modification time
SCHEMA = 2  # version 1 has no `undone_at`
TABLES = {
    "codes": (("data", "name"), ("place", "definition", "example")),
    "codings": (("data", "key", "author", "code"), ("run", "time")),
    "notes": (("data", "key", "author"), ("text", "run", "time")),
    "draws": (("data", "id"), ("keys", "population", "seed", "said", "run", "author", "time")),
    "examples": (("id",), ("text", "label", "note", "author", "link", "time")),
}  # table → (primary key, other columns)
_WHOLE = frozenset(("place", "seed"))
_HISTORY = (
    "CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY, about TEXT NOT NULL, author TEXT NOT NULL, "
    "time TEXT NOT NULL, said TEXT NOT NULL, changes TEXT NOT NULL, undone INTEGER NOT NULL DEFAULT 0, "
    "undone_at TEXT NOT NULL DEFAULT '')"
)
_LAST = "SELECT * FROM history WHERE about = ? AND author = ? AND NOT undone ORDER BY id DESC LIMIT 1"
_UNDO = "UPDATE history SET undone = 1, undone_at = ? WHERE id = ?"
Row = dict[str, Any]
_VERSIONS: dict[Path, tuple[tuple[tuple[int, int, int], ...], str]] = {}
"""File → (state of the file and of its log, cache key in that state)."""


class Ledger:
    """The SQLite file of annotations; each read or change opens it again, so that any thread or process may use it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    @property
    def version(self) -> str:
        """Return a cache key that changes with every change or undo of annotations; empty before the first."""
        files, newest = _read_file_state(self.path)
        if not files:
            return ""
        known = _VERSIONS.get(self.path)
        if known is not None and known[0] == files:
            return known[1]
        with self._open_connection() as connection:
            last = connection.execute("SELECT MAX(id), SUM(undone) FROM history").fetchone()
        # The file's version too: a new file may repeat the numbers of a deleted one.
        found = f"{get_file_version(self.path)} {last[0]} {last[1]}"
        if time.time_ns() - newest > REST_NS:
            _VERSIONS[self.path] = files, found
        return found

    def read_rows(self, table: str, **where: Any) -> list[Row]:
        """Return SQLite rows that have given column values, sorted by key; StorageError if the file is unreadable."""
        if not self.path.is_file():
            return []
        with self._open_connection() as connection:
            return Change(connection).read_rows(table, **where)

    def read_history(self, about: str, most: int = 50) -> list[Row]:
        """Return the last changes, newest first: `id`, `author`, `time`, `said`, `undone` and `keys` of the rows."""
        if not self.path.is_file():
            return []
        with self._open_connection() as connection:
            columns = "id, author, time, said, undone, changes"
            asked = f"SELECT {columns} FROM history WHERE about = ? ORDER BY id DESC LIMIT ?"
            found = [dict(row) for row in connection.execute(asked, (about, most))]
        for row in found:
            names = _list_rows(json.loads(row.pop("changes")))
            row |= {"undone": bool(row["undone"]), "keys": tuple(dict.fromkeys(key for key, _ in names))}
        return found

    def read_times(self, about: str) -> dict[tuple[str, str], str]:
        """Return when each sentence was last coded, noted or undone by an author: (row key, author) → time."""
        if not self.path.is_file():
            return {}
        with self._open_connection() as connection:
            return Change(connection).read_times(about)

    @contextlib.contextmanager
    def begin_change(self, about: str, author: str, said: str, *, goes_on: bool = False) -> Iterator["Change"]:
        """Open one transaction on the annotations, described as `said` in the history; an error undoes all its changes.

        With `goes_on` it is merged with the author's last change if that has the same row and the same `said`. Raises
        StorageError if the file cannot be written, and InputError at the storage limit of this server.
        """
        with self._open_connection(write=True) as connection:
            change = Change(connection)
            yield change
            if change.made and not (goes_on and _join_last(connection, about, author, said, change.made)):
                entry = (about, author, get_timestamp(), said, json.dumps(change.made))
                connection.execute("INSERT INTO history (about, author, time, said, changes) VALUES (?,?,?,?,?)", entry)
            if any(after for _, _, after in change.made):
                _check_room(connection)

    @contextlib.contextmanager
    def transfer_author(self, about: str, one: str, other: str) -> Iterator["Change"]:
        """Transfer the change history of one author to another, who can then undo each change (context manager)."""
        with self._open_connection(write=True) as connection:
            yield Change(connection)
            connection.execute("UPDATE history SET author = ? WHERE about = ? AND author = ?", (other, about, one))
            own = connection.execute("SELECT MAX(id) FROM history WHERE author = ?", (other,)).fetchone()[0]
            _move_last(connection, own)
            names = json.dumps(one), json.dumps(other)
            connection.execute("UPDATE history SET changes = replace(changes, ?, ?) WHERE about = ?", (*names, about))

    def undo_last(
        self, about: str, author: str, check: Callable[["Change", str], None] = lambda change, said: None
    ) -> Row:
        """Undo an author's last change; return its description and rows. InputError: none, or others changed them."""
        with self._open_connection(write=True) as connection:
            last = connection.execute(_LAST, (about, author)).fetchone()
            if last is None:
                raise InputError(f"nothing to undo: {name_author(author)} has changed nothing here")
            made, change = json.loads(last["changes"]), Change(connection)
            for table, before, after in reversed(made):
                if change.read_rows(table, **_select_key(table, after or before)) != ([after] if after else []):
                    raise InputError(f"{last['said']!r:.80} cannot be undone: somebody has changed it since")
                _replace_row(connection, table, before, after)
            check(change, last["said"])
            connection.execute(_UNDO, (get_timestamp(), last["id"]))
            return {"said": last["said"], "rows": [before or after for _, before, after in made]}

    @contextlib.contextmanager
    def _open_connection(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Connect to the SQLite file of annotations, in a transaction if `write` is true (context manager)."""
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)) as connection:
                connection.row_factory = sqlite3.Row
                if (version := connection.execute("PRAGMA user_version").fetchone()[0]) > SCHEMA:
                    raise StorageError(f"{self.path}: a newer Sentiscope has written it; open it with that one")
                if write or not version:  # another process may be making the tables
                    _prepare_tables(connection)
                if not write:
                    yield connection
                    return
                connection.execute("BEGIN IMMEDIATE")
                with connection:  # commits, or rolls back after an error
                    yield connection
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{self.path}: codes cannot be read or written there: {error}") from error


class Change:
    """The row changes of one annotation transaction; `made` lists each changed row as it was before and after."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.made: list[tuple[str, Row | None, Row | None]] = []

    def read_rows(self, table: str, **where: Any) -> list[Row]:
        """Return SQLite rows that have given column values, sorted by key, including uncommitted changes."""
        names, others = TABLES[table]
        asked = " AND ".join(f"{column} = ?" for column in where) or "1"
        order = f"SELECT {', '.join((*names, *others))} FROM {table} WHERE {asked} ORDER BY {', '.join(names)}"
        return [dict(row) for row in self._connection.execute(order, tuple(where.values()))]

    def read_times(self, about: str) -> dict[tuple[str, str], str]:
        """Return (row key, author) → time of the last change or undo, including uncommitted changes."""
        found: dict[tuple[str, str], str] = {}
        for row in map(dict, self._connection.execute("SELECT * FROM history WHERE about = ?", (about,))):
            when = max(row["time"], row.get("undone_at", ""))
            for name in _list_rows(json.loads(row["changes"])):
                found[name] = max(when, found.get(name, ""))
        return found

    def put_row(self, table: str, row: Row) -> None:
        """Write a row to an SQLite table, replacing any row with its primary key, and record the change for undo."""
        before = next(iter(self.read_rows(table, **_select_key(table, row))), None)
        if before != row:
            self._record_row(table, before, row)

    def drop_row(self, table: str, row: Row) -> None:
        """Delete the row with this primary key, if any, from an SQLite table, and record the change for undo."""
        if found := self.read_rows(table, **_select_key(table, row)):
            self._record_row(table, found[0], None)

    def _record_row(self, table: str, before: Row | None, after: Row | None) -> None:
        _replace_row(self._connection, table, after, before)
        self.made.append((table, before, after))


def _read_file_state(path: Path) -> tuple[tuple[tuple[int, int, int], ...], int]:
    """Return inode, time and size of a database file and its write-ahead log, and the later time; empty if missing."""
    found = []
    for each in (path, path.with_name(f"{path.name}-wal")):
        with contextlib.suppress(OSError):
            seen = each.stat()
            found.append((seen.st_ino, seen.st_mtime_ns, seen.st_size))
    return (tuple(found), max(time for _, time, _ in found)) if path.is_file() and found else ((), 0)


def get_timestamp() -> str:
    """Return the current time as annotations store it: UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _prepare_tables(connection: sqlite3.Connection) -> None:
    """Create or upgrade the annotation tables; retry enabling the write-ahead log while the file is locked."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA:
        return
    end = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    connection.execute("BEGIN IMMEDIATE")
    for table, (names, others) in TABLES.items():
        kinds = (f"{column} {'INTEGER' if column in _WHOLE else 'TEXT'} NOT NULL" for column in (*names, *others))
        key = f"PRIMARY KEY ({', '.join(names)})"
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(kinds)}, {key}) WITHOUT ROWID")
    connection.execute(_HISTORY)
    if "undone_at" not in {row["name"] for row in connection.execute("PRAGMA table_info(history)")}:
        connection.execute("ALTER TABLE history ADD COLUMN undone_at TEXT NOT NULL DEFAULT ''")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute("COMMIT")


def _join_last(connection: sqlite3.Connection, about: str, author: str, said: str, made: Sequence[Any]) -> bool:
    """Merge a one-row change into the author's previous change for undo; return whether that was possible."""
    last = connection.execute(_LAST, (about, author)).fetchone()
    before = json.loads(last["changes"]) if last is not None and last["said"] == said else []
    if len(before) != 1 or len(made) != 1 or before[0][2] != made[0][1]:
        return False
    if before[0][1] == made[0][2]:  # the two changes cancel, such as a note that was typed and deleted
        connection.execute(_UNDO, (get_timestamp(), last["id"]))
        return True
    whole = json.dumps([(made[0][0], before[0][1], made[0][2])])
    connection.execute("UPDATE history SET changes = ?, time = ? WHERE id = ?", (whole, get_timestamp(), last["id"]))
    _move_last(connection, last["id"])
    return True


def _move_last(connection: sqlite3.Connection, entry: int) -> None:
    """Move an entry to the end of the undo history, so that the cache keys of annotations change."""
    connection.execute("UPDATE history SET id = (SELECT MAX(id) + 1 FROM history) WHERE id = ?", (entry,))


def _check_room(connection: sqlite3.Connection) -> None:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    if (pages - free) * size > limits.CODES_MB() * 1_000_000:
        raise InputError(
            f"this server stores at most {count(limits.CODES_MB())} {limits.CODES_MB.what} "
            f"({limits.CODES_MB.variable}); this change was not stored"
        )


def _list_rows(made: Sequence[Sequence[Any]]) -> list[tuple[str, str]]:
    """Return (row key, author) of each coding and note that a recorded change touched."""
    rows = [after or before for table, before, after in made if table in ("codings", "notes")]
    return [(row["key"], row["author"]) for row in rows]


def _select_key(table: str, row: Row) -> Row:
    return {column: row[column] for column in TABLES[table][0]}


def _replace_row(connection: sqlite3.Connection, table: str, new: Row | None, old: Row | None) -> None:
    """Replace one annotation row by another in SQLite; None as the new row deletes, None as the old row inserts."""
    named = _select_key(table, new or old or {})
    asked = " AND ".join(f"{column} = ?" for column in named)
    connection.execute(f"DELETE FROM {table} WHERE {asked}", tuple(named.values()))
    if new is not None:
        columns = [column for part in TABLES[table] for column in part]
        marks, values = ", ".join("?" * len(columns)), tuple(new[column] for column in columns)
        connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)
