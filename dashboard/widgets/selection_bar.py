"""A bar that shows the selected sentences on every page, and a table of the sentences."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.error_analysis.selection import has_fixed_outcome, parse_selection
from core.error_analysis.slices import FEW, LONGEST, Slice, compare_with_rest, save_slice
from core.evaluation.intervals import compute_wilson
from core.fingerprint import hash_value
from core.formatting import count
from core.runs.record import RunRecord
from core.text.graphemes import clip_text
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.drawing import read_asset
from dashboard.screens import PAGES
from dashboard.selection import SENTENCE, SelectedTexts
from dashboard.widgets.figure import show_caption, show_table
from dashboard.widgets.messages import escape_label, show_notice, show_refusal, show_selection
from dashboard.widgets.style import add_style, get_row_height

SHOWN = 8
ROOM = 440  # height of the bar with its sentences in pixels
MOST = 500  # most rows sent to the browser
LEADS = (("errors", "Errors"), ("embeddings", "Map"), (SENTENCE, "Sentence"))
"""Page that shows a selection → label of its button."""
NOW = "selected-now"  # the part of the bar with the current sentence

_focus_bar = st.components.v2.component("sentiscope_focus_bar", html="<div></div>", js=read_asset("focus_bar.js"))
_in_sight = st.components.v2.component("sentiscope_in_sight", html="<div></div>", js=read_asset("in_sight.js"))


def show_selection_bar(record: RunRecord) -> None:
    """Show the bar with the selected sentences and what can be done with them; without any, the saved slices."""
    show_refusal(state.SELECTION_PROBLEM, "Nothing was selected")
    # Both are always there, so that the page below stays as it is drawn when something is selected.
    place, focus = st.empty(), st.empty()
    now = selection.get_selection(record)
    state.set_value(state.FOLLOWS, now is not None and len(now) > 0)
    with focus:
        _move_focus(now)
    here = str(state.get_value(state.HERE, ""))
    kept = data.list_slices(record) if data.list_splits(record.run) else []
    if now is None and (not PAGES[here].of_run or not kept):
        return
    add_style("selected.css")
    with place.container(key="selected", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        if now is None:
            st.html('<div class="s-now"><span>Nothing is selected</span></div>', width="stretch")
            _show_slices(record, kept, now)
            return
        if not len(now):
            st.html(_format_current(record, now), width="stretch")
        else:
            st.fragment(_show_current, key=NOW)(record, [now])
            for page, word in LEADS:
                if page != here:
                    _show_page_link(record, now, page, word)
            back = state.get_param(state.BACK)
            if here == SENTENCE and back in PAGES and back != here:
                if st.button(f"Back to {PAGES[back].title}", type="tertiary", key="selected-back"):
                    state.open_page(back)
            _offer_save(record, now)
        if kept:
            _show_slices(record, kept, now)
        clear = partial(selection.clear, record)
        st.button("Clear", "selected-clear", "Select nothing", clear, icon=":material/close:", type="tertiary")


def _move_focus(now: SelectedTexts | None) -> None:
    """Move the keyboard focus to the bar after a button, such as *Show the errors*, has changed the selection."""
    what, (before, changes) = str(now.selection) if now else "", state.get_value(state.SELECTED, (None, 0))
    if what and before is not None and what != before and not state.get_value(state.SELECTOR, ""):
        changes += 1
    state.set_value(state.SELECTED, (what, changes))
    if what:
        _focus_bar(key="focus-bar", data={"count": changes})


def _show_current(record: RunRecord, known: list[SelectedTexts]) -> None:
    now = known.pop() if known else selection.get_selection(record)  # known as the page is drawn, not when this reruns
    if now is None:
        return
    with st.container(key=NOW, horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        st.html(_format_current(record, now), width="stretch")
        for icon, name, by, able in (
            ("left", "Previous", -1, now.at is not None and now.at > 0),
            ("right", "Next", 1, now.at is None or now.at + 1 < len(now)),
        ):
            key, act, icon = f"selected-{name}", partial(_move_by, record, by), f":material/chevron_{icon}:"
            st.button(name, key, on_click=act, icon=icon, type="tertiary", disabled=not able)
            if by < 0:
                at = "–" if now.at is None else count(now.at + 1)
                st.html(f'<span class="s-at">{at}<i> / {count(len(now))}</i></span>', width="content")


def _format_current(record: RunRecord, now: SelectedTexts) -> str:
    if now.problem:
        return f'<div class="s-now" role="status"><b>Nothing is selected</b> <span>{escape(now.problem)}</span></div>'
    of = "" if now.table is None else f" of {count(len(now.table))}"
    many = count(len(now)) if len(now) else "None"
    what = f"<b>{many}{of}</b> <span>{escape(now.words)}</span>{_format_accuracy(now)}"
    seen = data.read_visible_codes(record, state.get_author())
    if seen.given:
        what += f" <span>· {count(sum(key in seen.given for key in now.keys))} coded</span>"
    if now.at is not None:
        text = now.get_text(now.at)
        what += f' <q data-text title="{escape(text)}">{escape(clip_text(text, 200))}</q>'
    return f'<div class="s-now" role="status">{what}</div>'


def _format_accuracy(now: SelectedTexts) -> str:
    """Format the accuracy of selected and of other rows as HTML; empty if rows were selected by right or wrong."""
    if now.table is None or now.selected is None or has_fixed_outcome(now.selected, now.table):
        return ""
    found = compare_with_rest(now.table.wrong, now.places)
    if found["difference"] is None:
        return ""
    low, high = (100 * (1 - end) for end in reversed(compute_wilson(now.table.wrong[now.places].sum(), len(now))))
    few = f"; fewer than {FEW} say little" if len(now) < FEW else ""
    share = 100 * (1 - found["others"] - found["difference"])
    title = f"95 %: {low:.0f} to {high:.0f} %{few}"
    return f' <span title="{title}">· {share:.0f} % right, the others {100 * (1 - found["others"]):.0f} %</span>'


def _move_by(record: RunRecord, by: int) -> None:
    selection.move_by(record, by)
    st.rerun()


def _show_page_link(record: RunRecord, now: SelectedTexts, page: str, word: str) -> None:
    if page != SENTENCE and not now.split:
        return
    taking = partial(selection.take_text, record) if page == SENTENCE else None
    if st.button(word, type="tertiary", key=f"selected-to-{page}", help=f"Open on {word}", on_click=taking):
        if page == SENTENCE:
            selection.look_inside()
        else:
            state.set_value(state.SPLIT, now.split)
            state.open_page(page)


def _show_slices(record: RunRecord, kept: list[Slice], now: SelectedTexts | None) -> None:
    key = f"selected-slice-{hash_value([str(now.selection) if now else '', *(each.name for each in kept)])[:12]}"
    rules = [parse_selection(each.select).rules for each in kept]
    at = rules.index(now.selection.rules) if now and now.selection.rules in rules else None
    about = [each.group.about if each.group else ", ".join(own) for each, own in zip(kept, rules, strict=True)]
    look: dict[str, Any] = {"captions": [*map(escape_label, about)], "on_change": _take_slice, "args": (record, key)}
    with st.popover("Slices", type="tertiary", key="selected-slices", help="Select a saved slice"):
        st.radio("Saved slices", [each.name for each in kept], at, escape_label, key, **look)


def _take_slice(record: RunRecord, key: str) -> None:
    split = str(state.get_value(state.SPLIT, ""))
    if name := state.get_value(key, None):
        selection.choose_slice(record, split if split in data.list_splits(record.run) else "", str(name))


def _offer_save(record: RunRecord, now: SelectedTexts) -> None:
    if not now.split:
        return
    usual = clip_text(now.words, LONGEST, "…")
    with st.popover("Save as slice", type="tertiary", key="selected-save"):
        about = "An empty name becomes the words of the selection"
        st.text_input("Name", key=state.SLICE_NAME, max_chars=LONGEST, placeholder=usual, help=about)
        st.button("Save", type="primary", key="selected-keep", on_click=_save_slice, args=(record, now, usual))
        show_notice(state.SLICE_SAID)


def _save_slice(record: RunRecord, now: SelectedTexts, usual: str) -> None:
    name = str(state.get_value(state.SLICE_NAME, "")).strip() or usual
    with state.store_refusal(state.SLICE_SAID, "Not saved: {}."):
        made = save_slice(data.store(), record, name, now.selection)
        state.set_value(state.SLICE_SAID, f"Saved as “{made.name}” for all runs on these data. Performance lists it.")


def show_selected(record: RunRecord, now: SelectedTexts, clicked: Sequence[str]) -> None:
    """Show the table of selected sentences, and scroll to it if a figure or table of `clicked` made the selection."""
    if state.get_value(state.SELECTOR, "") in clicked:
        show_in_sight(str(now.selection))
    with st.container(key="selection"):
        show_selection(f"{count(len(now))} of {count(len(now.rows))} sentences", now.words)
    _show_table(record, now)


def show_in_sight(what: str) -> None:
    """Move the window to this place of the page when `what` changes, such as the clicked row that is shown here."""
    _in_sight(key="in-sight", data={"what": what, "room": ROOM})


def mark_cell(key: str, cell: tuple[int, int] | None, size: int) -> None:
    """Draw a frame by CSS around the selected cell of a matrix figure with `size` rows, so that a reload keeps it.

    A redrawn chart would lose its selection, so the page marks the cell outside of the chart.
    """
    if cell is not None:
        one = f".st-key-{state.get_widget_key(key)} .barlayer .point:nth-child({cell[0] * size + cell[1] + 1}) path"
        st.html(f"<style>{one} {{ stroke: var(--accent) !important; stroke-width: 4px !important; }}</style>")


def _show_table(record: RunRecord, now: SelectedTexts) -> None:
    assert now.table is not None
    rows = now.table.frame.iloc[now.places[:MOST]]
    columns: dict[str, Any] = {"text": ("Sentence", 280)}
    others = {"true": ("Label", 90), "predicted": ("Predicted", 90)}
    columns |= {name: each for name, each in others.items() if rows[name].nunique() > 1}  # one value: in the heading
    columns["p_predicted"] = st.column_config.NumberColumn("P(predicted)", format="%.3f", width=96)
    alt, look_at = f"Selected sentences: {now.words}", partial(selection.look_at, record)
    show_sentences(rows, alt, columns, str(now.selection), now.at, look_at)
    if len(now) > MOST:
        show_caption(f"The first {count(MOST)} of {count(len(now))}; the exported tables have all.")
    if now.at is not None and show_inside_button(record):
        selection.look_inside()


def show_sentences(
    rows: Any,
    alt: str,
    columns: dict[str, Any],
    of: Any,
    at: int | None,
    look_at: Callable[[int], None],
    *,
    most: int = SHOWN,
) -> None:
    """Show a table of sentences with row `at` marked, if it is there; a click on a row calls `look_at` with its number.

    `columns`: as of `show_table`, and no others are shown; `of`: what the rows are, of which others clear the click.
    """
    key = f"{state.get_widget_key(state.EXAMPLES)}-{hash_value(of)[:12]}"
    marked = {"selection": {"rows": [at], "columns": [], "cells": []}}

    def choose_row() -> None:
        if found := state.get_clicked_rows(key):
            look_at(found[0])

    look: dict[str, Any] = {"height": min(len(rows) + 1, most) * get_row_height() + 2, "column_order": list(columns)}
    look["selection_default"] = marked if at is not None and at < len(rows) else None
    show_table(rows, alt, columns, key=key, on_select=choose_row, selection_mode="single-row", **look)


def show_inside_button(record: RunRecord, words: str = "Look inside this sentence") -> bool:
    """Show the button that opens the current sentence on the Sentence page; return whether it was pressed."""
    return st.button(words, icon=":material/notes:", key="open-sentence", on_click=selection.take_text, args=(record,))
