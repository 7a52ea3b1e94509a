"""Which part of one model stands for which of another: only where that is more than the same number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.figures.numbers import subscript
from dashboard.figures.sentence import subtracts

if TYPE_CHECKING:
    from core.runs.record import RunRecord

TAKEN = (".attention.query", ".attention.key", ".attention.value")
"""What a head has to take over from the run it began with, to be that head still."""


@dataclass(frozen=True)
class Counterparts:
    """What of two models corresponds, and in words what does not."""

    layers: bool = True
    heads: bool = True
    components: frozenset[int] = frozenset()
    """From 0."""
    lexicon: bool = True
    said: tuple[str, ...] = ()


def counterparts(now: RunRecord, other: RunRecord) -> Counterparts:
    """Of two models with attention.

    Layers correspond where there are as many. Heads have no order of their own: those of two trainings correspond only
    where both began with those of the same run. The first component is the one with the weight 1; of the others, which
    have no order either, there must be one in each model, with the same sign.
    """
    mine, theirs = now.config.model, other.config.model
    ours, its = mine.attention, theirs.attention
    if now.run == other.run:
        return Counterparts(components=frozenset(range(ours.components)))
    if mine.layers != theirs.layers:
        said = f"{now.run} has {mine.layers} layers and {other.run} {theirs.layers}: none stands for another."
        return Counterparts(False, False, frozenset(), False, (said,))
    lines = []
    heads = ours.heads == its.heads and _one_beginning(now, other)
    if not heads:
        lines.append(
            f"{now.run} has {ours.heads} heads in a layer and {other.run} {its.heads}: heads are not compared."
            if ours.heads != its.heads
            else "Heads have no order of their own, so head 1 of one training is not head 1 of another: they are not "
            "compared."
        )
    several = min(ours.components, its.components) > 1
    second = several and ours.components == its.components == 2 and subtracts(now) == subtracts(other)
    if several and not second:
        lines.append(_not_second(now, other))
    lexicon = ours.lexical == its.lexical
    if not lexicon:
        lines.append(
            f"Only {now.run if its.lexical == 'none' else other.run} reads a lexicon."
            if "none" in (ours.lexical, its.lexical)
            else "The lexicon is used in different ways, so its terms are not compared."
        )
    if ours.gate != its.gate:
        lines.append(f"Only {now.run if ours.gate else other.run} has gates.")
    return Counterparts(True, heads, frozenset(range(several + second)), lexicon, tuple(lines))


def _not_second(now: RunRecord, other: RunRecord) -> str:
    if subtracts(now) != subtracts(other):
        return f"A{subscript(1)} is added in one and taken away in the other: it is not compared."
    return (
        f"Components from A{subscript(1)} on have no order of their own, or are not as many: of those only "
        f"A{subscript(0)} is compared."
    )


def _one_beginning(now: RunRecord, other: RunRecord) -> bool:
    """Whether the heads of both were once those of one run."""
    first, second = (_began(each) for each in (now, other))
    return bool({first, now.run} & {second, other.run} - {""})


def _began(record: RunRecord) -> str:
    """The run whose heads it took over; empty: none."""
    start = record.results.get("start") or {}
    fresh = any(name in tensor for tensor in start.get("fresh", ()) for name in TAKEN)
    return "" if fresh else start.get("run", "")
