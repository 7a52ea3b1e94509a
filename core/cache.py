"""The cache folder of Sentiscope: files that can be computed again."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.atomic import write_bytes
from core.exceptions import RunDamaged, StorageError

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")
MOST_BYTES = 1_000_000_000  # total size of the files of one kind, at most; the least recently used ones are deleted
log = logging.getLogger(__name__)


def get_cache_folder() -> Path:
    """Return the cache folder: the environment variable SENTISCOPE_CACHE, else ~/.cache/sentiscope."""
    chosen = os.environ.get("SENTISCOPE_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "sentiscope"


def keep_files(files: Sequence[tuple[Path, bytes]], kind: str, most_bytes: int = MOST_BYTES) -> None:
    """Write cache files in order, and delete the oldest other ones of `kind` beyond a total size; log a failure."""
    try:
        for path, content in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, content)
        _remove_oldest(files[0][0].parent, kind, most_bytes, {path for path, _ in files})
    except (OSError, StorageError) as error:
        log.warning("the %s is not kept: %s", kind, error)


def keep_array(path: Path, shape: tuple[int, ...], make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return an array of a given shape from a cache file; if it is absent, compute the array and try to store it."""
    import numpy as np

    try:
        found: np.ndarray = np.load(path, allow_pickle=False)
        if found.shape == shape:
            return found
        log.warning("%s has another shape; making it again", path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError) as error:
        log.warning("%s cannot be read (%s); making it again", path, error)
    made = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, pack_array(made))
    except (OSError, StorageError) as error:
        log.warning("%s is not kept: %s", path, error)
    return made


def read_arrays(path: Path, read: Callable[[Any], T]) -> T | None:
    """Return what `read` takes from the arrays of an `.npz` cache file; None if it is missing or damaged."""
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as arrays:
            found = read(arrays)
        mark_used(path)
        return found
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, RunDamaged) as error:
        log.warning("%s cannot be read (%s); making it again", path, error)
    return None


def pack_array(array: np.ndarray) -> bytes:
    """Return the content of the `.npy` file of an array; no objects are pickled."""
    import numpy as np

    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def mark_used(path: Path) -> None:
    """Update the time stamp of a cache file, so that it is deleted last."""
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
