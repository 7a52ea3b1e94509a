"""The filter of Errors, and how whatever is picked on the page becomes a word of it."""

from __future__ import annotations

from collections.abc import Sequence

from core.failures.selection import Selection
from dashboard import selection, state
from dashboard.figures.analysis import Analysis
from dashboard.figures.filtering import SPLIT, changed, sentence, word_of
from dashboard.widgets.figure import place
from dashboard.widgets.style import look


def filter_bar(shown: Analysis, splits: Sequence[str]) -> None:
    """The selection as a sentence whose words can be changed."""
    key = state.current("fig-filter")
    place(sentence(shown, look(), splits), "filter", "", on_chosen_change=lambda: _chosen(key, shown))


def pick(shown: Analysis, figure: str, before: str) -> None:
    """A row of a table was picked, or no longer: it becomes a word of the filter; a callback.

    Args:
        shown: what is selected now.
        figure: the name of the table.
        before: the row that was picked until now.
    """
    rule = state.picked(figure)
    value = rule.removeprefix("text~") if rule else ""
    select(shown, changed(shown.clauses, shown.facets, word_of(shown.facets, rule or before), value))


def select(shown: Analysis, rules: Sequence[str]) -> None:
    """Make these the selection of all pages; a callback."""
    table = shown.table
    selection.choose(table.record, Selection(tuple(rules), table.split))


def _chosen(key: str, shown: Analysis) -> None:
    """A word was changed: a callback, before anything is drawn."""
    said = state.draft(key, {}).get("chosen") or {}
    word, value = (str(said.get(name, "")) for name in ("word", "value"))
    if word == SPLIT:
        selection.choose(shown.table.record, Selection(tuple(map(str, shown.clauses)), value))
    elif word:
        select(shown, changed(shown.clauses, shown.facets, word, value))
