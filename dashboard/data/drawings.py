"""Figures, shaped and drawn."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from core.fingerprint import file_version
from core.interpret.edits import Edits
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, RECORD, TAGS, WEIGHTS
from dashboard.data.stored import hashed, store
from dashboard.figures.drawing import Drawing, Kept
from dashboard.figures.figure import Figure, Shape
from dashboard.figures.source import Source
from dashboard.figures.theme import Look


def drawn(figure: Figure[Shape], source: Source, look: Look) -> tuple[Shape, Drawing]:
    """The shape of a figure of one run and its drawing; both are shared, nobody changes them.

    Raises:
        NotAvailable: this run has nothing of the kind.
    """
    runs = store()
    folders = [runs.path(record.run) for record in (source.record, *source.others)]
    files = (RECORD, HISTORY, WEIGHTS, *(f"{EVALUATION}/{source.split}/{name}" for name in (PREDICTIONS, TAGS)))
    versions = tuple(each for path in folders for each in (str(path), *(file_version(path / name) for name in files)))
    key = hashed(source.text)
    made: tuple[Shape, Drawing] = _drawn(
        figure.name, versions, source.split, key, source.edits, figure.chosen(source), look, figure, source
    )
    return made


@st.cache_resource(max_entries=256, show_spinner=False)
def _drawn(
    name: str,
    versions: tuple[str, ...],
    split: str,
    text: str,
    edits: Edits,
    chosen: tuple[str, ...],
    look: Look,
    _figure: Figure[Any],
    _source: Source,
) -> tuple[Any, Drawing]:
    shape = _figure.shape(_source)
    drawing = _figure.draw(shape, look)
    return shape, Kept(drawing) if isinstance(drawing, go.Figure) else drawing
