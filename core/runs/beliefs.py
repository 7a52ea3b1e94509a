"""How far explanations of a run can be believed: files of the run directory, and processes that measure it.

What is measured of a starter run, which nobody changes, is kept under the same names in `belief` of the cache.

belief/<hash>.json  what was measured, with everything that it depends on in clear; beside it the files of an errand

<hash> is the SHA-256 of the settings and of the weights.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core import stored
from core.atomic import write_text
from core.cache import cache_folder
from core.data.table import VALIDATION
from core.exceptions import InputError
from core.fingerprint import file_fingerprint, file_version, fingerprint
from core.interpret.believed import Belief
from core.runs import errands
from core.runs.errands import Files, Tell
from core.runs.folders import is_starter
from core.runs.record import WEIGHTS
from core.runs.store import RunStore

FOLDER = "belief"
LIMIT, MOST = 200, 2000
"""Sentences that are drawn, unless another number is named, and at most."""
SEED = 0
"""Of the draw, and of all that is drawn of a sentence."""
VERSION = 3
"""Raised whenever the same run would give other numbers."""


@dataclass(frozen=True)
class BeliefFiles(Files):
    """Where one measuring is, or will be; `stem` is the hash."""

    run: str
    methods: tuple[str, ...]
    """Empty: all that the run can be explained by."""
    limit: int


@dataclass(frozen=True)
class _Kept:
    """The .json, what is read of it again."""

    belief: Belief


def files(store: RunStore, run: str, method: str = "", limit: int = LIMIT) -> BeliefFiles:
    """The files of what is measured of one method, or of all.

    Raises:
        RunNotFound: no such run.
        RunDamaged: it has no weights.
        InputError: so many sentences cannot be asked for.
    """
    if not 1 <= limit <= MOST:
        raise InputError(f"--limit {limit}: a number of sentences from 1 to {MOST}")
    folder, record = store.path(run), store.read(run)
    weights = folder / WEIGHTS
    depends = {
        "version": VERSION,
        "weights": _fingerprint(str(weights), file_version(weights)),
        "answering": record.answering,
        "split": VALIDATION,
        "limit": limit,
        "method": method,
    }
    stem, home = fingerprint(depends), folder / FOLDER
    if is_starter(folder) and not (home / f"{stem}.json").is_file():
        home = cache_folder() / FOLDER
    return BeliefFiles(home, stem, run, (method,) if method else (), limit)


@functools.lru_cache(256)
def _fingerprint(path: str, version: str) -> str:
    """Of weights; empty: there are none."""
    return file_fingerprint(Path(path)) if version else ""


def compute(store: RunStore, here: BeliefFiles, on_progress: Tell | None = None) -> Belief:
    """Measure it in this process, tell others how far it is, and keep it.

    Raises:
        InputError: the data of the run are not there, no sentence is long enough, or no such method.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.interpret.belief import Labelled, measure
    from core.interpret.explain import methods
    from core.runs.judged import Wanted, judged
    from core.runs.load import load_run

    with errands.telling(here, on_progress) as tell:
        tell("reading the sentences", None)
        began, loaded = time.monotonic(), load_run(store, here.run)
        rows = judged(loaded.record, Wanted(split=VALIDATION, limit=here.limit)).rows
        labels = [each if isinstance(each, tuple) else (each,) for each in rows["label"]]
        sentences = [Labelled(text, given) for text, given in zip(rows["text"], labels, strict=True)]
        asked = here.methods or methods(loaded.model.provides)
        found = measure(loaded.reader(), loaded.randomised(SEED).reader(), sentences, asked, tell)
        about = {"run": here.run, "split": VALIDATION, "limit": here.limit, "seed": SEED, "version": VERSION}
        tree = {**about, "seconds": round(time.monotonic() - began, 1), "belief": dataclasses.asdict(found)}
        write_text(here.path("json"), json.dumps(tree, indent=1, allow_nan=False) + "\n")
    return found


def read(here: BeliefFiles) -> Belief | None:
    """What is there; None if it was not measured.

    Raises:
        RunDamaged: its file cannot be read; measuring it again mends that.
    """
    try:
        return stored.read(here.path("json"), _Kept).belief
    except FileNotFoundError:
        return None


def kept(store: RunStore, run: str, methods: Iterable[str], limit: int = LIMIT) -> Belief | None:
    """What is there of all methods; else what is there of each.

    Raises:
        RunDamaged: as `read`.
    """
    if (every := read(files(store, run, limit=limit))) is not None:
        return every
    found = [each for method in methods if (each := read(files(store, run, method, limit))) is not None]
    return (
        dataclasses.replace(found[0], methods=tuple(one for each in found for one in each.methods)) if found else None
    )


def start(store: RunStore, here: BeliefFiles) -> None:
    """Measure in a process of its own; arguments and errors as of `errands.start`."""
    words = [f"--method={method}" for method in here.methods]
    errands.start(store, here, errands.sentiscope("believe", here.run, f"--limit={here.limit}", *words), FOLDER)
