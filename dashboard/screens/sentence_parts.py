"""What a model has besides its maps, of one text: each part is drawn where the model has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.figures import parts
from dashboard.figures.figure import Figure
from dashboard.figures.parts import (
    BRANCHES,
    GATE_BARS,
    GATES,
    HEAD_READING,
    LEXICON,
    POLARITY,
    SUPPORT,
    TOKEN_LAMBDA,
)
from dashboard.figures.source import Source
from dashboard.widgets.figure import heading, show_of
from dashboard.widgets.numbers import number_list

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def other_parts(source: Source) -> None:
    """Everything but maps and coefficients, as far as the model has it; of a text with at least one token."""
    _numbers(source.view)
    _side_by_side("gates", (GATES, GATE_BARS), source)
    _side_by_side("token-lambda", (TOKEN_LAMBDA,), source)
    _side_by_side("polarity", (POLARITY, LEXICON), source)
    _side_by_side("support", (SUPPORT,), source)
    _side_by_side("head", (BRANCHES, HEAD_READING), source)


def _side_by_side(name: str, figures: Sequence[Figure[Any]], source: Source) -> None:
    """Those that there are, below each other where the page is narrow: a cell with its value needs its room."""
    there = [figure for figure in figures if figure.there(source)]
    if not there:
        return
    with st.container(key=f"pair-{name}"):
        columns = st.columns([6, 5], gap="large")
    for column, figure in zip(columns, there, strict=False):
        with column:
            show_of(source, figure)


def _numbers(view: SentenceView) -> None:
    table = parts.number_table(parts.view_scalars(view))
    if len(table):
        heading("Learned numbers", "numbers", note="of the model, the same for every text")
        number_list(table)
