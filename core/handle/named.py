"""A run by its name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from core.runs.store import RunStore

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, repr=False)
class Named:
    """A run by its name, and where it lives."""

    name: str
    store: RunStore = field(default_factory=RunStore, compare=False)


def named(run: str | Named) -> str:
    """The name of a run that is given by itself or by name."""
    return run.name if isinstance(run, Named) else run


def path(name: str | Path | None) -> Path | None:
    """Where a file is, however it was given."""
    return None if name is None else Path(name)
