"""What a visitor has tried on Sentence: the steps that undo goes back through, and every sentence that was read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

PAUSE = 2.0
"""Seconds. What stands for less while one types, or moves the same lever, is no step of its own."""
MOST = 40
"""Steps, and sentences, that are kept."""


@dataclass(frozen=True)
class Tried:
    """A sentence, who read it, what was changed inside, and the answer; two are the same whatever the answer is."""

    run: str
    text: str
    edit: str
    """As it stands in a link."""
    answer: str = field(default="", compare=False)
    chance: float = field(default=math.nan, compare=False)
    """Probability of the answer."""
    changed: str = field(default="", compare=False)
    """The changes in words."""


@dataclass(frozen=True)
class Past:
    """Of one visitor; it never changes, each step gives another."""

    steps: tuple[Tried, ...] = ()
    """The oldest first."""
    at: int = -1
    """The step that is on screen."""
    tried: tuple[Tried, ...] = ()
    """Sentences with a word, the last one first, each once."""
    touched: float = -math.inf
    """When the last step was made or changed."""

    def then(self, now: Tried, seconds: float) -> Past:
        """What is on screen now; `seconds` on a clock that only rises."""
        if self.steps and now == self.steps[self.at]:
            return self
        last, tried = self.at + 1, self.tried
        if self._goes_on(now, seconds):
            last, tried = self.at, tuple(each for each in tried if each != self.steps[self.at])
        steps = (*self.steps[:last], now)[-MOST:]
        if now.text.strip():
            tried = (now, *(each for each in tried if each != now))[:MOST]
        return Past(steps, len(steps) - 1, tried, seconds)

    def _goes_on(self, now: Tried, seconds: float) -> bool:
        """Whether it is the same change as the last step, in one go with it."""
        if seconds - self.touched >= PAUSE or self.at < 1 or self.at + 1 < len(self.steps):
            return False
        before, last = self.steps[self.at - 1 : self.at + 1]
        return _change(before, last) == _change(last, now)

    def moved(self, by: int) -> Past:
        """So many steps on, or back."""
        return replace(self, at=min(max(self.at + by, 0), len(self.steps) - 1), touched=-math.inf)

    @property
    def back(self) -> bool:
        """Whether there is anything to undo."""
        return self.at > 0

    @property
    def forth(self) -> bool:
        """Whether there is anything to do again."""
        return self.at + 1 < len(self.steps)

    def cleared(self) -> Past:
        """With what is on screen only."""
        return Past(self.steps[self.at : self.at + 1], min(self.at, 0))


def _change(before: Tried, now: Tried) -> tuple[bool, bool, frozenset[str]]:
    """In what two differ: run, text, and the names of the levers."""
    levers = set(before.edit.split(",")) ^ set(now.edit.split(","))
    return before.run != now.run, before.text != now.text, frozenset(each.partition(":")[0] for each in levers if each)
