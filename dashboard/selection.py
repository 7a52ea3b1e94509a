"""The selection of sentences that all dashboard pages share, with its current sentence, and functions to set them.

The link contains it, so it survives a reload and can be shared. A callback sets it before the page is drawn, so the bar
and the page show it at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core import error_analysis
from core.error_analysis.selection import PickedRows, SelectedRows, Selection, describe_selection, parse_selection
from core.error_analysis.slices import find_slice
from core.exceptions import InputError, SentiscopeError
from core.formatting import count
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data

if TYPE_CHECKING:
    from core.error_analysis.codebook import Draw
    from core.error_analysis.predictions_table import PredictionTable

TEST = "test"
SENTENCE = "sentence"  # the page that shows one sentence in full


@dataclass(frozen=True, eq=False)
class SelectedTexts:
    """The sentences selected on all dashboard pages, in reading order, as they apply to one run."""

    selection: Selection
    split: str = ""  # split of the rows; empty if the run was not evaluated on it
    table: PredictionTable | None = None
    selected: SelectedRows | None = None
    at: int | None = None  # position of the current sentence in the selection
    problem: str = ""  # why nothing is selected; empty if there is a selection

    def __len__(self) -> int:
        return len(self.places) if self.table is not None else len(self.keys)

    @property
    def places(self) -> np.ndarray:
        """Return (k,) row indices of the selected sentences in the prediction table, in reading order; may be empty."""
        return np.empty(0, np.int64) if self.table is None or self.selected is None else self.selected.places

    @property
    def rows(self) -> np.ndarray:
        """Return a boolean mask, shape (n,), of the selected rows of the prediction table."""
        found = np.zeros(0 if self.table is None else len(self.table), bool)
        found[self.places] = True
        return found

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys (text hashes) of the selected sentences in reading order."""
        if self.selected is None:
            return ()
        if self.table is None:
            return self.selected.group.keys if self.selected.group else ()
        found: np.ndarray = self.table.frame["key"].to_numpy()
        return found[self.places].tolist() if len(found) else ()

    def get_key(self, place: int) -> str:
        """Return the key (text hash) of the sentence at a position of the selection."""
        return self.keys[place] if self.table is None else str(self.table.frame["key"].iloc[self.places[place]])

    def get_text(self, place: int) -> str:
        """Return the text of the sentence at a position of the selection."""
        return self._read_cell(place, "text")

    def get_label(self, place: int) -> str:
        """Return the true label of the sentence at a position of the selection; empty if the label is not known."""
        return self._read_cell(place, "true")

    @property
    def words(self) -> str:
        """Describe in words which sentences are selected, such as the filter rules."""
        if self.selected is None:
            return ", ".join(self.selection.rules)
        return describe_selection(self.selected.clauses, self.selected.group)

    def _read_cell(self, place: int, column: str) -> str:
        if self.table is not None:
            return str(self.table.frame[column].iloc[self.places[place]])
        group = self.selected.group if self.selected else None
        values = () if group is None else group.texts if column == "text" else group.labels
        return values[place] if values else ""


def get_selection(record: RunRecord) -> SelectedTexts | None:
    """Return the shared selection of sentences, applied to a run; None if nothing is selected."""
    text, at = state.get_param(state.SELECT), state.get_param(state.AT)
    if not text:
        return None
    found = _resolve_rows(record, parse_selection(text))
    places = np.flatnonzero(np.asarray(found.keys, object) == at).tolist() if at else []
    return replace(found, at=places[0]) if places else found


def get_split_selection(record: RunRecord, split: str) -> SelectedTexts | None:
    """Return the shared selection if it contains rows of this split of a run, else None."""
    found = get_selection(record)
    return found if found is not None and found.split == split and len(found) else None


def select_rules(record: RunRecord, selection: Selection, *, key: str = "", by: str = "") -> None:
    """Select sentences by filter rules on all pages; only from a widget callback or before a rerun.

    Args:
        record: The run of the rows.
        selection: The selection; without a rule, nothing is selected.
        key: Key of the current sentence.
        by: Key of the clicked figure or table; the marks in others are cleared.
    """
    if (before := state.get_value(state.SELECTOR, "")) not in ("", by):
        state.clear_clicks(before)
    state.set_value(state.SELECTOR, by)
    if selection.split == get_default_split(data.list_splits(record.run)):
        selection = Selection(selection.rules)
    state.set_param(state.SELECT, str(selection) if selection.rules else "")
    state.set_param(state.AT, key)
    state.set_param(state.BACK, str(state.get_value(state.HERE, "")) if selection.rules else "")
    state.clear_clicks(state.EXAMPLES)


def choose_rows(
    record: RunRecord,
    split: str,
    rows: Sequence[int] | np.ndarray,
    about: str,
    *,
    rules: Sequence[str] = (),
    by: str = "",
    by_outcome: bool = False,
) -> None:
    """Select rows of a split on all pages: by filter rules if these match exactly the same rows, otherwise one by one.

    `about` says in words what they were chosen by, `by` as
    of `select_rules`; `by_outcome`: whether right or wrong predictions decided which rows they are.
    """
    places, selection = np.asarray(rows, np.int64), Selection(tuple(rules), split)
    with state.store_refusal(state.SELECTION_PROBLEM):
        keys = data.read_tagged_rows(record, split).table.frame["key"].to_numpy()[places].tolist()
        if rules and len(keys) and _is_exact(record, selection, places):
            select_rules(record, selection, by=by)
        else:
            choose_keys(record, split, keys, about, by=by, by_outcome=by_outcome)


