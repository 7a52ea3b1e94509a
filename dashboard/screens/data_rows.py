"""The texts of a data set, filtered and a page at a time; a chosen one is followed to its tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from core.data.table import Dataset
from core.text.clusters import clipped
from core.text.direction import direction
from core.text.tokenizer import Tokenizer
from dashboard import selection, state
from dashboard.figures.datasets import PAGE_ROWS, SHOWN_CHARACTERS, SHOWN_TOKENS, Filters, Piece, phenomena, preparation
from dashboard.figures.numbers import count
from dashboard.screens.data_search import not_selected, of_one_split, take_search
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.messages import finding
from dashboard.widgets.runs import chosen_record
from dashboard.widgets.style import row_height

HEIGHT_ROWS = 8
STEPS = "What a model gets of this text: each step that changes it, then its tokens."
KEY = (
    '<div class="s-key">{unknown}{cut}</div>',
    '<span><i class="s-dash"></i>not in the vocabulary: read as “unknown”</span>',
    '<span><s class="s-lost">word</s> cut off: never read</span>',
)


def asked_rows(dataset: Dataset, name: str) -> Filters:
    """Four filters, bound to the link; what they come to is selected on all pages.

    Args:
        dataset: What the page shows.
        name: Its `data.name`.
    """
    take = partial(take_search, name)
    named = phenomena(dataset)
    for key, allowed in (
        (state.PART, list(dataset.splits)),
        (state.CLASS, dataset.classes),
        (state.PHENOMENON, named),
    ):
        state.keep_to(key, allowed)
    with st.container(key="data-filters", horizontal=True, vertical_alignment="bottom", gap="small"):
        split = _filter("Split", list(dataset.splits), state.PART, take)
        label = _filter("Class", dataset.classes, state.CLASS, take)
        phenomenon = _filter("Phenomenon", named, state.PHENOMENON, take, 210) if named else ""
        words = st.text_input(
            "Contains",
            key=state.FIND,
            bind="query-params",
            width=230,
            placeholder="any text",
            max_chars=200,
            on_change=take,
            help="Texts that hold exactly these characters, in upper or lower case",
        )
    filters, record = Filters(split, label, phenomenon, words or ""), chosen_record()
    if record is not None and (why := not_selected(record, name, filters) or of_one_split(record, filters)):
        caption(why)
    return filters


def _filter(label: str, names: Sequence[str], key: str, take: Callable[[], None], width: int = 150) -> str:
    words: dict[str, Any] = {"placeholder": "any", "width": width, "on_change": take}
    return st.selectbox(label, list(names), index=None, key=key, bind="query-params", **words) or ""


def row_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, int] | None:
    """A page of the rows; they and the place of the chosen one, None if none is."""
    if rows.empty:
        finding("No text matches", "Leave out a filter, or look for fewer characters.")
        return None
    pages = math.ceil(len(rows) / PAGE_ROWS)
    if int(state.draft(state.PAGE, 0) or 0) > pages:
        state.forget(state.PAGE)
    with st.container(key="data-pages", horizontal=True, vertical_alignment="center", gap="small"):
        number = 1
        if pages > 1:
            number = st.number_input("Page", 1, pages, 1, key=state.PAGE, bind="query-params", width=120)
        first = (number - 1) * PAGE_ROWS
        shown = rows.iloc[first : first + PAGE_ROWS].reset_index(drop=True)
        caption(f"Rows {count(first + 1)} to {count(first + len(shown))} of {count(len(rows))}. Choose one to open it.")
    event = st.dataframe(
        shown.assign(text=[clipped(text, SHOWN_CHARACTERS) for text in shown["text"]]),
        hide_index=True,
        row_height=row_height(),
        height=(min(len(shown), HEIGHT_ROWS) + 1) * row_height() + 2,
        column_config={
            "text": st.column_config.TextColumn("Text", width=430),
            "label": st.column_config.TextColumn("Class", width=90),
            "split": st.column_config.TextColumn("Split", width=80),
        },
        key=state.TEXTS,
        on_select="rerun",
        selection_mode="single-row",
        alt="Texts of the data set",
    )
    chosen = [row for row in event["selection"]["rows"] if row < len(shown)]
    return (shown, chosen[0]) if chosen else None


def opened_text(rows: pd.DataFrame, place: int, tokenizer: Tokenizer) -> None:
    """One text of these rows, each step on its way to tokens, and the way to the Sentence page."""
    text = str(rows["text"].iloc[place])
    changes, pieces = preparation(text, tokenizer)
    with st.container(key="selection", horizontal=True, vertical_alignment="center"):
        heading("From text to tokens", "steps", note=f"{count(len(pieces))} tokens")
        if st.button("Try it on the Sentence page", icon=":material/notes:", type="tertiary", key="try-sentence"):
            _look_inside(rows, place)
    steps = [("as it stands", text), *changes]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(after)}</dd>" for name, after in steps)
    st.html(f'<dl class="s-steps">{listed}</dl>')
    ids = st.toggle("Numbers of the tokens", key=state.IDS, help="The ids that the model reads; 1 is “unknown”")
    shown = pieces[:SHOWN_TOKENS]
    way = direction("".join(piece.token for piece in shown))
    st.html(f'<ul class="s-toks" dir="{way}" aria-label="tokens">{"".join(_chip(piece, ids) for piece in shown)}</ul>')
    unknown, cut = (any(getattr(piece, name) for piece in pieces) for name in ("unknown", "cut"))
    if unknown or cut:
        st.html(KEY[0].format(unknown=KEY[1] if unknown else "", cut=KEY[2] if cut else ""))
    beyond = f" The first {SHOWN_TOKENS} of {count(len(pieces))} are drawn." if len(pieces) > SHOWN_TOKENS else ""
    caption(STEPS + beyond)


def _look_inside(rows: pd.DataFrame, place: int) -> None:
    """These rows are selected, and the opened one is read by the chosen run."""
    texts, labels = (list(map(str, rows[name])) for name in ("text", "label"))
    if record := chosen_record():
        splits = set(rows["split"])
        split = splits.pop() if len(splits) == 1 else ""
        selection.choose_sentences(record, texts, labels, "texts of the data", split=split, at=place)
    state.go(selection.SENTENCE, **{state.TEXT: texts[place]})


def _chip(piece: Piece, ids: bool) -> str:
    kinds = " ".join(name for name, held in (("s-unknown", piece.unknown), ("s-lost", piece.cut)) if held)
    about = "; ".join(
        words for words, held in (("not in the vocabulary", piece.unknown), ("cut off", piece.cut)) if held
    )
    number = f"<small>{piece.id}</small>" if ids else ""
    return f'<li class="s-plain {kinds}" title="{about}"><b>{escape(piece.token) or "·"}</b>{number}</li>'
