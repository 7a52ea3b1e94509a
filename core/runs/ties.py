"""Which of several models cannot be told apart, as the upright lines of a table say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.data.table import TEST
from core.evaluation.comparison import better
from core.runs.comparison import compare
from core.runs.sides import read_sides
from core.runs.store import RunStore


def ties(store: RunStore, models: Sequence[Sequence[str]], metric: str) -> list[list[int]]:
    """Test every pair of models on the test split, Holm over all pairs; `models` are the runs of each, best first.

    Returns places in `models` that follow each other and of which no two can be told apart; each group as large as it
    can be, groups of one left out. Raises InputError if they were not tested on the same rows, RunDamaged if
    predictions cannot be read.
    """
    place = {run: number for number, runs in enumerate(models) for run in runs}
    sides = read_sides(store, [*place], split=TEST)
    names = {side.name: place[side.model.records[0].run] for side in sides.sides}
    found = compare(sides, metrics=[metric])["pairs"]
    apart = {frozenset((names[pair["first"]], names[pair["second"]])) for pair in found if better(pair)}
    return in_a_row(len(models), apart)


def in_a_row(count: int, apart: Iterable[frozenset[int]]) -> list[list[int]]:
    """Return the largest stretches of 0 … count − 1 without a pair that is apart."""
    known, groups, done = set(apart), list[list[int]](), 0
    for first in range(count):
        end = first + 1
        while end < count and not any(frozenset((member, end)) in known for member in range(first, end)):
            end += 1
        if end > max(done, first + 1):
            groups.append([*range(first, end)])
            done = end
    return groups
