"""What `shift` found of a run, kept in the cache of the machine: found here, or in a process beside a page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from core import stored
from core.atomic import write_text
from core.cache import cache_folder
from core.data.table import TRAIN
from core.exceptions import NotAvailable, RunDamaged
from core.failures.kept import FOLDER
from core.failures.table import Table
from core.fingerprint import file_fingerprint, fingerprint
from core.runs import errands
from core.runs.errands import Files, Tell
from core.runs.predictions import lacks_texts
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

VERSION = 1
"""Raised whenever the same data would give others."""


def files(store: RunStore, record: RunRecord, split: str) -> Files:
    """Where it is, or will be: it depends on the data, and on the rows of the split."""
    rows = file_fingerprint(store.path(record.run) / EVALUATION / split / PREDICTIONS)
    about = {"version": VERSION, "data": record.data_fingerprint, "config": record.config.data, "rows": rows}
    return Files(cache_folder() / FOLDER, f"shift-{fingerprint(about | {'split': split, 'text': record.config.text})}")


def kept(here: Files) -> dict[str, Any] | None:
    """What was found; None: nobody has looked, or it cannot be read."""
    try:
        found = stored.read_tree(here.path("json"))
    except (FileNotFoundError, RunDamaged):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("words"), list) else None


def shifted(store: RunStore, table: Table, on_progress: Tell | None = None) -> dict[str, Any]:
    """As `core.failures.shift.shift`, from the cache or now; others are told how far it is.

    Raises:
        NotAvailable: texts of either are not here, or the split is the training split.
    """
    from core.runs.seen import trained_on

    here = files(store, table.record, table.split)
    if (found := kept(here)) is not None:
        return found
    if table.split == TRAIN:
        raise NotAvailable("training is compared with another split")
    if why := lacks_texts(store.path(table.record.run), table.record):
        raise NotAvailable(why)
    dataset = trained_on(table.record)
    with errands.telling(here, on_progress) as tell:
        from core.failures.shift import shift

        training, labels = dataset.splits[TRAIN]["text"].tolist(), dataset.targets(TRAIN)
        of_training = labels > 0 if labels.ndim == 2 else np.eye(len(dataset.classes), dtype=bool)[labels]
        has = of_training, table.true
        found = shift(training, table.texts, has, table.classes, table.record.config.text, tell)
        write_text(here.path("json"), json.dumps(found, ensure_ascii=False, allow_nan=False))
    return found


def start(store: RunStore, record: RunRecord, split: str) -> None:
    """Find it in a process of its own.

    Raises:
        InputError: as many wait as this server allows.
    """
    command = errands.sentiscope("shift", record.run, "--split", split)
    errands.start(store, files(store, record, split), command, "shift")
