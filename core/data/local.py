"""Files of this machine, opened with distrust: regular ones only, and their size looked at first."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from core.data import limits
from core.exceptions import DataError


def local_path(name: str | Path) -> Path:
    """The path that a person typed; `~` is the home folder.

    Raises:
        DataError: it holds a NUL, or names the home of nobody known.
    """
    if "\0" in str(name):
        raise DataError("a path cannot hold the character NUL", file=str(name).replace("\0", "\N{SYMBOL FOR NULL}"))
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise DataError("there is no such home folder on this machine", file=str(name)) from None


def read_bytes(path: Path) -> bytes:
    """The whole of a regular file, no larger than allowed.

    Raises:
        DataError: there is none, it is a folder, device or pipe, it cannot be opened, or it is too large.
    """
    try:
        # A pipe that nobody writes to would keep a plain `open` waiting for ever.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            return _content(stream.fileno(), path)
    except FileNotFoundError:
        raise DataError("no such file", file=str(path)) from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", file=str(path)) from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be opened: {getattr(error, 'strerror', '') or error}", file=str(path)) from None


def _content(handle: int, path: Path) -> bytes:
    found = os.fstat(handle)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(found.st_mode):
        raise DataError("this is a device or a pipe, not a file", file=str(path))
    most = limits.current().size * limits.MEGABYTE
    if found.st_size > most:
        raise limits.refusal(f"the file has {found.st_size // limits.MEGABYTE:,} MB", "size", file=path.name)
    with os.fdopen(os.dup(handle), "rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:  # it grew
        raise limits.refusal("the file is still growing", "size", file=path.name)
    return data
