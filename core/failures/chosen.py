"""Sentences that somebody chose one by one, kept on disk under a digest of what they are, which links carry."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core import quotas, stored
from core.atomic import storage_errors, write_text
from core.exceptions import InputError, RunDamaged
from core.failures.rules import IDS
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs.store import RunStore

FOLDER = ".selections"
"""Beside the runs."""
MOST = 100_000
"""Sentences of one of them,"""
MOST_KEPT = 2_000
AGAIN_S = 3600
"""Seconds after which a look at them counts as use again: each would else be another version of the file."""
"""and how many are kept, in `quotas.SELECTED_MB` at most; those that were not used for longest go first."""
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Group:
    """Some sentences in the order in which they are to be read."""

    keys: tuple[str, ...]
    """Their names (`core.failures.table`)."""
    about: str = ""
    """What they were chosen by, in words: `drawn on the map`."""
    texts: tuple[str, ...] = ()
    """Of sentences that are rows of no table, such as the cases of a test of behaviour: what they say,"""
    labels: tuple[str, ...] = ()
    """and what they are; empty where nothing says so."""
    by_outcome: bool = False
    """Whether a right or wrong prediction decided what is in it, as in a draw from errors."""

    @property
    def digest(self) -> str:
        """16 digits from 0 to f; those of a group without `by_outcome` are as before there was one."""
        return fingerprint(self._stored())[:16]

    def _stored(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        return found if self.by_outcome else {name: value for name, value in found.items() if name != "by_outcome"}


def keep(store: RunStore, group: Group) -> str:
    """Keep sentences on disk; gives the rule that selects them, `ids:…`.

    Raises:
        InputError: there are none, or too many, or they are larger than what this server keeps.
        StorageError: the disk is full or read-only.
    """
    if not 0 < len(group.keys) <= MOST:
        raise InputError(f"{len(group.keys)} sentences cannot be selected one by one; take 1 to {MOST}")
    path = store.folder / FOLDER / f"{group.digest}.json"
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.utime(path)  # used again
        except FileNotFoundError:
            content = json.dumps(group._stored(), ensure_ascii=False, separators=(",", ":"))
            if len(content.encode("utf-8", "replace")) > quotas.SELECTED_MB() * 1_000_000:
                allowed = f"{count(quotas.SELECTED_MB())} {quotas.SELECTED_MB.what} ({quotas.SELECTED_MB.variable})"
                raise InputError(f"this server keeps at most {allowed}; select fewer, or select by rules") from None
            write_text(path, content)
            _clear(path.parent)
    return f"{IDS}:{group.digest}"


def recall(store: RunStore, digest: str) -> Group:
    """Sentences that were kept.

    Raises:
        InputError: none are under this digest, or not any more.
        RunDamaged: the file cannot be read, or holds others.
    """
    path = store.folder / FOLDER / f"{digest}.json"
    if not _NAME.fullmatch(digest):
        raise InputError(f"{IDS}:{digest!r:.40} names no sentences that were selected")
    try:
        found = stored.read(path, Group)
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > AGAIN_S:
                os.utime(path)  # used again: the oldest go first
    except FileNotFoundError:
        raise InputError(
            f"the sentences of {IDS}:{digest} are not kept here: they were selected on another machine, or long ago; "
            "select them anew"
        ) from None
    if found.digest != digest or any(len(each) not in (0, len(found.keys)) for each in (found.texts, found.labels)):
        raise RunDamaged(f"{path}: cannot be read: it holds other sentences than those that were kept under this name")
    return found


def keys_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Names for sentences that are rows of no table, made as those of its rows are."""
    from core.failures.table import keys

    return tuple(keys(texts))


def _clear(folder: Path) -> None:
    """Leave those that were used last."""
    found = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            told = path.stat()
            found.append((told.st_mtime_ns, told.st_size, path))
    room = quotas.SELECTED_MB() * 1_000_000
    for place, (_, size, path) in enumerate(sorted(found, reverse=True)):
        room -= size
        if place >= MOST_KEPT or room < 0:
            with contextlib.suppress(OSError):
                path.unlink()
