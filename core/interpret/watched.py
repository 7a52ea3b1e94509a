"""Something that asks a model for long: a thread does it, whoever wants to know sees how far it is and may stop it.

No torch: pages hold what is watched before they need a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Found = TypeVar("Found")
OnProgress = Callable[[str, float | None], None]
"""Told what is done now, and how far that is, where it is known; without a word, how far what was told last is. What it
raises stops the work."""


def silent(what: str, share: float | None) -> None:
    """Nobody is told."""


MOST_AT_ONCE, TOKENS_AT_ONCE, CHARACTERS = 128, 3_000, 4
"""Texts and tokens of a batch, and characters of a token, about."""
_beginning = threading.Lock()  # One thread asks; whoever comes later finds it at work


def at_once(characters: int, max_length: int) -> int:
    """Texts, the longest with so many characters, that a model reads in some tenths of a second: so soon one stops."""
    tokens = characters // CHARACTERS + 1
    return max(1, min(MOST_AT_ONCE, TOKENS_AT_ONCE // min(max_length or tokens, tokens)))


class Enough(Exception):
    """Somebody has stopped the asking."""


class Watched(Generic[Found]):
    """What is found of something, by a thread for all who want to know; what was found stays when it is stopped."""

    def __init__(self) -> None:
        self.found: Found | None = None
        self.whole = False
        """Whether nothing is left to find."""
        self.stopped = False
        self.error: Exception | None = None
        self.what = ""
        """What is done now."""
        self._share: float | None = None
        self._within: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether somebody asks."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def share(self) -> float | None:
        """How much of what is done now is done; None: nobody knows."""
        return self._within if self._share is None else self._share

    def stop(self) -> None:
        """Not a reading more."""
        self.stopped = True

    def go_on(self) -> None:
        """Whoever wants to know next asks again."""
        self.stopped = False

    def tell(self, what: str, share: float | None) -> None:
        """Tell how far it is; without a word, how much of what was told last. Raises Enough once it is stopped."""
        if what:
            self.what, self._share, self._within = what, share, None
        else:
            self._within = share
        if self.stopped:
            raise Enough

    def fill(self, steps: Callable[[OnProgress], Iterator[Found]]) -> None:
        """Ask until all is there, or somebody has enough."""
        try:
            for found in steps(self.tell):
                self.found = found
            self.whole = True
        except Enough:
            pass
        except Exception as error:  # a thread has nobody to raise it to: whoever waits does
            self.error = error

    def ask(self, steps: Callable[[OnProgress], Iterator[Found]], patience: float | None = None) -> None:
        """Begin, if nobody has, and wait `patience` seconds for the end; None: until it is there.

        `steps` finds something again and again, the last one whole; it is told how to tell how far it is.

        Raises:
            Exception: what the asking raised; whoever comes next asks again.
        """
        with _beginning:
            if not (self.whole or self.running or self.stopped):
                self._thread = threading.Thread(target=self.fill, args=(steps,), daemon=True)
                self._thread.start()
        if self._thread is not None:
            self._thread.join(patience)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
