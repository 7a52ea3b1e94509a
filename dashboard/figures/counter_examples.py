"""A class's counter-examples with what runs say of them today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.failures.counter_examples import Answer, CounterExample, example_table
from dashboard.figures.drawing import NOTHING, Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count, number
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "text": Column("Sentence", width=340),
    "label": Column("Ought to be", width=100),
    "note": Column("Note", width=220),
    "author": Column("By", width=100),
    "time": Column("Kept", width=100),
}
SAYS = 130
"""Pixels of what a run says."""
DAY = len("2026-01-31")


@dataclass(frozen=True)
class ClassList:
    """The list, the last first, as far as it is shown."""

    rows: Sequence[CounterExample]
    said: Mapping[str, Sequence[Answer]]
    """By run; those that cannot be asked are not there."""
    run: str
    """The chosen one."""
    total: int
    """How many are kept."""

    @property
    def breaking(self) -> tuple[int, int]:
        """At how many the chosen run is wrong today, and how many have a class of its own."""
        known = [each.breaks for each in self.said.get(self.run, ()) if each.breaks is not None]
        return sum(known), len(known)


def examples_table(shown: ClassList) -> pd.DataFrame:
    """The list as it can be trained on, and of each run what it `says` and its probability of the label."""
    table = example_table(shown.rows)
    for run, said in shown.said.items():
        table[f"{run} says"] = [each.said for each in said]
        table[f"{run}, P(label)"] = [each.p_label for each in said]
    return table


def inner_link(link: str) -> str:
    """A link of a counter-example, if it leads to a page of the dashboard; else empty: a link is what somebody typed.

    It is given relative to the pages, whatever machine it was kept on.
    """
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return ""
    page = parts.path.rstrip("/").rpartition("/")[2]
    if parts.scheme not in ("", "http", "https") or page != "sentence" or not parts.query:
        return ""
    return f"{page}?{parts.query}"


def _told(answer: Answer) -> str:
    if answer.breaks is None or answer.p_label is None:
        return f"{NOTHING} {answer.said}"
    return f"{'✕' if answer.breaks else '✓'} {answer.said}, {number(answer.p_label, 2)}"


def _draw(shown: ClassList, look: Look) -> Table:
    import pandas as pd

    rows = pd.DataFrame(
        [
            {
                "text": each.text,
                "label": each.ought,
                **{run: _told(said[at]) for run, said in shown.said.items()},
                "note": each.note,
                "author": each.author,
                "time": each.time[:DAY],
            }
            for at, each in enumerate(shown.rows)
        ]
    )
    return Table(rows, COLUMNS | dict.fromkeys(shown.said, Column(width=SAYS)))


def _note(shown: ClassList) -> str:
    wrong, known = shown.breaking
    kept = f"{count(shown.total)} kept" + (f", the last {count(len(shown.rows))}" * (len(shown.rows) < shown.total))
    return f"{kept} · {shown.run} is wrong on {count(wrong)} of {count(known)} today" if known else kept


COUNTER_EXAMPLES: Figure[ClassList] = Figure(
    "counter-examples",
    "behave",
    "Counter-examples of the class",
    None,
    _draw,
    note=_note,
    reading="Under each run: right ✓ or wrong ✕ today, what it says, and its probability of what the sentence ought to "
    "be. Choose a row to look at it.",
    how="Sentences that somebody kept on Sentence, or by `sentiscope counter-examples keep`, with the label that they "
    "ought to have. They were chosen because a model fails, so no rate of errors can be read from them, and no metric "
    "has them; a training takes them along when it is asked to, into its training split alone.",
    tables=lambda shown: {"Counter-examples": examples_table(shown)},
)
