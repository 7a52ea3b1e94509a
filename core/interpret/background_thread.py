"""Background threads for long computations that report progress and can be stopped. Imports no torch."""

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Found = TypeVar("Found")
OnProgress = Callable[[str, float | None], None]
"""A progress callback: the current step (empty: as before) and its share done, if known. An exception that it raises
stops the work."""


def ignore_progress(what: str, share: float | None) -> None:
    """Ignore a progress report: the default progress callback."""


MOST_AT_ONCE, TOKENS_AT_ONCE, CHARACTERS = 128, 3_000, 4
"""Texts and tokens of a batch, at most, and the typical number of characters of a token."""
_beginning = threading.Lock()  # So that a second caller does not start a second thread


def choose_batch_size(characters: int, max_length: int) -> int:
    """Return how many texts to predict at once, given the longest, so that a batch takes some tenths of a second."""
    tokens = characters // CHARACTERS + 1
    return max(1, min(MOST_AT_ONCE, TOKENS_AT_ONCE // min(max_length or tokens, tokens)))


class WorkStopped(Exception):
    """The exception that ends a background computation after a request to stop it."""


class BackgroundThread(Generic[Found]):
    """A background computation shared by several callers; its partial results stay when it is stopped."""

    def __init__(self) -> None:
        self.found: Found | None = None
        self.whole = False  # Whether the computation is complete
        self.stopped = False
        self.error: Exception | None = None
        self.what = ""  # The current step
        self._share: float | None = None
        self._within: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Return whether the background computation is running."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def share(self) -> float | None:
        """Return the fraction done of the background computation's current step; None if unknown."""
        return self._within if self._share is None else self._share

    def request_stop(self) -> None:
        """Request that the background computation stops at its next progress report."""
        self.stopped = True

    def allow_restart(self) -> None:
        """Allow a stopped background computation to be started again by the next request."""
        self.stopped = False

    def report_progress(self, what: str, share: float | None) -> None:
        """Record the progress of a background computation; raise WorkStopped if a stop was requested."""
        if what:
            self.what, self._share, self._within = what, share, None
        else:
            self._within = share
        if self.stopped:
            raise WorkStopped

    def run_steps(self, steps: Callable[[OnProgress], Iterator[Found]]) -> None:
        """Run a computation to its end or until it is stopped, storing each partial result."""
        try:
            for found in steps(self.report_progress):
                self.found = found
            self.whole = True
        except WorkStopped:
            pass
        except Exception as error:  # raised in the waiting thread, by `start_and_wait`
            self.error = error

    def start_and_wait(self, steps: Callable[[OnProgress], Iterator[Found]], patience: float | None = None) -> None:
        """Start a computation unless it runs, and wait `patience` seconds (None: to its end); raises its errors."""
        with _beginning:
            if not (self.whole or self.running or self.stopped):
                self._thread = threading.Thread(target=self.run_steps, args=(steps,), daemon=True)
                self._thread.start()
        if self._thread is not None:
            self._thread.join(patience)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
