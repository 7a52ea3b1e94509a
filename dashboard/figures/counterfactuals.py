"""Counterfactuals: smallest text edits that flip a prediction, and the saved counter-examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pandas as pd

from core.error_analysis.counter_examples import CounterExample, ExamplePrediction, build_table
from core.formatting import count, number, plural
from core.text.graphemes import quote_text
from dashboard.figures.drawing import NOTHING, DataTable, TableColumn
from dashboard.figures.figure import Figure
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.interpret.counterfactual import AllowedMoves, Flip, Move, Search


class SearchSession:
    """A user's counterfactual search, which runs in short slices so that it can be watched and stopped."""

    def __init__(self, asked: tuple[object, ...], states: Iterator[Search]) -> None:
        self.asked = asked  # run, weights, text, target and edits of the search
        self.found: Search = next(states)
        self.running, self.stopped = True, False
        self._states = states

    def advance(self, seconds: float) -> None:
        """Continue a counterfactual search for about `seconds`; one step of a large model takes tenths of a second."""
        until = monotonic() + seconds
        while self.running and monotonic() < until:
            found = next(self._states, None)
            self.running = found is not None
            self.found = found or self.found

    def stop(self) -> None:
        """Stop a counterfactual search and keep its results."""
        self.running, self.stopped = False, True

    @property
    def flips(self) -> list[Flip]:
        """Return the smallest edit found so far that flips the prediction, and others of the same size."""
        return [*([self.found.flip] if self.found.flip else ()), *self.found.also]


def write_progress(search: SearchSession) -> str:
    """Describe the progress of a counterfactual search: texts read so far, and the best result."""
    found, best = search.found, "no other answer yet"
    if found.flip:
        best = f"the answer changes after {plural(len(found.flip.moves), 'change')}, still checking"
    return f"{count(found.readings)} of at most {count(found.allowed.readings)} variants checked · {best}"


def write_verdict(search: SearchSession) -> tuple[str, str]:
    """Return a heading and a sentence about the result of a finished counterfactual search."""
    found, flips = search.found, search.flips
    read = f"Variants checked: {count(found.readings)}."
    early = f"The search was stopped. {read}" if search.stopped else read
    if not flips:
        if found.verdict == "none, proven":
            return "No allowed change gives another answer", f"All combinations were checked. {read}"
        return "No other answer was found", f"Not all combinations were checked. {early}"
    many = len(flips[0].moves)
    if found.verdict == "proven" and many == 1:
        return "One change is enough", f"All single changes were checked. {read}"
    if found.verdict == "proven":
        return f"{many} changes are needed", f"All smaller combinations were checked, and all of this size. {read}"
    return f"Fewest found: {plural(many, 'change')}", f"Not all combinations up to this size were checked. {early}"


def describe_moves(allowed: AllowedMoves) -> str:
    """Describe which words a counterfactual search may delete or replace, and how many at most."""
    return (
        f"Changes: of {plural(allowed.words, 'word')} up to {allowed.deletions_at_most} deleted, or up to "
        f"{allowed.replacements_at_most} deleted or replaced; "
        f"{plural(len(allowed.replacements), 'replacement')} in all."
    )


def list_replacements(allowed: AllowedMoves) -> list[str]:
    """Return each word's possible replacements in a counterfactual search, as `word → a, b`."""
    return [
        f"{word} → {', '.join(str(move.instead) for move in moves)}"
        for (_, word), moves in groupby(allowed.replacements, key=lambda move: (move.start, move.word))
    ]


def mark_moves(text: str, moves: Sequence[Move]) -> str:
    """Return a text as HTML with counterfactual edits: deleted words struck through, inserted words underlined."""
    shown, at = [], 0
    for move in moves:
        shown.append(f"{escape(text[at : move.start])}<del>{escape(move.word)}</del>")
        if move.instead is not None:
            shown.append(f" <ins>{escape(move.instead)}</ins>")
        at = move.end
    return f'<p class="s-flip">{"".join(shown)}{escape(text[at:])}</p>'


def write_moves(moves: Sequence[Move]) -> str:
    """Describe counterfactual edits in words: which word is deleted, and which is replaced by what."""
    instead = ("deleted" if move.instead is None else f"replaced by {quote_text(move.instead)}" for move in moves)
    return ", ".join(f"{quote_text(move.word)} {what}" for move, what in zip(moves, instead, strict=True))


