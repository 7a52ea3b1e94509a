"""Atomic file writes: a file is either the old one or the new one, never half of one.

Also transactions on a small SQLite file that several server processes share.
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from core.exceptions import InputError, StorageError

ENDING = ".new"  # suffix of a file or folder that is not complete yet; an abandoned one may be deleted
_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "your disk quota is used up; free some space and try again",
    errno.EFBIG: "files may not become so large here; raise the limit (`ulimit -f`) and try again",
    errno.EROFS: "the file system is read-only; choose another folder with SENTISCOPE_RUNS",
    errno.EACCES: "the folder may not be written; change its permissions or choose another with SENTISCOPE_RUNS",
    errno.EPERM: "the folder may not be written; change its permissions or choose another with SENTISCOPE_RUNS",
}


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, unless it exists; StorageError, or InputError for a path that cannot be one."""
    try:
        with convert_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileNotFoundError, FileExistsError, NotADirectoryError) as error:
        raise InputError(f"{folder}: this folder cannot be created ({error.strerror}); choose another") from error


@contextlib.contextmanager
def convert_os_errors(path: Path) -> Iterator[None]:
    """Convert the errors of a full disk or a read-only folder to a StorageError that names the path and the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REASONS:
            raise
        raise StorageError(f"{path}: cannot be written: {_REASONS[error.errno]}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content by bytes, atomically; see `write_parts`."""
    write_parts(path, (content,))


def write_parts(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Replace a file by blocks of bytes (temporary file, fsync, rename); StorageError: full or read-only disk."""
    with replace_file(path) as temporary, temporary.open("wb") as stream:
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path whose file replaces `path` if the context ends normally, and is deleted otherwise."""
    temporary = make_temporary_path(path)
    with convert_os_errors(path):
        try:
            yield temporary
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        if os.name != "nt":  # flush the folder, so that the new name survives a power cut
            handle = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def make_temporary_path(path: Path) -> Path:
    """Return a unique path for a temporary file that will be renamed to `path`, in the same folder."""
    # A file name has at most 255 bytes.
    name = path.name.encode("utf-8", "surrogateescape")[:200].decode("utf-8", "ignore")
    return path.with_name(f".{name}.{os.getpid()}-{os.urandom(8).hex()}{ENDING}")


def write_text(path: Path, content: str) -> None:
    """Write a text to a file as UTF-8, atomically; lone surrogates, which no file can hold, become `?`."""
    write_bytes(path, content.encode("utf-8", "replace"))


def write_named(option: str, file: Path | str, content: str | bytes) -> None:
    """Write content to a file that a command-line option names; InputError: it cannot be written."""
    try:
        path = Path(file).expanduser().resolve()  # replace the file that a link leads to, not the link
        if not path.parent.is_dir() or (path.exists() and not path.is_file()):
            raise InputError(f"{option} {file!s:.200}: cannot be written: no such folder, or not a file")
        write_bytes(path, content.encode() if isinstance(content, str) else content)
    except (OSError, RuntimeError, ValueError, StorageError) as error:
        raise InputError(f"{option} {str(file)!r:.200}: cannot be written; choose another file") from error


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
