"""What a run answers to the texts of a suite, asked once and kept in the cache of the machine."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from core.atomic import write_bytes
from core.behaviour.judge import Judged, judge
from core.behaviour.polarity import sides_of
from core.behaviour.suite import Suite
from core.cache import cache_folder
from core.exceptions import InputError, StorageError
from core.fingerprint import file_fingerprint, fingerprint
from core.runs.record import MIX, SPEAKING, refuse_tagged
from core.runs.store import RunStore

log = logging.getLogger(__name__)

FOLDER = "behaviour"


def judged(store: RunStore, run: str, suite: Suite, chosen: Mapping[str, str] | None = None) -> Judged:
    """Ask a run a suite.

    Args:
        store: Where it lives.
        run: A finished run.
        suite: What is asked.
        chosen: Class → polarity, see `core.behaviour.polarity.sides_of`.

    Raises:
        InputError: there is no such run, it gives several labels per text, or its classes have no polarity.
        RunDamaged: its model cannot be read.
    """
    record = store.read(run)
    refuse_tagged(record)
    if record.task == "multi":
        raise InputError(f"run '{run}' gives several labels per text; a suite asks for one polarity per text")
    sides = sides_of(run, record.classes, chosen, record.classes if record.ordered else ())
    return judge(run, suite, sides, probabilities(store, run, suite.texts, len(record.classes)))


def asked(store: RunStore, run: str, suite: Suite) -> bool:
    """Whether its answers to a suite are kept, so that `judged` needs no model.

    Raises:
        InputError: there is no such run.
    """
    kept = _kept(store, run, suite.texts)
    return kept is not None and kept.exists()


def probabilities(store: RunStore, run: str, texts: Sequence[str], classes: int) -> np.ndarray:
    """(n, C) float32, from the cache where the same model was asked the same before.

    Raises:
        RunDamaged: the model cannot be read.
    """
    kept = _kept(store, run, texts)
    known = _read(kept, (len(texts), classes)) if kept else None
    if known is not None:
        return known
    from core.runs.load import load_run

    found = load_run(store, run).predict(texts).probabilities.astype(np.float32)
    if kept:
        _write(kept, found)
    return found


def _kept(store: RunStore, run: str, texts: Sequence[str]) -> Path | None:
    """The file of these answers, named by all that they depend on; None where the run lacks its model."""
    record = store.read(run)
    names = [name for name in SPEAKING if record.mix_weight is not None or not name.startswith(MIX)]
    try:
        model = [file_fingerprint(store.path(run) / name) for name in names]
    except OSError:
        return None
    asked = {"model": model, "answering": record.answering, "texts": list(texts)}
    return cache_folder() / FOLDER / f"{fingerprint(asked)}.npy"


def _read(path: Path, shape: tuple[int, int]) -> np.ndarray | None:
    try:
        found = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError) as error:
        log.warning("%s cannot be read (%s); asking again", path, error)
        return None
    return found if found.shape == shape and np.isfinite(found).all() else None


def _write(path: Path, found: np.ndarray) -> None:
    content = io.BytesIO()
    np.save(content, found, allow_pickle=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
    except (OSError, StorageError) as error:
        log.warning("the answers are not kept: %s", error)
