"""Columns of a table that take long, kept in the cache of the machine under all that they depend on."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from core.atomic import write_bytes
from core.cache import cache_folder
from core.exceptions import StorageError
from core.fingerprint import fingerprint

log = logging.getLogger(__name__)

FOLDER = "failures"
VERSION = 1
"""Raised whenever the same run and data would give other columns."""


def kept(what: str, depends: Any, shape: tuple[int, ...], make: Callable[[], np.ndarray]) -> np.ndarray:
    """An array from the cache, or made now and kept.

    Args:
        what: its name.
        depends: all that it is made from, as plain data.
        shape: it has.
        make: what makes it.
    """
    stem = fingerprint({"version": VERSION, "what": what, "depends": depends})
    path = cache_folder() / FOLDER / f"{stem}.npy"
    try:
        found: np.ndarray = np.load(path, allow_pickle=False)
        if found.shape == shape:
            return found
        log.warning("%s is of another table; making it again", path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError) as error:
        log.warning("%s cannot be read (%s); making it again", path, error)
    made, content = make(), io.BytesIO()
    np.save(content, made, allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
    except (OSError, StorageError) as error:
        log.warning("%s is not kept: %s", what, error)
    return made
