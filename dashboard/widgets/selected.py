"""What is selected: the slim bar on every page, and the sentences as a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from core.evaluation.intervals import wilson
from core.exceptions import SentiscopeError
from core.failures.selection import fixes_outcome, parse
from core.failures.slice_metrics import FEW, against_others
from core.failures.slices import LONGEST, Slice, save_slice
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs.record import RunRecord
from core.text.clusters import clipped
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.drawing import asset
from dashboard.selection import SENTENCE, Chosen
from dashboard.widgets.messages import problem, selection_note
from dashboard.widgets.style import add_style, row_height
from dashboard.widgets.tokens import literal

SHOWN = 8
ROOM = 440
"""Pixels that a selection and its sentences take on a screen."""
MOST = 500
"""Rows that are sent to a browser."""
LEADS = (("errors", "Errors"), ("embeddings", "Map"), (SENTENCE, "Sentence"))
"""Pages that show a selection, with the words of their buttons."""
OF_A_RUN = ("data", "performance", "errors", "compare", "behave", "embeddings", SENTENCE, "steps", "lambdas")
"""Pages that show a run or its data, where a slice can be picked while nothing is selected."""


NOW = "selected-now"
"""The part of the bar that says which sentence is looked at."""


_in_sight = st.components.v2.component("sentiscope_in_sight", html="<div></div>", js=asset("in_sight.js"))


def in_sight(what: str) -> None:
    """Bring what stands below into the window whenever `what`, the selection, has changed."""
    _in_sight(key="in-sight", data={"what": what, "room": ROOM})


def selection_bar(record: RunRecord, pages: dict[str, str]) -> None:
    """What is selected and how it goes on; where nothing is, the saved slices, if there are some.

    Args:
        record: the chosen run.
        pages: title of each page by its file without ending.
    """
    if why := state.take(state.SELECTION_PROBLEM):
        problem("Nothing was selected", str(why))
    now = selection.chosen(record)
    state.put(state.FOLLOWS, now is not None and len(now) > 0)
    here, kept = str(state.draft(state.HERE, "")), _kept_slices(record)
    if now is None and (here not in OF_A_RUN or not kept):
        return
    add_style("selected.css")
    with st.container(key="selected", horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        if now is None:
            st.html('<div class="s-now"><span>Nothing is selected</span></div>', width="stretch")
            _slices(record, kept, now)
            return
        if not len(now):
            st.html(_said(record, now), width="stretch")
        else:
            st.fragment(_now, key=NOW)(record)
            for page, word in LEADS:
                if page in pages and page != here:
                    _lead(record, now, page, word)
            back = state.carried(state.BACK)
            if here == SENTENCE and back in pages and back != here:
                if st.button(f"Back to {pages[back]}", type="tertiary", key="selected-back"):
                    state.go(back)
            _save(record, now)
        if kept:
            _slices(record, kept, now)
        st.button(
            "Clear",
            icon=":material/close:",
            type="tertiary",
            key="selected-clear",
            on_click=selection.clear,
            args=(record,),
            help="Select nothing",
        )


def following() -> list[str]:
    """Parts of the bar that a page draws anew where it looks at another sentence by itself."""
    return [NOW] if state.draft(state.FOLLOWS, False) else []


def _now(record: RunRecord) -> None:
    """What is selected, the sentence that is looked at, and the ones beside it."""
    if (now := selection.chosen(record)) is None:
        return
    with st.container(key=NOW, horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False):
        st.html(_said(record, now), width="stretch")
        _steps(record, now)


def _said(record: RunRecord, now: Chosen) -> str:
    """How many, by what, how many of them are coded, and the sentence that is looked at."""
    if now.problem:
        return f'<div class="s-now" role="status"><b>Nothing is selected</b> <span>{escape(now.problem)}</span></div>'
    of = "" if now.table is None else f" of {count(len(now.table))}"
    what = f"<b>{count(len(now))}{of}</b> <span>{escape(now.words)}</span>"
    if not len(now):
        what = f"<b>None{of}</b> <span>{escape(now.words)}</span>"
    what += _right(now)
    seen = data.legible(record, state.author())
    if seen.given:
        what += f" <span>· {count(sum(key in seen.given for key in now.keys))} coded</span>"
    at = (
        "" if now.at is None else f' <q title="{escape(now.text(now.at))}">{escape(clipped(now.text(now.at), 200))}</q>'
    )
    return f'<div class="s-now" role="status">{what}{at}</div>'


def _right(now: Chosen) -> str:
    """Return the share of right predictions, here and in the other rows; empty where the selection fixes it."""
    if now.table is None or now.selected is None or fixes_outcome(now.selected, now.table):
        return ""
    found = against_others(now.table.wrong, now.places)
    if found["difference"] is None:
        return ""
    low, high = (100 * (1 - end) for end in reversed(wilson(now.table.wrong[now.places].sum(), len(now))))
    few = f"; fewer than {FEW} say little" if len(now) < FEW else ""
    share = 100 * (1 - found["others"] - found["difference"])
    title = f"95 %: {low:.0f} to {high:.0f} %{few}"
    return f' <span title="{title}">· {share:.0f} % right, the others {100 * (1 - found["others"]):.0f} %</span>'


def _steps(record: RunRecord, now: Chosen) -> None:
    """Previous, where it stands, next."""
    place = now.at
    for icon, name, by, able in (
        ("left", "Previous", -1, place is not None and place > 0),
        ("right", "Next", 1, place is None or place + 1 < len(now)),
    ):
        st.button(
            name,
            icon=f":material/chevron_{icon}:",
            type="tertiary",
            key=f"selected-{name}",
            on_click=_step,
            args=(record, by),
            disabled=not able,
        )
        if by < 0:
            at = "–" if place is None else count(place + 1)
            st.html(f'<span class="s-at">{at}<i> / {count(len(now))}</i></span>', width="content")


def _step(record: RunRecord, by: int) -> None:
    """A callback: the whole page goes on."""
    selection.step(record, by)
    st.rerun()


def _lead(record: RunRecord, now: Chosen, page: str, word: str) -> None:
    """To another page that shows them; the map and the errors of the split that they are of."""
    if page != SENTENCE and not now.split:
        return
    taking = partial(selection.take_text, record) if page == SENTENCE else None
    if st.button(word, type="tertiary", key=f"selected-to-{page}", help=f"Open on {word}", on_click=taking):
        if page == SENTENCE:
            selection.look_inside()
        else:
            state.put(state.SPLIT, now.split)
            state.go(page)


def _kept_slices(record: RunRecord) -> list[Slice]:
    """Those of the data of a run that has answers to select from."""
    return data.kept_slices(record) if data.evaluated_splits(record.run) else []


def _slices(record: RunRecord, kept: list[Slice], now: Chosen | None) -> None:
    """The saved slices; the one that is picked becomes the selection."""
    key = f"selected-slice-{fingerprint([str(now.selection) if now else '', *(each.name for each in kept)])[:12]}"
    names = [each.name for each in kept]
    here = next((each.name for each in kept if now and parse(each.select).rules == now.selection.rules), None)
    with st.popover("Slices", type="tertiary", key="selected-slices", help="Select a saved slice"):
        st.radio(
            "Saved slices",
            names,
            index=None if here is None else names.index(here),
            format_func=literal,
            captions=[
                literal(each.group.about if each.group else ", ".join(parse(each.select).rules)) for each in kept
            ],
            key=key,
            on_change=_take_slice,
            args=(record, key),
        )


def _take_slice(record: RunRecord, key: str) -> None:
    """A callback: of the split that the page shows, where that is not said by the slice."""
    split = str(state.draft(state.SPLIT, ""))
    if name := state.draft(key, None):
        selection.choose_slice(record, split if split in data.evaluated_splits(record.run) else "", str(name))


def _save(record: RunRecord, now: Chosen) -> None:
    """A name for them; of training sentences no run has an answer, so that they are no slice."""
    if not now.split:
        return
    with st.popover("Save as slice", type="tertiary", key="selected-save"):
        st.text_input(
            "Name",
            key=state.SLICE_NAME,
            max_chars=LONGEST,
            placeholder=_name_of(now),
            help="Left empty, it is named by what selects it",
        )
        st.button("Save", type="primary", key="selected-keep", on_click=_keep, args=(record, now))
        if said := state.take(state.SLICE_SAID):
            st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')


def _name_of(now: Chosen) -> str:
    """What selects them, as far as a name is long."""
    return clipped(now.words, LONGEST, "…")


def _keep(record: RunRecord, now: Chosen) -> None:
    name = str(state.draft(state.SLICE_NAME, "")).strip() or _name_of(now)
    try:
        made = save_slice(data.store(), record, name, now.selection)
    except SentiscopeError as error:
        state.put(state.SLICE_SAID, f"Not saved: {error}.")
    else:
        state.put(state.SLICE_SAID, f"Saved as “{made.name}”, for every run on these data. Performance lists it.")


def selected_here(record: RunRecord, now: Chosen, clicked: Sequence[str]) -> None:
    """The selected sentences beside what was clicked, brought into the window if it was one of `clicked`.

    Args:
        record: the run.
        now: what is selected of the split that the page shows.
        clicked: the keys of the figures and tables beside.
    """
    if state.draft(state.SELECTOR, "") in clicked:
        in_sight(str(now.selection))
    with st.container(key="selection"):
        selection_note(f"{count(len(now))} of {count(len(now.rows))} sentences", now.words)
    _table(record, now)


def mark_cell(key: str, cell: tuple[int, int] | None, size: int) -> None:
    """A frame around the cell of a matrix that is selected, after a reload too, when the chart knows of no click.

    A chart that is drawn otherwise would forget its clicks, so the page frames the cell and not the chart.

    Args:
        key: of the chart (`dashboard.figures.panels.square`).
        cell: row and column; None: no cell is selected.
        size: rows of the matrix.
    """
    if cell is not None:
        one = f".st-key-{state.current(key)} .barlayer .point:nth-child({cell[0] * size + cell[1] + 1}) path"
        st.html(f"<style>{one} {{ stroke: var(--accent) !important; stroke-width: 4px !important; }}</style>")


def _table(record: RunRecord, now: Chosen) -> None:
    """The selected sentences of a split; choosing a row looks at it on all pages."""
    assert now.table is not None
    rows = now.table.frame.iloc[now.places[:MOST]]
    marked = [now.at] if now.at is not None and now.at < len(rows) else []

    def look_at() -> None:
        found = state.draft(key, {}).get("selection", {}).get("rows", [])
        if found:
            selection.look_at(record, found[0])

    key = f"{state.current(state.EXAMPLES)}-{fingerprint(str(now.selection))[:12]}"
    st.dataframe(
        rows,
        hide_index=True,
        row_height=row_height(),
        height=min(len(rows) + 1, SHOWN) * row_height() + 2,
        column_order=["text", "truth", "said", "p_said"],
        column_config={
            "text": st.column_config.TextColumn("Sentence", width="large"),
            "truth": st.column_config.TextColumn("Is", width=90),
            "said": st.column_config.TextColumn("Predicted", width=90),
            "p_said": st.column_config.NumberColumn("P(predicted)", format="%.3f", width=96),
        },
        key=key,
        on_select=look_at,
        selection_mode="single-row",
        selection_default={"selection": {"rows": marked, "columns": [], "cells": []}} if marked else None,
        alt=f"Selected sentences: {now.words}",
    )
    if len(now) > MOST:
        st.html(f'<p class="s-cap">The first {count(MOST)} of {count(len(now))}; the page\'s tables have all.</p>')
    if now.at is None:
        return
    if inside_button(record):
        selection.look_inside()


def inside_button(record: RunRecord, words: str = "Look inside this sentence") -> bool:
    """Whether the sentence that is looked at is to be opened on Sentence (`selection.look_inside`)."""
    taking = partial(selection.take_text, record)
    return st.button(words, icon=":material/notes:", key="open-sentence", on_click=taking)
