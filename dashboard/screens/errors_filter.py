"""The filter of Errors, and how whatever is picked on the page becomes a word of it."""

from __future__ import annotations

from collections.abc import Sequence

from core.exceptions import InputError
from core.failures.facets import looked_up, understood
from core.failures.rules import Clause, read
from core.failures.selection import Selection
from dashboard import selection, state
from dashboard.figures.analysis import Analysis
from dashboard.figures.filtering import ASKED, FURTHER, SPLIT, TEXT, changed, searched, sentence, word_of
from dashboard.widgets.figure import place
from dashboard.widgets.style import look


def filter_bar(shown: Analysis, splits: Sequence[str]) -> None:
    """The selection as a sentence whose words can be changed."""
    key = state.figure_key("filter")
    drawn = state.confirmed(key)
    place(sentence(shown, look(), splits), "filter", "", on_changes_change=lambda: _chosen(key, shown, drawn))


def pick(shown: Analysis, figure: str, before: str) -> None:
    """A row of a table was picked, or no longer: it becomes a word of the filter; a callback.

    Args:
        shown: what is selected now.
        figure: the name of the table.
        before: the row that was picked until now.
    """
    rule = state.picked(figure)
    word = word_of(shown.facets, rule or before)
    select(shown, changed(shown.clauses, shown.facets, word, rule or (before if word == FURTHER else "")))


def select(shown: Analysis, rules: Sequence[str]) -> None:
    """Make these the selection of all pages; a callback."""
    table = shown.table
    selection.choose(table.record, Selection(tuple(rules), table.split))


def _chosen(key: str, shown: Analysis, drawn: int) -> None:
    """Apply the words that were changed since the page was drawn, one after the other; a callback."""
    before = clauses, split = shown.clauses, shown.table.split
    for change in state.receive_changes(key, drawn):
        word, value = (str(change.get(name, "")).strip() for name in ("word", "value"))
        if word == SPLIT:
            split = value
        elif word in (TEXT, ASKED):
            clauses = read(_searched(shown, clauses, word, value), shown.table)
        elif word:
            clauses = read(changed(clauses, shown.facets, word, value), shown.table)
    if (clauses, split) != before:
        selection.choose(shown.table.record, Selection(tuple(map(str, clauses)), split))


def _searched(shown: Analysis, clauses: Sequence[Clause], word: str, typed: str) -> list[str]:
    """Return the clauses with what was typed into the search, or where ids are asked for; empty: without it."""
    asked = shown.known.bare.asked
    if not typed:
        return changed(clauses, shown.facets, word, "", asked)
    find = looked_up if word == ASKED else understood
    try:
        return searched(clauses, shown.facets, find(shown.table, asked, typed), asked)
    except InputError as error:
        state.put(state.SELECTION_PROBLEM, str(error).removeprefix("--where "))
        return list(map(str, clauses))
