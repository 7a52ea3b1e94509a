"""What an inspection found in a table: one sentence and one count each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.numbers import count
from core.text.clusters import clipped

Level = Literal["note", "warning", "refused"]


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing about a table; `refused` means that it cannot be used as it is."""

    kind: str
    """Short stable name, such as `blank-text`."""
    level: Level
    count: int
    """How many rows (or classes, or characters) it concerns."""
    message: str
    """A sentence for a person, with the count in it."""


def plural(number: int, noun: str) -> str:
    """`1 row`, `1 200 rows`, `3 classes`."""
    if number == 1:
        return f"1 {noun}"
    return f"{count(number)} {noun}{'es' if noun.endswith('s') else 's'}"


def shown(word: str, most: int = 60) -> str:
    """A word of somebody's file as a message quotes it: a long one is cut."""
    return clipped(word, most + 1)
