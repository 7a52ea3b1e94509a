"""Transactions on a small SQLite file that several server processes share."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.exceptions import StorageError

BUSY_S = 10.0


@contextlib.contextmanager
def open_transaction(path: Path, tables: Sequence[str], what: str) -> Iterator[sqlite3.Connection]:
    """Open a file for one transaction, which an error undoes; processes wait for each other.

    Args:
        path: The file; it and its folder are made if they are missing.
        tables: A `CREATE TABLE IF NOT EXISTS` statement each.
        what: What the file stores, for StorageError: it cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back after an error
                for statement in tables:
                    connection.execute(statement)
                yield connection
    except (OSError, sqlite3.Error) as error:
        raise StorageError(f"{path}: {what} cannot be stored: {error}") from error
