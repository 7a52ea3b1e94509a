"""What a text has to say before its answer: that the model knows few of its words."""

from __future__ import annotations

from core.numbers import whole_percent

HALF = 0.5  # Share of unknown words from which a text says so


def mostly_unknown(share: float | None) -> bool:
    """Whether half of the words or more are unknown; not where that cannot be known."""
    return share is not None and share >= HALF


def unknown_note(share: float | None) -> str:
    """A sentence to stand before the answer; empty where most of the words are known."""
    if share is None or share < HALF:
        return ""
    if share == 1:
        return "The run knows no word of this text."
    return f"{whole_percent(share)} of the words are unknown to the run."
