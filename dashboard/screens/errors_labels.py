"""Labels that are likely wrong: looked for in a process of its own when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.data.table import TRAIN
from core.exceptions import NotAvailable
from core.failures import doubted
from dashboard import data, selection
from dashboard.figures.doubted import DOUBTED
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer
from dashboard.widgets.figure import caption, heading, show

if TYPE_CHECKING:
    import pandas as pd

OFFER = (
    "Every label is judged by models that were not fitted on its sentence: TF-IDF is fitted six times in a separate "
    "process, which takes from seconds to minutes and is kept."
)
DOUBT, TWICE = "labels that are likely wrong", "texts that have another label elsewhere"
DOUBLES = 8
"""Texts with two labels that are named."""


def likely_label_errors(source: Source) -> dict[str, pd.DataFrame]:
    """The section; gives its tables."""
    try:
        found = DOUBTED.shape(source)
    except NotAvailable:
        heading("Likely label errors", DOUBTED.name, about=str(DOUBTED.how))
        _offer(source)
        return {}
    show(DOUBTED, found)
    _selecting(source, found.found)
    if twice := found.found["conflicts"]:
        named = "; ".join(
            f"“{each['text'][:80]}” ({', '.join(f'{name} {n}' for name, n in each['labels'].items())})"
            for each in twice[:DOUBLES]
        )
        more = f" and {count(len(twice) - DOUBLES)} more" if len(twice) > DOUBLES else ""
        caption(f"The same text with several labels: {named}{more}.")
    if not found.found["rows"]:
        return {}
    return DOUBTED.numbers(found)


def _selecting(source: Source, found: Mapping[str, Any]) -> None:
    """Buttons that make the doubted rows the selection of all pages, to be read and coded."""
    record, split = source.record, source.split
    likely = [row for row in found["rows"] if row["likely"]]
    here = [row["key"] for row in likely if row["split"] == split]
    training = [row for row in likely if row["split"] == TRAIN and split != TRAIN and record.config.data.texts]
    twice = [row["key"] for each in found["conflicts"] for row in each["rows"] if row["split"] == split]
    of_training = [row["text"] for row in training], [row["truth"] for row in training]
    offers: list[tuple[str, int, Callable[[], None]]] = [
        (f"of {split}", len(here), partial(selection.choose_keys, record, split, here, DOUBT)),
        (f"of {TRAIN}", len(training), partial(selection.choose_sentences, record, *of_training, f"{DOUBT}, {TRAIN}")),
        (
            f"of {split} with another label elsewhere",
            len(twice),
            partial(selection.choose_keys, record, split, twice, TWICE),
        ),
    ]
    with st.container(key="doubted-selects", horizontal=True, gap="medium"):
        for place, (words, n, choose) in enumerate(offers):
            if n:
                st.button(
                    f"Select the {count(n)} {words}", key=f"select-doubted-{place}", type="tertiary", on_click=choose
                )


def _offer(source: Source) -> None:
    """The job, while it runs; else the button that begins it."""
    store, record, split = data.store(), source.record, source.split
    start, failed = partial(doubted.start, store, record, split), "The labels could not be judged"
    here, title = doubted.files(store, record, split), "Looking for label errors"
    if offer(here, "Look for label errors", "look-for-labels", title, failed, start):
        caption(OFFER)
