"""Every path that comes from outside the process goes through here: a link, a field, a setting, an archive.

Only a regular file is ever opened for its content, and its size is looked at first: a device gives bytes without end,
a pipe waits for ever, and opening either may already do something.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.exceptions import InputError

MOST_ENTRIES = 10_000
"""Files and folders that a folder may hold to be taken for a data set."""


ELSEWHERE = "elsewhere:"
"""Before the name of a file that a run from another machine was made with: it names no path of this one."""


@dataclass(frozen=True)
class Allowed:
    """What may be opened by a path from outside."""

    anywhere: bool = True
    """Whether any path of this machine may be named, as by the person who sits at it."""
    roots: tuple[Path, ...] = ()
    """Elsewhere only what lies in one of these, links followed."""


HERE = Allowed()
"""The person at this machine: the command line, and a dashboard that nobody else can reach."""


def refuse_elsewhere(name: str) -> None:
    """Refuse the file of another machine.

    Raises:
        InputError: a run was brought here without it.
    """
    if name.startswith(ELSEWHERE):
        raise InputError(
            f"{name.removeprefix(ELSEWHERE)}: this file is on the machine that the run comes from and did not come "
            "with it; name a copy of your own"
        )


def resolve(name: str, allowed: Allowed = HERE, *, folders: bool = False, limit: int = 0) -> Path:
    """The file (or, with `folders`, the folder) that a text from outside names, if it may be opened.

    Args:
        name: As typed, uploaded, linked or stored; `~` is the person's own folder.
        allowed: What may be named.
        folders: Whether a folder may stand for its files.
        limit: Most bytes of a file; 0: no limit here.

    Raises:
        InputError: it names nothing that may be opened. What is not allowed and what is not there is told in the same
            words, so that nobody learns by trying which files there are.
    """
    refuse_elsewhere(name)
    try:
        path = _expanded(name)
        found = path.resolve()
        if not allowed.anywhere and not any(found.is_relative_to(root.resolve()) for root in allowed.roots):
            raise FileNotFoundError
        about = found.stat()
    except FileNotFoundError:
        said = "no such file" if allowed.anywhere else "no file that may be opened from another machine has this name"
        raise InputError(f"{name}: {said}") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{name}: cannot be opened: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(about.st_mode) and folders:
        return path
    if refusal := _refusal(about, limit):
        raise InputError(f"{name}: {refusal}")
    return path


def regular_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is no regular file, or too large.
    """
    if refusal := _refusal(path.stat(), limit):
        raise ValueError(refusal)
    # What is there may have been exchanged since; a pipe must not block, and the file may grow.
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as stream:
        if refusal := _refusal(os.fstat(stream.fileno()), limit):
            raise ValueError(refusal)
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise ValueError(_too_large(len(content), limit))
    return content


def _expanded(name: str) -> Path:
    if "\0" in name:
        raise InputError(f"{name.replace(chr(0), '␀')}: no file name holds the sign NUL")
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise FileNotFoundError from None


def _refusal(about: os.stat_result, limit: int) -> str:
    """Why something on the disk is not opened; empty: it is a file of a decent size."""
    if stat.S_ISDIR(about.st_mode):
        return "this is a folder, not a file"
    if not stat.S_ISREG(about.st_mode):
        kind = next((word for is_one, word in _KINDS if is_one(about.st_mode)), "no plain file")
        return f"this is {kind}; only plain files are read"
    return _too_large(about.st_size, limit) if limit and about.st_size > limit else ""


def _too_large(size: int, limit: int) -> str:
    return f"it has {size / 1024**2:,.0f} MB, and at most {limit / 1024**2:,.0f} MB are read"


_KINDS: Sequence[tuple[Callable[[int], bool], str]] = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)
