"""The filter of Errors, and how whatever is picked on the page becomes a word of it."""

from __future__ import annotations

from collections.abc import Sequence

from core.exceptions import InputError
from core.failures.facets import looked_up, understood
from core.failures.selection import Selection
from dashboard import selection, state
from dashboard.figures.analysis import Analysis
from dashboard.figures.filtering import ASKED, FURTHER, SPLIT, TEXT, changed, searched, sentence, word_of
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
    word = word_of(shown.facets, rule or before)
    select(shown, changed(shown.clauses, shown.facets, word, rule or (before if word == FURTHER else "")))


def select(shown: Analysis, rules: Sequence[str]) -> None:
    """Make these the selection of all pages; a callback."""
    table = shown.table
    selection.choose(table.record, Selection(tuple(rules), table.split))


def _chosen(key: str, shown: Analysis) -> None:
    """A word was changed: a callback, before anything is drawn."""
    said = state.draft(key, {}).get("chosen") or {}
    word, value = (str(said.get(name, "")).strip() for name in ("word", "value"))
    if word == SPLIT:
        selection.choose(shown.table.record, Selection(tuple(map(str, shown.clauses)), value))
    elif word in (TEXT, ASKED):
        _search(shown, word, value)
    elif word:
        select(shown, changed(shown.clauses, shown.facets, word, value))


def _search(shown: Analysis, word: str, typed: str) -> None:
    """Something was typed into the search, or where ids are asked for; empty: nothing is searched any more."""
    clauses, facets, asked = shown.clauses, shown.facets, shown.known.bare.asked
    if not typed:
        select(shown, changed(clauses, facets, word, "", asked))
        return
    find = looked_up if word == ASKED else understood
    try:
        clause = find(shown.table, asked, typed)
    except InputError as error:
        state.put(state.SELECTION_PROBLEM, str(error).removeprefix("--where "))
        return
    select(shown, searched(clauses, facets, clause, asked))
