"""What killed processes and changed minds leave next to the runs, cleared away when a server starts."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from core.atomic import ENDING
from core.data.library import FILES
from core.exceptions import SentiscopeError
from core.runs import queue, sweep
from core.runs.record import RECORD
from core.runs.store import RunStore

LIBRARY = ".data"
HALF_DONE = (".import-*", ".removed-*")
"""Directories of a run that was coming in or going when its process died."""
UNTOUCHED_SECONDS = 3600.0
"""Nobody works this long on one file without writing to it; a process on another machine cannot be asked."""
UNUSED_SECONDS = 24 * 3600.0
"""How long an uploaded file stays that no choice and no run names: somebody may still be choosing its columns."""
_CONTENT = re.compile(rb"[0-9a-f]{64}")


def clear(store: RunStore) -> None:
    """Clear away what nobody needs any more; what cannot be removed stays."""
    if not store.folder.is_dir():
        return
    with contextlib.suppress(OSError, SentiscopeError):
        queue.clear(store.folder)
    for path in [*_half_done(store.folder), *_unused(store.folder)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()


def _half_done(folder: Path) -> Iterator[Path]:
    for pattern in HALF_DONE:
        yield from (path for path in folder.glob(pattern) if _older(path, UNTOUCHED_SECONDS))
    yield from (path for path in folder.rglob(f".*{ENDING}") if _older(path, UNTOUCHED_SECONDS))


def _unused(folder: Path) -> Iterator[Path]:
    """Yield uploads that no run, sweep or choice names: by their fingerprint, so that a damaged record counts too."""
    uploads = [path for path in (folder / LIBRARY / FILES).glob("*") if _older(path, UNUSED_SECONDS)]
    if not uploads:
        return
    named: set[bytes] = set()
    for pattern in (f"*/{RECORD}", f"{sweep.FOLDER}/*.json", f"{LIBRARY}/choices/*.json"):
        for path in folder.glob(pattern):
            try:
                named.update(_CONTENT.findall(path.read_bytes()))
            except OSError:
                return  # nobody knows what it names
    yield from (path for path in uploads if path.name.encode() not in named)


def _older(path: Path, seconds: float) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - path.stat().st_mtime > seconds
    return False
