"""The list of selected sentences on Errors, the open sentence and its codes, as parts that rerun without the page."""

from typing import Any

import streamlit as st

from core.error_analysis.selection import Selection, parse_selection
from core.exceptions import RunDamaged, SentiscopeError, StorageError
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.error_list import ERRORS, Coding, Detail, SentenceList, find_other_rules
from dashboard.figures.row_selection import RowSelection
from dashboard.screens import errors_codes
from dashboard.screens.errors_statistics import select_rules
from dashboard.widgets import selection_bar
from dashboard.widgets.figure import show_caption, show_drawing
from dashboard.widgets.messages import show_problem, show_refusal
from dashboard.widgets.style import get_look, get_row_height

READER, CODES = "reader", "codes-part"
"""The parts that are redrawn."""


def show_reader(shown: RowSelection) -> None:
    """Show the list of selected sentences and the open sentence with details, as a part that reruns alone."""
    state.get_param(state.AT)  # read once: while keys are pressed, the link is older than the session state
    st.fragment(_show_texts, key=READER)(shown)


def show_other_texts(shown: RowSelection) -> None:
    """Show the table of selected sentences that are not in the split's predictions, such as training texts."""
    group, record = shown.selected.group, shown.table.record
    if not group or not group.texts:
        return
    key = f"elsewhere-{group.digest}"

    def look_at() -> None:
        if rows := state.get_clicked_rows(key):
            selection.look_at(record, rows[0])

    labels = {"Label": group.labels} if any(group.labels) else {}
    look: dict[str, Any] = {"hide_index": True, "row_height": get_row_height(), "selection_mode": "single-row"}
    look |= {"key": key, "on_select": look_at, "alt": f"Selected: {group.about}"}
    st.dataframe({"Sentence": group.texts, **labels}, **look)


def show_codes_part(shown: RowSelection) -> None:
    """Show the annotation codes of the selected sentences, as a part of the page that reruns alone."""
    st.fragment(_show_codes, key=CODES)(shown)


def _show_codes(shown: RowSelection) -> None:
    _rerun_on_change()
    show_refusal(state.CODES_REFUSED, "This change was not stored")
    record = shown.table.record
    try:
        errors_codes.show_codes(shown, data.read_annotations(record, state.get_author()), data.read_annotations(record))
    except StorageError:
        show_caption("Codes cannot be read. The sentence list shows why.")


def _rerun_on_change() -> None:
    """Rerun the whole page if a change in the sentence list or the code panel affects its other parts."""
    if state.get_value(state.REDRAW, False):
        state.drop_keys(state.REDRAW)
        state.set_value(state.CHANGED, int(state.get_value(state.CHANGED, 0)) + 1)
        st.rerun()


def _show_texts(shown: RowSelection) -> None:
    _rerun_on_change()
    key, record = state.get_widget_key(f"fig-{ERRORS.name}"), shown.table.record
    rest = state.get_value(key, {}).get("rest") or {}
    known, without = _read_details(shown, [str(each) for each in rest.get("want", [])])
    around = None if rest.get("around") is None else int(rest["around"])
    said = _read_annotations(record)
    at, again = str(state.get_value(state.AT, "")), int(state.get_value(state.AGAIN, 0))
    reading = SentenceList(shown, at, known, without, said, again, undone=errors_codes.get_last_undo(), around=around)
    note = ERRORS.resolve_text(ERRORS.note, reading)
    show_refusal(state.NOT_WRITTEN, "This change was not stored")
    show_drawing(
        ERRORS.draw(reading, get_look()),
        ERRORS.name,
        ERRORS.write_alt_text(reading, note, ""),
        on_rest_change=lambda: _carry_place(key),
        on_open_change=lambda: None,
        on_coded_change=lambda: _store_reports(key, shown),
        on_undo_change=lambda: _store_reports(key, shown),
        on_again_change=lambda: _store_reports(key, shown),
        on_named_change=lambda: errors_codes.set_author(key),
        on_added_change=lambda: _add_code(key, shown),
        on_order_change=lambda: _change_order(key),
        on_nearly_change=lambda: _select_nearly_wrong(shown),
    )
    if opened := state.get_value(key, {}).get("open"):
        _open_row(shown, str(opened))


def _read_annotations(record: RunRecord) -> Coding | None:
    """Return the annotations that the current user may see; if they cannot be read, show the error and return None."""
    try:
        if errors_codes.move_annotations(data.open_codebook(record), data.read_annotations(record)):
            state.set_value(state.REDRAW, True)
            _rerun_on_change()  # another author sees other codes
        coded = data.read_annotations(record, state.get_author())
    except SentiscopeError as error:
        show_problem("Codes cannot be read", f"{error}. The list shows the sentences without codes.")
        return None
    changed, done = int(state.get_value(state.CHANGED, 0)), str(state.get_value(state.SAID_OF_CODES, ""))
    unnamed = state.get_value(state.AUTHOR, None) == ""
    reports = errors_codes.get_last_report(), changed, state.get_secret(), state.get_session()
    return Coding(coded, state.get_author(), *reports, unnamed=unnamed, done=done)


def _read_details(shown: RowSelection, wanted: list[str]) -> tuple[dict[str, Detail], str]:
    """Return details of the requested rows, and why word attributions cannot be computed (empty if they can)."""
    without = "" if data.hash_weights(shown.table.record.run) else "This run has no weights, so no word has an effect."
    try:
        return (data.read_details(shown, wanted) if wanted else {}), without
    except RunDamaged as error:
        return {}, f"No word has an effect: {error}"


def _carry_place(key: str) -> None:
    """Store which sentence of the list the user has opened, or send the browser more sentences (widget callback).

    A report sent before the reader knew of an undo does not move away from the row of the undone change.
    """
    rest = state.get_value(key, {}).get("rest") or {}
    if (at := rest.get("at")) and int(rest.get("undone") or 0) >= errors_codes.get_last_undo():
        state.set_param(state.AT, str(at))
    _rerun_parts()


def _change_order(key: str) -> None:
    state.set_param(state.ORDER, str((state.get_value(key, {}).get("order") or {}).get("name") or ""))
    state.set_param(state.AT, "")
    state.set_value(state.REDRAW, True)


def _select_nearly_wrong(shown: RowSelection) -> None:
    """Remove the filter rule `wrong`, which matches no sentence, and sort sentences by margin (widget callback)."""
    state.set_param(state.ORDER, "margin")
    select_rules(shown, [*find_other_rules(shown)])
    state.set_value(state.REDRAW, True)


def _store_reports(key: str, shown: RowSelection) -> None:
    errors_codes.store_reports(key, shown)
    _rerun_parts()


def _add_code(key: str, shown: RowSelection) -> None:
    errors_codes.add_code(key, shown)
    _rerun_parts()


def _rerun_parts() -> None:
    """Rerun only the sentence list, the code panel and the part of the selection bar with the current sentence.

    All callbacks end this way: if one of them does not, the whole page is redrawn, and keys pressed meanwhile are lost.
    """
    st.rerun([READER, CODES, *([selection_bar.NOW] if state.get_value(state.FOLLOWS, False) else [])])


def _open_row(shown: RowSelection, key: str) -> None:
    """Open a sentence of the list on the Sentence page, with the other sentences of the list still selected."""
    frame, table = shown.table.frame, shown.table
    if len(texts := frame["text"][frame["key"] == key]):
        selection.select_rules(table.record, Selection(parse_selection(shown.select).rules, table.split), key=key)
        state.open_page(selection.SENTENCE, **{state.TEXT: str(texts.iloc[0])})
