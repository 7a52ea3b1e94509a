"""The smallest change of a text that changes its answer: the search as it goes on, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from time import monotonic
from typing import TYPE_CHECKING

from core.text.direction import quoted
from dashboard.figures.numbers import count

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.flip import Allowed, Flip, Move, Search


class Searching:
    """A search of one visitor, which goes on a slice at a time, so that it can be watched and stopped."""

    def __init__(self, asked: tuple[object, ...], states: Iterator[Search]) -> None:
        self.asked = asked
        """Run, weights, text, target and edits: what it was begun for."""
        self.found: Search = next(states)
        self.running, self.stopped = True, False
        self._states = states

    def advance(self, seconds: float) -> None:
        """Go on for about so long; a step takes a few tenths of a second on a large model."""
        until = monotonic() + seconds
        while self.running and monotonic() < until:
            found = next(self._states, None)
            self.running = found is not None
            self.found = found or self.found

    def stop(self) -> None:
        """What was found stays."""
        self.running, self.stopped = False, True

    @property
    def flips(self) -> list[Flip]:
        """The smallest so far, and others of its size."""
        return [*([self.found.flip] if self.found.flip else ()), *self.found.also]


def progress_line(search: Searching) -> str:
    """How far it is."""
    found = search.found
    best = "no other answer yet"
    if found.flip:
        best = f"another answer after {_many(len(found.flip.moves), 'move')}, proof under way"
    return f"{count(found.readings)} of at most {count(found.allowed.readings)} texts read · {best}"


def verdict(search: Searching) -> tuple[str, str]:
    """What the end of a search says: a heading and a sentence."""
    found, flips = search.found, search.flips
    read = f"Texts read: {count(found.readings)}."
    early = f"The search was stopped. {read}" if search.stopped else read
    if not flips:
        if found.verdict == "none, proven":
            return "Nothing within these moves changes the answer", f"Proven: every set of them was read. {read}"
        return "No other answer was found", f"Not every set of moves was read. {early}"
    many = len(flips[0].moves)
    if found.verdict == "proven":
        proof = "Every single move was read."
        if many > 1:
            proof = "Every smaller set of moves was read, and every one of this size."
        return f"Proven the smallest within these moves: {_many(many, 'move')}", f"{proof} {read}"
    return f"Smallest found: {_many(many, 'move')}", f"Not every set of this size or below was read. {early}"


def allowed_line(allowed: Allowed) -> str:
    """The set of moves."""
    return (
        f"Moves: of {_many(allowed.words, 'word')} up to {allowed.deletions_at_most} deleted, or up to "
        f"{allowed.replacements_at_most} deleted or replaced; {_many(len(allowed.replacements), 'replacement')} in all."
    )


def replacement_lines(allowed: Allowed) -> list[str]:
    """Each word with what may stand in its place."""
    return [
        f"{word} → {', '.join(str(move.instead) for move in moves)}"
        for (_, word), moves in groupby(allowed.replacements, key=lambda move: (move.start, move.word))
    ]


def marked(text: str, moves: Sequence[Move]) -> str:
    """The text as markup: deleted words struck, new ones underlined behind those that they replace."""
    shown, at = [], 0
    for move in moves:
        shown.append(f"{escape(text[at : move.start])}<del>{escape(move.word)}</del>")
        if move.instead is not None:
            shown.append(f" <ins>{escape(move.instead)}</ins>")
        at = move.end
    return f'<p class="s-flip">{"".join(shown)}{escape(text[at:])}</p>'


def moves_line(moves: Sequence[Move]) -> str:
    """The moves in words."""
    said = [
        f"{quoted(move.word)} deleted"
        if move.instead is None
        else f"{quoted(move.word)} replaced by {quoted(move.instead)}"
        for move in moves
    ]
    return ", ".join(said)


def flip_table(search: Searching) -> pd.DataFrame:
    """One row for the text and for each flip."""
    import pandas as pd

    found = search.found
    rows = [{"text": found.text, "moves": "", "log_odds": found.log_odds, **_named(found.probabilities)}]
    rows += [
        {"text": flip.text, "moves": moves_line(flip.moves), "log_odds": flip.log_odds, **_named(flip.probabilities)}
        for flip in search.flips
    ]
    return pd.DataFrame(rows).assign(target=found.target, verdict=found.verdict, readings=found.readings)


def _named(probabilities: dict[str, float]) -> dict[str, float]:
    return {f"probability:{name}": value for name, value in probabilities.items()}


def _many(number: int, what: str) -> str:
    return f"{count(number)} {what}{'' if number == 1 else 's'}"
