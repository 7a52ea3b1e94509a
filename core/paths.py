"""Checks of all file paths from outside the process: links, form fields, settings, archives.

Only regular files are read, after a check of their size: a device can give endless bytes, a pipe can block forever, and
opening either may already have an effect.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.exceptions import DataError
from core.formatting import count

UNKNOWN = "unknown training data"  # after ELSEWHERE: of a model that was not trained here
ELSEWHERE = "elsewhere:"  # prefix of a file that an imported run used on another machine; no path here


@dataclass(frozen=True)
class AllowedPaths:
    """The files that a path from the user may open: all files of this machine, or those in some folders."""

    anywhere: bool = True
    roots: tuple[Path, ...] = ()  # the allowed folders, after following links, if not `anywhere`


def _format_megabytes(size: int) -> str:
    return f"{count(round(size / 1024**2))} MB"


class TooLarge(ValueError):
    """An error for a file that is larger than its reader allows."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"it has {_format_megabytes(size)}, and at most {_format_megabytes(limit)} are read")
        self.size = size


HERE = AllowedPaths()  # for the command line, and for a dashboard that only this machine can reach


def refuse_elsewhere(name: str) -> None:
    """Refuse a file name of an imported run if the file stayed on the other machine; raises DataError."""
    if name.startswith(ELSEWHERE + UNKNOWN):
        raise DataError("what this model learned from is not known; name labelled data of your own (--data)")
    if name.startswith(ELSEWHERE):
        raise DataError(
            "this file is on the machine that the run comes from and was not included in it; name a copy of your own",
            file=name.removeprefix(ELSEWHERE),
        )


def resolve_path(name: str, allowed: AllowedPaths = HERE, *, folders: bool = False, limit: int = 0) -> Path:
    """Return the path of a file (with `folders`, also of a folder) that the user names, if it may be opened.

    `name` is as typed, uploaded, linked or stored; `~` is the user's home folder. `limit`: bytes of a file, at most; 0:
    no limit. Raises DataError, with the same message for a file that is missing or may not be opened, so that trying
    names does not reveal which files exist.
    """
    refuse_elsewhere(name)
    try:
        path = _expand_home(name)
        found = path.resolve()
        if not allowed.anywhere and not any(found.is_relative_to(root.resolve()) for root in allowed.roots):
            raise FileNotFoundError
        about = found.stat()
    except FileNotFoundError:
        what = "no such file" if allowed.anywhere else "no file that may be opened from another machine has this name"
        raise DataError(what, file=name) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"cannot be opened: {getattr(error, 'strerror', None) or error}", file=name) from None
    if stat.S_ISDIR(about.st_mode) and folders:
        return path
    if refusal := _explain_refusal(about):
        raise DataError(refusal, file=name)
    if limit and about.st_size > limit:
        raise DataError(str(TooLarge(about.st_size, limit)), file=name)
    return path


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes; OSError, TooLarge, or ValueError for a folder, device or pipe."""
    with open_regular(path, limit) as stream:
        content = stream.read(limit + 1)  # it may have grown since
    if len(content) > limit:
        raise TooLarge(len(content), limit)
    return content


def open_regular(path: Path, limit: int) -> BinaryIO:
    """Open a regular file (no folder, device or pipe) of at most `limit` bytes; errors as in `read_regular`."""
    _check_regular(path.stat(), limit)
    # The file may have been replaced since the check, and a pipe must not block.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    stream = open(os.open(path, flags), "rb")
    try:
        _check_regular(os.fstat(stream.fileno()), limit)
    except BaseException:
        stream.close()
        raise
    return stream


def _check_regular(about: os.stat_result, limit: int) -> None:
    if refusal := _explain_refusal(about):
        raise ValueError(refusal)
    if about.st_size > limit:
        raise TooLarge(about.st_size, limit)


def _expand_home(name: str) -> Path:
    if "\0" in name:
        raise DataError("a file name cannot contain the character NUL", file=name.replace("\0", "␀"))
    try:
        return Path(name).expanduser()
    except RuntimeError:
        raise FileNotFoundError from None


def _explain_refusal(about: os.stat_result) -> str:
    """Explain why a path is not opened, for example as a folder or pipe; empty for a regular file."""
    if stat.S_ISDIR(about.st_mode):
        return "this is a folder, not a file"
    if not stat.S_ISREG(about.st_mode):
        kind = _KINDS.get(stat.S_IFMT(about.st_mode), "no plain file")
        return f"this is {kind}; only plain files are read"
    return ""


_KINDS = {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
