"""What a model has besides its maps, of one text: each part is drawn where the model has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.figures.ablation_levers import LEVERS
from dashboard.figures.belief import ALONG, BELIEF
from dashboard.figures.contrast import DIFFERENCE
from dashboard.figures.distance import DISTANCE
from dashboard.figures.figure import Figure
from dashboard.figures.heads import COEFFICIENTS, COMBINED, HEAD_VIEW, HEADS
from dashboard.figures.lambda_bench import LAMBDA_BENCH
from dashboard.figures.learned import NUMBERS_OF, Numbers, number_table, view_scalars
from dashboard.figures.methods import METHODS, READ_NEEDED
from dashboard.figures.patching import PATCHING
from dashboard.figures.source import Source
from dashboard.figures.tokens import BRANCHES, GATES, LEXICON, POLARITY, SUPPORT, TOKEN_LAMBDA
from dashboard.figures.words import WORDS
from dashboard.widgets.figure import show, show_of, show_others

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView


ROWS: dict[str, tuple[Figure[Any], ...]] = {
    "gates": (GATES,),
    "token-lambda": (TOKEN_LAMBDA,),
    "polarity": (POLARITY, LEXICON),
    "support": (SUPPORT,),
    "head": (BRANCHES,),
}
"""What stands side by side."""
OF_WORDS: tuple[Figure[Any], ...] = (WORDS, METHODS, READ_NEEDED)
"""Where there are no others, there is no picture to take away."""
PLACED: tuple[Figure[Any], ...] = (
    *(*OF_WORDS, BELIEF, ALONG, DIFFERENCE, DISTANCE, HEAD_VIEW, LEVERS, LAMBDA_BENCH, HEADS, COEFFICIENTS, PATCHING),
    COMBINED,
    *(figure for row in ROWS.values() for figure in row),
)


def other_parts(source: Source) -> dict[str, pd.DataFrame]:
    """Everything but maps and coefficients, as far as the model has it; of a text with at least one token.

    Returns:
        Tables of figures that have some.
    """
    _numbers(source.view)
    for name, figures in ROWS.items():
        _side_by_side(name, figures, source)
    return show_others(source, "sentence", PLACED)


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
    table = number_table(view_scalars(view))
    if len(table):
        show(NUMBERS_OF, Numbers(table, "Learned numbers", "of the model, the same for every text"))
