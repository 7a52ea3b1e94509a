"""What `label_errors` found of a run, kept in the cache of the machine: found here, or in a process beside a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from core import stored
from core.atomic import write_text
from core.cache import cache_folder
from core.exceptions import NotAvailable, RunDamaged
from core.failures.kept import FOLDER
from core.failures.table import Table
from core.fingerprint import file_fingerprint, fingerprint
from core.runs import errands
from core.runs.errands import Files, Tell
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

VERSION = 3
"""Raised whenever the same run and data would give others."""


def files(store: RunStore, record: RunRecord, split: str) -> Files:
    """Where they are, or will be: they depend on the data and on what the run says of the split."""
    said = file_fingerprint(store.path(record.run) / EVALUATION / split / PREDICTIONS)
    about = {"version": VERSION, "data": record.data_fingerprint, "config": record.config.data, "said": said}
    return Files(cache_folder() / FOLDER, f"labels-{fingerprint(about | {'split': split, 'text': record.config.text})}")


def kept(here: Files) -> dict[str, Any] | None:
    """What was found; None: nobody has looked, or it cannot be read."""
    try:
        found = stored.read_tree(here.path("json"))
    except (FileNotFoundError, RunDamaged):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("rows"), list) else None


def doubted(store: RunStore, table: Table, on_progress: Tell | None = None) -> dict[str, Any]:
    """As `label_errors`, from the cache or now; others are told how far it is."""
    from core.runs.seen import trained_on

    here = files(store, table.record, table.split)
    if (found := kept(here)) is not None:
        return found
    try:
        dataset = trained_on(table.record)
    except NotAvailable as error:
        return {"rows": [], "likely": {}, "n": {}, "left_out": str(error), "conflicts": []}
    with errands.telling(here, on_progress) as tell:
        from core.failures.label_errors import label_errors  # torch

        found = label_errors(table, dataset, tell)
        write_text(here.path("json"), json.dumps(found, ensure_ascii=False, allow_nan=False))
    return found


def doubted_rows(found: dict[str, Any]) -> pd.DataFrame:
    """The rows of which another label is likelier than theirs, the most doubtful first."""
    import pandas as pd

    return pd.DataFrame(found["rows"])


def start(store: RunStore, record: RunRecord, split: str) -> None:
    """Find them in a process of its own.

    Raises:
        InputError: as many wait as this server allows.
    """
    command = errands.sentiscope("errors", record.run, "--split", split, "--label-errors")
    errands.start(store, files(store, record, split), command, "labels")
