"""Labels that are likely wrong: looked for in a process of its own when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.data.table import TRAIN
from core.exceptions import NotAvailable
from core.failures.label_errors import LabelErrors
from core.text.direction import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.data_quality import DOUBTED, LABELS_SHOWN
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.selected import inside_button

if TYPE_CHECKING:
    import pandas as pd

DOUBT, TWICE = "labels that are likely wrong", "texts that have another label elsewhere"
ROW = f"fig-{DOUBTED.name}"
DOUBLES = 8
"""Texts with two labels that are named."""


def likely_label_errors(source: Source) -> dict[str, pd.DataFrame]:
    """The section; gives its tables."""
    try:
        found = DOUBTED.shape(source)
    except NotAvailable:
        heading("Likely label errors", DOUBTED.name, about=str(DOUBTED.how))
        offer(LabelErrors.of(data.store(), source.record, source.split), "look-for-labels")
        return {}
    rows = found.found["rows"][:LABELS_SHOWN]
    show(
        DOUBTED,
        found,
        more="Choose a row to read its sentence." if rows else "",
        on_select=partial(_take_row, source, rows),
        selection_mode="single-row",
    )
    now = selection.chosen(source.record)
    if now is not None and len(now) and state.draft(state.SELECTOR, "") == ROW:
        _opened(source, now)
    _selecting(source, found.found)
    if twice := found.found["conflicts"]:
        named = "; ".join(
            f"{quoted(each['text'], 80)} ({', '.join(f'{name} {n}' for name, n in each['labels'].items())})"
            for each in twice[:DOUBLES]
        )
        more = f" and {count(len(twice) - DOUBLES)} more" if len(twice) > DOUBLES else ""
        caption(f"The same text with several labels: {named}{more}.")
    if not found.found["rows"]:
        return {}
    return DOUBTED.numbers(found)


def _take_row(source: Source, rows: Sequence[Mapping[str, Any]]) -> None:
    """The sentence of the chosen row is the selection; chosen again, nothing is: a callback."""
    at = next(iter(state.draft(state.current(ROW), {}).get("selection", {}).get("rows", [])), None)
    if at is None or at >= len(rows):
        selection.clear(source.record)
        return
    row = rows[at]
    if row["split"] in data.evaluated_splits(source.record.run):
        selection.choose_keys(source.record, row["split"], [row["key"]], DOUBT, at=0, by=ROW)
    elif source.record.config.data.texts:
        about = f"{DOUBT}, {row['split']}"
        selection.choose_sentences(source.record, [row["text"]], [row["truth"]], about, at=0, by=ROW)


def _opened(source: Source, now: selection.Chosen) -> None:
    """The chosen one whole, where the list above does not have it, and into Sentence."""
    with st.container(key="doubted-row", horizontal=True, vertical_alignment="center", gap="medium"):
        said = f"is {now.label(0)}" if now.label(0) else ""
        st.html(f'<div class="s-sel"><b>{escape(now.text(0))}</b> <span>{escape(said)}</span></div>', width="stretch")
        if inside_button(source.record):
            selection.look_inside()


def _selecting(source: Source, found: Mapping[str, Any]) -> None:
    """Buttons that make the doubted rows the selection of all pages, to be read and coded."""
    record, split = source.record, source.split
    likely = [row for row in found["rows"] if row["likely"]]
    here = [row["key"] for row in likely if row["split"] == split]
    training = [row for row in likely if row["split"] == TRAIN and split != TRAIN and record.config.data.texts]
    twice = [row["key"] for each in found["conflicts"] for row in each["rows"] if row["split"] == split]
    of_training = [row["text"] for row in training], [row["truth"] for row in training]
    both = [each for each in found["conflicts"] if any(row["split"] == TRAIN for row in each["rows"])]
    both = both if split != TRAIN and record.config.data.texts else []
    of_both = [each["text"] for each in both], [" or ".join(each["labels"]) for each in both]
    offers: list[tuple[str, int, Callable[[], None]]] = [
        (f"of {split}", len(here), partial(selection.choose_keys, record, split, here, DOUBT)),
        (f"of {TRAIN}", len(training), partial(selection.choose_sentences, record, *of_training, f"{DOUBT}, {TRAIN}")),
        (
            f"of {split} with another label elsewhere",
            len(twice),
            partial(selection.choose_keys, record, split, twice, TWICE),
        ),
        (
            f"of {TRAIN} with several labels",
            len(both),
            partial(selection.choose_sentences, record, *of_both, f"{TWICE}, {TRAIN}"),
        ),
    ]
    with st.container(key="doubted-selects", horizontal=True, gap="medium"):
        for place, (words, n, choose) in enumerate(offers):
            if n:
                st.button(
                    f"Select the {count(n)} {words}", key=f"select-doubted-{place}", type="tertiary", on_click=choose
                )
