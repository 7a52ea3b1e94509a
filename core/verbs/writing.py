"""Files that a person names to be written."""

from __future__ import annotations

from pathlib import Path

from core.atomic import write_text
from core.exceptions import InputError, StorageError


def write_named(option: str, file: Path, text: str) -> None:
    """Write a text to a file that is named by an option.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path = file.expanduser().resolve()  # behind a link: the file, not the link, is replaced
        if not path.parent.is_dir() or (path.exists() and not path.is_file()):
            raise InputError(f"{option} {file!s:.200}: cannot be written: no such folder, or not a file")
        write_text(path, text)
    except (OSError, RuntimeError, ValueError, StorageError) as error:
        raise InputError(f"{option} {str(file)!r:.200}: cannot be written; choose another file") from error
