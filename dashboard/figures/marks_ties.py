"""Where the upright lines of a table stand, which join rows that cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """A piece of an upright line: what one row shows of it."""

    lane: int
    """From the left, 0-based."""
    part: str
    """start · on · end · past: a row between them that does not belong to the group."""


@dataclass(frozen=True)
class Ties:
    """The pieces of each row and of what it unfolds to, and how many lanes there are."""

    rows: dict[str, list[Line]] = field(default_factory=dict)
    below: dict[str, list[Line]] = field(default_factory=dict)
    lanes: int = 0


def ties(rows: Sequence[str], groups: Sequence[Sequence[str]]) -> Ties:
    """Each group as a line from its first row to its last; lines that do not meet share a lane.

    Args:
        rows: Every row, in order.
        groups: The rows of each group; a group of one joins nothing.
    """
    place = {row: number for number, row in enumerate(rows)}
    found = Ties({row: [] for row in rows}, {row: [] for row in rows})
    members = [sorted(place[row] for row in group) for group in groups]
    ends: list[int] = []
    for group in sorted(each for each in members if len(each) > 1):
        first, last = group[0], group[-1]
        lane = next((lane for lane, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        inside = set(group)
        for number in range(first, last + 1):
            part = {first: "start", last: "end"}.get(number, "on" if number in inside else "past")
            found.rows[rows[number]].append(Line(lane, part))
            if number < last:
                both = number in inside and number + 1 in inside
                found.below[rows[number]].append(Line(lane, "on" if both else "past"))
    return Ties(found.rows, found.below, len(ends))