def build_flip_table(search: SearchSession) -> pd.DataFrame:
    """Return a row for the original text and for each counterfactual: text, edits, log-odds, probabilities."""
    found = search.found
    states: list[tuple[Search | Flip, str]] = [(found, ""), *((flip, write_moves(flip.moves)) for flip in search.flips)]
    rows = [
        {"text": each.text, "moves": moves, "log_odds": each.log_odds}
        | {f"probability:{name}": value for name, value in each.probabilities.items()}
        for each, moves in states
    ]
    return pd.DataFrame(rows).assign(target=found.target, verdict=found.verdict, readings=found.readings)


COLUMNS = {
    "text": TableColumn("Sentence", width=340),
    "label": TableColumn("Correct label", width=110),
    "note": TableColumn("Note", width=220),
    "author": TableColumn("Author", width=100),
    "time": TableColumn("Saved", width=100),
}
SAYS = 130
DAY = len("2026-01-31")


@dataclass(frozen=True)
class ClassList:
    """Saved counter-examples that the page shows, the newest first, with each run's predictions."""

    rows: Sequence[CounterExample]
    said: Mapping[str, Sequence[ExamplePrediction]]
    run: str
    total: int
    names: Mapping[str, str] = field(default_factory=dict)  # run → its name for people; without an entry: its id

    @property
    def breaking(self) -> tuple[int, int]:
        """Return how many counter-examples a run predicts wrongly, and how many have a label that the run knows."""
        known = [each.breaks for each in self.said.get(self.run, ()) if each.breaks is not None]
        return sum(known), len(known)


def build_examples_table(shown: ClassList) -> pd.DataFrame:
    """Return counter-examples as a table for training, with each run's prediction and probability of the true label."""
    table = build_table(shown.rows)
    for run, said in shown.said.items():
        table[f"{run} says"] = [each.predicted for each in said]
        table[f"{run}, P(label)"] = [each.p_label for each in said]
    return table


def get_page_link(link: str) -> str:
    """Return a counter-example's link, made relative, if it leads to a page of the dashboard, else an empty text."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return ""
    page = parts.path.rstrip("/").rpartition("/")[2]
    if parts.scheme not in ("", "http", "https") or page != "sentence" or not parts.query:
        return ""
    return f"{page}?{parts.query}"


def _write_answer(answer: ExamplePrediction) -> str:
    if answer.breaks is None or answer.p_label is None:
        return f"{NOTHING} {answer.predicted}"
    return f"{'✕' if answer.breaks else '✓'} {answer.predicted}, {number(answer.p_label, 2)}"


def _draw_examples(shown: ClassList, look: Look) -> DataTable:
    rows = [
        {"text": each.text, "label": each.expected}
        | {run: _write_answer(said[at]) for run, said in shown.said.items()}
        | {"note": each.note, "author": each.author, "time": each.time[:DAY]}
        for at, each in enumerate(shown.rows)
    ]
    says = {run: TableColumn(shown.names.get(run, run), width=SAYS) for run in shown.said}
    return DataTable(pd.DataFrame(rows), COLUMNS | says)


def _write_note(shown: ClassList) -> str:
    wrong, known = shown.breaking
    kept = f"{count(shown.total)} saved"
    kept += f", the last {count(len(shown.rows))} shown" * (len(shown.rows) < shown.total)
    name = shown.names.get(shown.run, shown.run)
    return f"{kept} · {name} gets {count(wrong)} of {count(known)} wrong today" if known else kept


COUNTER_EXAMPLES = Figure("counter-examples", "behave", "Sentences that fooled it", None, _draw_examples).add_details(
    note=_write_note,
    reading="Per run: right ✓ or wrong ✕, its answer and P(correct label).",
    how="Sentences that people saved on Sentence, or with `sentiscope counter-examples keep`, with their correct "
    "label. They were chosen because a model fails on them, so they give no error rate and are in no metric. Training "
    "can include them on request, in its training split only.",
    tables=lambda shown: {"Counter-examples": build_examples_table(shown)},
)
