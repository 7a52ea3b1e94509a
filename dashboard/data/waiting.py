"""What asks a model for long: by a thread that tells how far it is, once for all visitors who want the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.interpret.edits import Edits
from core.interpret.watched import OnProgress, Watched
from dashboard.data.inside import lambdas, loaded_of, own_belief, parts, patches, pushed, reach
from dashboard.data.stored import hashed, weights_fingerprint

if TYPE_CHECKING:
    from core.interpret.explain import Methods


Wanted = tuple[Any, ...]
"""Something that asks a model for long: its name, the run, and further arguments of the function of that name."""


@dataclass(frozen=True)
class Asking:
    """What a page waits for: somebody has asked it already, or does so now."""

    wanted: tuple[Wanted, ...]
    known: Watched[Any]
    steps: Callable[[OnProgress], Iterator[Any]]

    def wait(self, patience: float | None = None) -> Watched[Any]:
        """Begin, if nobody has, and wait so many seconds for the end; None: until it is there.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        self.known.ask(self.steps, patience)
        return self.known


def asking(*wanted: Wanted) -> Asking:
    """Several of them, one after the other; the names are those of `_STREAMED` and `_FOUND`."""

    def steps(tell: OnProgress) -> Iterator[Any]:
        for name, *about in wanted:
            tell(name, None)
            if name in _STREAMED:
                yield from _STREAMED[name](*about, tell=tell)
            else:
                yield _FOUND[name](*about, tell=tell)

    kept = tuple((name, weights_fingerprint(run), hashed(about)) for name, run, *about in wanted)
    return Asking(wanted, _watched(tuple(run for _, run, *_ in wanted), kept), steps)


@st.cache_resource(max_entries=96, show_spinner=False)
def _watched(runs: tuple[str, ...], wanted: tuple[Any, ...]) -> Watched[Any]:
    return Watched()


def _side_by_side(
    run: str, text: str, target: str, edits: Edits, named: Sequence[str], *, tell: OnProgress
) -> Iterator[Methods]:
    from dashboard.figures.files import side_by_side

    return side_by_side(loaded_of(run).watched(tell), text, target, edits, named)


def methods(run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
    """What each word does to the log-odds of a class by these methods, as far as the model can be explained so.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    known = asking(("methods", run, text, target, edits, tuple(named))).wait()
    assert known.found is not None  # the page shows what was stopped by itself
    found: Methods = known.found
    return found


_STREAMED: dict[str, Callable[..., Iterator[Any]]] = {"methods": _side_by_side}
_FOUND: dict[str, Callable[..., Any]] = {
    "pushed": pushed,
    "parts": parts,
    "lambdas": lambdas,
    "patches": patches,
    "own": own_belief,
    "reach": reach,
}
