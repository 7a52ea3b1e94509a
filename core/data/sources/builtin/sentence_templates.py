"""The sentence templates (frames) of the built-in corpus, read from `frames.tsv`, `clauses.tsv` and `facts.tsv`.

Slots have the number of their opinion: `The {n1} {be1} not {adj1}.` Slots with a capital (`{C1}`) are clauses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from core.data.sources.builtin.lexicon import read_rows

SLOT = re.compile(r"\{([A-Za-z]+?)(\d?)\}")
MIXED, LUKEWARM, FACT = "mixed", "lukewarm", "neutral fact"
SIGNS = {"+": 1, "-": -1, "~": -1}
"""`-`: the words have the opposite sign of the sentence; `~`: the same, as the sentence denies them."""


@dataclass(frozen=True)
class Frame:
    """A sentence template of the built-in corpus, with its rule of composition."""

    id: str
    phenomenon: str
    held_out: bool
    template: str
    signs: tuple[int, ...] = ()
    """For each opinion, the sign of its words relative to the sentence: +1 or -1."""
    denied: tuple[bool, ...] = ()
    """For each opinion, whether the sentence denies its words, so that only deniable words fit."""
    score: str = "zero"
    """The rule for the score: weak (±1), strong (±2), zero, or the number of the opinion that decides."""
    kinds: frozenset[str] = frozenset()
    """Kinds of noun that fit; empty: all."""
    domain: str = ""
    """The only domain it belongs to; empty: any."""


@cache
def read_frames() -> tuple[Frame, ...]:
    """Return all sentence templates (frames) in the order of their files; statements of fact come last."""
    opinions = tuple(
        Frame(
            id=row["id"],
            phenomenon=row["phenomenon"],
            held_out=row["split"] == "test",
            signs=tuple(SIGNS[sign] for sign in row["signs"]),
            denied=tuple(sign == "~" for sign in row["signs"]),
            score=row["score"],
            kinds=frozenset(row["kinds"].split()),
            template=row["template"],
        )
        for row in read_rows("frames.tsv")
    )
    facts = tuple(
        Frame(
            id=f"fact-{number:02d}",
            phenomenon=FACT,
            held_out=row["split"] == "test",
            domain=row["domain"],
            template=row["template"],
        )
        for number, row in enumerate(read_rows("facts.tsv"), start=1)
    )
    return opinions + facts


@cache
def read_clauses() -> dict[str, tuple[str, ...]]:
    """Return slot name → clause templates that can fill the slot; `#` in them means an opinion's number."""
    found: dict[str, list[str]] = {}
    for row in read_rows("clauses.tsv"):
        found.setdefault(row["name"], []).append(row["template"])
    return {name: tuple(templates) for name, templates in found.items()}
