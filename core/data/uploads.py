"""Uploaded data sets: files stored by content hash, and the settings to read them. Imports nothing heavy.

FOLDER/files/SHA256/NAME     the uploaded file
FOLDER/choices/ID.json       the settings for reading it: file, columns, encoding …
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from core import json_store, limits
from core.atomic import convert_os_errors, make_temporary_path, write_bytes, write_text
from core.data.config import READING, DataConfig
from core.exceptions import InputError, RunDamaged, StorageError
from core.fingerprint import hash_value
from core.formatting import count
from core.paths import resolve_path

LONGEST_NAME = 80
FILES = "files"

_ID = re.compile(r"[\w.-]{1,120}")
_UNSAFE = re.compile(r"[^\w.-]+")

CHOSEN = ("name", *READING, "rename", "order")  # The settings of a `DataConfig` that are stored


@dataclass(frozen=True)
class Choice:
    """The confirmed settings for reading an uploaded data file, with their ID."""

    id: str
    config: DataConfig


def make_safe_name(name: str) -> str:
    """Return a safe file name for an upload: without folders, blanks, a leading dot or a special meaning."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    stem, dot, ending = _UNSAFE.sub("-", last).strip(".-").rpartition(".")
    whole = f"{stem[: LONGEST_NAME - 12]}{dot}{ending[:11]}" if dot else ending[:LONGEST_NAME]
    # A file `labels.json` would be read as the class names of other files.
    return f"data-{whole}" if whole.casefold() == "labels.json" else whole or "data"


def keep_file(folder: Path, name: str, content: bytes) -> Path:
    """Store an uploaded file once, under the SHA-256 of its content; refuse it if a quota of the server is exceeded."""
    home = folder / FILES / hashlib.sha256(content).hexdigest()
    if (kept := _find_file(home)) is None:
        _check_room(folder / FILES, len(content))
        _write_folder(home, make_safe_name(name), content)
        kept = _find_file(home)
    if kept is None:
        raise StorageError(f"{home}: the file has just been deleted; upload it again")
    with convert_os_errors(kept):
        os.utime(home)  # a recent time stamp protects it from the cleanup
    return kept


def _check_room(files: Path, size: int) -> None:
    homes, sizes = files.iterdir() if files.is_dir() else (), list[int]()
    for kept in (_find_file(home) for home in homes if not home.name.startswith(".")):
        with contextlib.suppress(FileNotFoundError):
            sizes += [kept.stat().st_size] if kept else []
    for quota, found in ((limits.UPLOADS, len(sizes) + 1), (limits.UPLOADS_MB, (sum(sizes) + size) / 1e6)):
        if found > quota():
            raise InputError(
                f"this server stores at most {count(quota())} {quota.what} ({quota.variable}), and this file would be "
                "too much; unused files are deleted when the server starts a day later"
            )


def _find_file(home: Path) -> Path | None:
    with contextlib.suppress(FileNotFoundError):
        return next((path for path in home.iterdir() if not path.name.startswith(".")), None)
    return None


def _write_folder(home: Path, name: str, content: bytes) -> None:
    """Store an uploaded file in its new folder, moved in place at the end; of concurrent writers the first wins."""
    new = make_temporary_path(home)
    try:
        with convert_os_errors(home):
            new.mkdir(parents=True)
        write_bytes(new / name, content)
        with convert_os_errors(home):
            with contextlib.suppress(OSError):
                home.rmdir()  # an empty folder of a process that was killed
            try:
                new.rename(home)
            except OSError:
                if _find_file(home) is None:
                    raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def keep_choice(folder: Path, config: DataConfig) -> Choice:
    """Store the confirmed settings for reading a data file; the same file with the same settings is stored once."""
    settings = {name: value for name in CHOSEN if (value := getattr(config, name))}
    stem = make_safe_name(Path(config.name).stem)[:40]
    choice = Choice(f"{stem}-{hash_value(settings)[:8]}", DataConfig(**settings))
    with convert_os_errors(folder):
        (folder / "choices").mkdir(parents=True, exist_ok=True)
    write_text(folder / "choices" / f"{choice.id}.json", json.dumps(settings, ensure_ascii=False))
    return choice


def list_choices(folder: Path) -> list[Choice]:
    """Return all stored reading settings whose data file still exists, sorted by name; damaged ones are left out."""
    found = (read_choice(folder, path.stem) for path in sorted((folder / "choices").glob("*.json")))
    return [choice for choice in found if choice is not None]


def read_choice(folder: Path, choice: str) -> Choice | None:
    """Return stored reading settings by their ID, or None if they or their data file are missing, or are damaged."""
    if not _ID.fullmatch(choice):
        return None
    try:
        settings = json_store.read(folder / "choices" / f"{choice}.json", DataConfig)
        resolve_path(settings.name, folders=True)
        return Choice(choice, settings)
    except (FileNotFoundError, RunDamaged, InputError):
        return None