def choose_keys(
    record: RunRecord,
    split: str,
    keys: Sequence[str],
    about: str,
    *,
    at: int | None = None,
    by: str = "",
    by_outcome: bool = False,
) -> None:
    """Select rows of a split one by one, by their keys; no keys clear the selection. Arguments as of `choose_rows`.

    `at` is the place among `keys` of the one that is looked at.
    """
    if not len(keys):
        select_rules(record, Selection(()), by=by)
        return
    with state.store_refusal(state.SELECTION_PROBLEM):
        picked = error_analysis.selection.store_picked(
            data.store(), PickedRows(tuple(keys), about, by_outcome=by_outcome)
        )
        select_rules(record, Selection((picked,), split), key="" if at is None else keys[at], by=by)


def find_draw_split(record: RunRecord, draw: Draw, first: str = "") -> str:
    """Return the split of a run with all rows of a random sample, looked for in `first` first; empty if none has."""
    splits = sorted(data.list_splits(record.run), key=lambda split: split != first)
    return next((each for each in splits if set(data.read_tagged_rows(record, each).keys).issuperset(draw.keys)), "")


def choose_draw(record: RunRecord, split: str, draw: Draw, at: int) -> None:
    """Select a random sample that was drawn for coding, at one of its sentences (widget callback)."""
    about = f"random sample: {count(len(draw.keys))} of {count(len(draw.population))}, {draw.said}"
    choose_keys(record, split, draw.keys, about, at=at, by_outcome=True)


def choose_sentences(
    record: RunRecord,
    texts: Sequence[str],
    labels: Sequence[str],
    about: str,
    *,
    split: str = "",
    at: int | None = None,
    by: str = "",
) -> None:
    """Select sentences on all pages that need not be rows of a split, such as test cases or training texts.

    `labels` are empty where they are not known, `split` is the one of which they are rows, if they are, and if the run
    was evaluated on it; `about`, `at` and `by` as of `choose_rows`.
    """
    with state.store_refusal(state.SELECTION_PROBLEM):
        keys = error_analysis.predictions_table.hash_texts(texts)
        known: set[str] = set()
        if split in data.list_splits(record.run):
            known = set(data.read_tagged_rows(record, split).table.frame["key"])
        apart = not known.issuperset(keys)
        group = PickedRows(tuple(keys), about, tuple(texts) if apart else (), tuple(labels) if apart else ())
        selection = Selection((error_analysis.selection.store_picked(data.store(), group),), "" if apart else split)
        select_rules(record, selection, key="" if at is None else keys[at], by=by)


def choose_slice(record: RunRecord, split: str, name: str, *, more: Sequence[str] = (), by: str = "") -> None:
    """Select the rows of a saved slice in a split, narrowed by the `more` filter rules (widget callback)."""
    with state.store_refusal(state.SELECTION_PROBLEM):
        found = find_slice(data.store(), record, name)
        select_rules(record, Selection((*found.rules, *more), found.split or split), by=by)


def look_at(record: RunRecord, place: int) -> None:
    """Make the sentence at a position of the selection the current one (widget callback)."""
    now = get_selection(record)
    if now is None or not 0 <= place < len(now):
        return
    state.set_param(state.AT, now.get_key(place))
    if state.get_value(state.HERE, "") == SENTENCE:
        state.set_value(state.TEXT, now.get_text(place))


def move_by(record: RunRecord, by: int) -> None:
    """Make the sentence `by` positions further in the selection the current one (widget callback)."""
    if (now := get_selection(record)) is not None:
        look_at(record, 0 if now.at is None else now.at + by)
        state.clear_clicks(state.EXAMPLES)  # the table has another selected row


def clear(record: RunRecord) -> None:
    """Clear the selection of sentences on all pages (widget callback)."""
    state.set_param(state.ORDER, "")
    select_rules(record, Selection(()))


def take_text(record: RunRecord) -> None:
    """Copy the current (else first) selected sentence to the Sentence page's text field, before opening that page.

    The link of that page cannot contain it, since this page may have a widget bound to the same parameter.
    """
    now = get_selection(record)
    if now is not None and len(now):
        place = now.at or 0
        state.set_param(state.AT, now.get_key(place))
        state.set_value(state.TEXT, now.get_text(place))


def look_inside(**values: str) -> None:
    """Open the Sentence page on the sentence set by `take_text`; `values` are widget values of that page."""
    state.open_page(SENTENCE, **values)


def get_default_split(splits: Sequence[str]) -> str:
    """Return the name of the split that pages show by default: test, else the last one; empty if there is none."""
    return TEST if TEST in splits else next(reversed(splits), "")


def _is_exact(record: RunRecord, selection: Selection, places: np.ndarray) -> bool:
    try:
        found = data.select_rows(record, selection, selection.split, state.get_author()).places
    except InputError:
        return False
    return np.array_equal(np.sort(found), np.sort(places))


def _resolve_rows(record: RunRecord, selection: Selection) -> SelectedTexts:
    try:
        group = data.read_picked(selection.digest) if selection.digest else None
        if group is not None and group.texts:
            return SelectedTexts(selection, selected=SelectedRows((), np.empty(0, np.int64), group))
        split = selection.split or get_default_split(data.list_splits(record.run))
        table = data.read_tagged_rows(record, split).table
        found = data.select_rows(record, selection, split, state.get_author())
        places = error_analysis.selection.sort_rows(table, found.places, state.get_param(state.ORDER))
        return SelectedTexts(selection, split, table, replace(found, places=places))
    except SentiscopeError as error:
        return SelectedTexts(selection, problem=str(error).removeprefix("--where "))
