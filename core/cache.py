"""Where results are kept that can be made again."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from core.atomic import write_bytes
from core.exceptions import StorageError

MOST_BYTES = 1_000_000_000
"""Of the files of one kind: what was not read for longest leaves."""
log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """SENTISCOPE_CACHE, else ~/.cache/sentiscope."""
    chosen = os.environ.get("SENTISCOPE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "sentiscope"


def keep_files(files: Sequence[tuple[Path, bytes]], kind: str, most_bytes: int = MOST_BYTES) -> None:
    """Write files into the cache folder, and remove the oldest of their kind beyond a size; only warn if that fails.

    Args:
        files: paths in one folder and contents. The last one is written last, so that it stands for all of them.
        kind: what the names of such files begin with.
        most_bytes: of all files of this kind. The new ones stay in any case.
    """
    try:
        for path, content in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
        _remove_oldest(files[0][0].parent, kind, most_bytes, {path for path, _ in files})
    except (OSError, StorageError) as error:
        log.warning("the %s is not kept: %s", kind, error)


def mark_used(path: Path) -> None:
    """Let a file that was read be the last one to leave."""
    with contextlib.suppress(OSError):
        os.utime(path)


def _remove_oldest(folder: Path, kind: str, most_bytes: int, new: set[Path]) -> None:
    known = []
    for path in folder.glob(f"{kind}-*"):
        with contextlib.suppress(FileNotFoundError):  # another process may remove it as well
            known.append((path in new, path.stat().st_mtime, path.stat().st_size, path))
    left = sum(size for *_, size, _ in known)
    for is_new, _, size, path in sorted(known):
        if left <= most_bytes or is_new:
            return
        path.unlink(missing_ok=True)
        left -= size
