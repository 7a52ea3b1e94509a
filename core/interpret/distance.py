"""How far a word reaches: what a run says while more and more words are put between, say, a negation and its word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.exceptions import InputError
from core.interpret.reader import Reader
from core.interpret.templates import Step


@dataclass(frozen=True)
class Reach:
    """What a run says of every step of a template."""

    target: str
    probabilities: np.ndarray
    """(steps,) float64: of the target."""
    without: np.ndarray | None
    """(steps,): without the negation."""
    note: str
    """What of the longest text is unknown or cut off; empty: nothing."""


def reach(reader: Reader, asked: Sequence[Step], target: str) -> Reach:
    """What a run says of every step.

    Args:
        reader: of the run.
        asked: as `steps` gives them.
        target: a class.

    Raises:
        InputError: there is no such class.
    """
    if not target:
        raise InputError("name a class whose probability is followed")
    reader.check(target)
    bare = [(step.text, step.without) for step in asked if step.without is not None]
    texts = [step.text for step in asked]
    read = [_read(reader, text, less) for text, less in bare]
    said = reader.say([*texts, *read], None, [*texts, *(less for _, less in bare)])
    chances = said.probabilities[:, reader.classes.index(target)].astype(np.float64)
    longest = asked[-1].text
    return Reach(
        target,
        chances[: len(asked)],
        chances[len(asked) :] if bare else None,
        " ".join(reader.notes(longest, reader.tokenizer.encode(longest))),
    )


def _read(reader: Reader, text: str, less: str) -> str:
    """Return what the network reads of a text without its negation; nothing comes in that it cuts off from the text."""
    part = reader.read_part(text)
    end = text.removeprefix(part)
    return (less.removesuffix(end) if less.endswith(end) else part) if end != text else less
