"""A long text passage by passage: what each says, what they say together, and the way to read one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from core.text.clusters import clipped
from core.text.direction import isolated
from core.text.passages import passages
from dashboard import state
from dashboard.data import data
from dashboard.figures.numbers import number
from dashboard.widgets.figure import caption, heading
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

WORDS = 40
"""Of a passage at most: on reviews a model that had learned from sentences did best with so many."""
SEEN = 6
"""Passages beyond which the list scrolls by itself: a text of 2 000 words has fifty."""
QUOTED = 80
"""Characters of a passage that are shown."""
ABOUT = (
    "A model that learned from sentences adds up a long text badly. Here it reads passages of {} words or fewer, one "
    "after the other and as trained, and the mean of their logits answers. On a terminal: predict with --passage."
)
NOTE = "A click reads the passage alone; undo brings the whole text back."


def is_long(record: RunRecord, text: str) -> bool:
    """Whether a text has more than one passage."""
    return not record.pairs and len(passages(text, WORDS)) > 1


def by_passage(record: RunRecord, text: str) -> dict[str, pd.DataFrame]:
    """The section; nothing of a short text. Gives its table."""
    if not is_long(record, text):
        return {}
    read = data.passages(record.run, text, WORDS)
    chances, whole = read.each.probabilities, read.whole.probabilities[0]
    note = f"together {_answer(record, whole)}"
    heading("Passage by passage", "passages", note=note, about=ABOUT.format(WORDS))
    with st.container(key="passages", gap="xxsmall", height=320 if len(chances) > SEEN else "content"):
        for place, (passage, said) in enumerate(zip(read.cut[0], chances, strict=True)):
            line = f"{_answer(record, said)} — {isolated(clipped(passage, QUOTED))}"
            if st.button(literal(line), key=f"passage-{place}", type="tertiary", on_click=_alone, args=(passage,)):
                st.rerun()
    caption(NOTE)
    return {"Passages": _table(record, read.cut[0], chances)}


def _alone(passage: str) -> None:
    state.put(state.TEXT, passage)


def _answer(record: RunRecord, chances: np.ndarray) -> str:
    """The most probable class; of several labels those above their thresholds, or the nearest to it."""
    limits = record.tuned_thresholds or {}
    several = [place for place, name in enumerate(record.classes) if chances[place] > limits.get(name, 0.5)]
    shown = several if record.task == "multi" and several else [int(chances.argmax())]
    return ", ".join(f"{record.classes[place]} {number(float(chances[place]), 2)}" for place in shown)


def _table(record: RunRecord, texts: list[str], chances: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    columns = {f"probability:{name}": chances[:, place] for place, name in enumerate(record.classes)}
    return pd.DataFrame({"passage": texts, **columns})
