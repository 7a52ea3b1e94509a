"""Who teaches a training, checked before there is any work: see `core.runs.taught`. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence

from core.config import RunConfig
from core.data.table import Task
from core.exceptions import ConfigError, SentiscopeError
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.training.config import TFIDF


def teacher_of(config: RunConfig, store: RunStore) -> RunRecord | None:
    """The run that teaches; None where none does.

    Raises:
        ConfigError: there is no such run, or it has not finished.
    """
    name = config.training.teacher
    if name in ("", TFIDF):
        return None
    try:
        record = store.read(name)
    except SentiscopeError as error:
        raise ConfigError(f"training.teacher={name}: tfidf, or the name of a finished run; {error}") from error
    if record.status != "done":
        raise ConfigError(f"training.teacher={name}: this run is {record.status}; a teacher has finished its training")
    return record


def check_classes(run: RunRecord, classes: Sequence[str], task: Task) -> None:
    """Refuse a teacher that answers another question; the order of its classes does not matter.

    Raises:
        ConfigError: names both.
    """
    if run.task != task:
        kinds = {"single": "one label per text", "multi": "several labels per text"}
        raise ConfigError(f"training.teacher={run.run}: knows {kinds[run.task]}, and these data have {kinds[task]}")
    if set(run.classes) != set(classes):
        theirs, ours = ", ".join(run.classes), ", ".join(classes)
        raise ConfigError(
            f"training.teacher={run.run}: its classes are {theirs:.200}, those of these data {ours:.200}; "
            "name them alike with data.rename, or choose training.teacher=tfidf"
        )
