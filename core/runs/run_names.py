"""Names of runs for people: the model, and where two would be equal also seed, day or data set."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.runs.record import RunRecord
from core.runs.seed_groups import WHOLE, get_seed_fold
from core.runs.store import STARTER, make_slug

WEEK = 7
"""Days in which a weekday says which day it was."""


@dataclass(frozen=True)
class RunName:
    """The name of a run for people; the id of the run stays in links, files and commands."""

    name: str
    """The name that a person gave it, else its model."""
    note: str = ""
    """What tells it from runs of the same name and data; empty where there are none."""
    data: str = ""
    """Its data set, if the runs here are of several."""

    @property
    def text(self) -> str:
        """Return the name with its note: no other run on the same data has the same."""
        return ", ".join(filter(None, (self.name, self.note)))

    @property
    def full(self) -> str:
        """Return the name with its note and data set: no other run has the same."""
        return " · ".join(filter(None, (self.text, self.data)))


def name_runs(records: Iterable[RunRecord], now: datetime.datetime | None = None) -> dict[str, RunName]:
    """Return the name of each run for people, by its id; `now` decides which days have the name of a weekday."""
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        groups.setdefault((_get_own_name(record), _get_data(record)), []).append(record)
    several = len({data for _, data in groups if data}) > 1
    named = {}
    for (name, data), group in groups.items():
        for record, note in zip(group, _tell_apart(group, now or datetime.datetime.now()), strict=True):
            named[record.run] = RunName(name, note, data if several else "")
    return named


def _get_data(record: RunRecord) -> str:
    return "" if record.status == "damaged" else Path(record.config.data.name).name


def _get_own_name(record: RunRecord) -> str:
    """Return a run's name as a person gave it; for an id that was made (`RunStore.create`) the model."""
    if record.run.startswith(STARTER):
        return record.run.removeprefix(STARTER)
    made = rf"(.+-)?{re.escape(make_slug(record.preset))}-s\d+-\d{{8}}-\d{{6}}(-\d+)?"
    return record.preset if record.preset and re.fullmatch(made, record.run) else record.run


def _tell_apart(group: Sequence[RunRecord], now: datetime.datetime) -> list[str]:
    """Return the shortest note that distinguishes each run from others of the same name."""
    own = [record for record in group if not record.run.startswith(STARTER)]
    notes = {record.run: "starter" for record in group if record not in own and len(group) > 1}
    notes |= {record.run: "" for record in group if record.run not in notes}
    tellers: tuple[Callable[[RunRecord], str], ...] = (
        lambda record: f"seed {get_seed_fold(record)[0]}",
        lambda record: "" if get_seed_fold(record)[1] == WHOLE else f"fold {get_seed_fold(record)[1]}",
        lambda record: _write_day(record, now),
        lambda record: "" if (made := _read_time(record)) is None else f"{made:%H:%M}",
        lambda record: record.run,
    )
    for tell in tellers:
        told = {record.run: tell(record) for record in own}
        if len(set(told.values())) > 1 and max(Counter(notes[record.run] for record in own).values()) > 1:
            notes |= {run: ", ".join(filter(None, (notes[run], word))) for run, word in told.items()}
    return [notes[record.run] for record in group]


def _read_time(record: RunRecord) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(record.created).astimezone().replace(tzinfo=None)
    except ValueError:
        return None  # a damaged run


def _write_day(record: RunRecord, now: datetime.datetime) -> str:
    if (made := _read_time(record)) is None:
        return ""
    days = (now.date() - made.date()).days
    return f"{made:%A}" if 0 <= days < WEEK else f"{made.day} {made:%B}{'' if made.year == now.year else f' {made:%Y}'}"
