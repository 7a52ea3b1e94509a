"""Decisions that a reading of a file made: what was chosen, why, and what else could have been chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

What = Literal["encoding", "delimiter", "quoting", "header", "sheet", "text", "label", "labels", "rows"]


@dataclass(frozen=True)
class ReadingDecision:
    """One choice between several ways to read a file."""

    what: What
    chosen: str
    """As the setting would write it, such as `cp1251`; of `rows` a sentence."""
    alternatives: tuple[str, ...] = ()
    """Other values of the setting that would do, the likeliest first."""
    setting: str = ""
    """The setting that chooses another one, such as `data.encoding`; empty: there is none."""
    proof: str = ""
    """A line of text by which a person sees whether the choice is right."""
    guessed: bool = False
    """Whether the file leaves the choice open, so that a person should look at the proof."""
