"""What a model has beside its maps, of one sentence: each part is drawn where the model has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard.figures import parts, readings
from dashboard.figures.attention import map_grid
from dashboard.figures.parts import token_bars, token_rows
from dashboard.figures.sentence import subtracts
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.style import look, row_height

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView


def other_parts(record: RunRecord, view: SentenceView, layer: int) -> None:
    """Everything but maps and coefficients; nothing for a model that has only these.

    Args:
        record: The run.
        view: A text with at least one token.
        layer: The chosen layer, from 0.
    """
    has = provides(record.config.model)
    _numbers(view)
    if "gates" in has:
        _gates(view, layer)
    if "token-lambda" in has:
        rows = parts.lambda_rows(view, subtracts(record))
        chart = token_rows(rows, view.tokens, look(), label="coefficient")
        figure("Lambda of each token", chart, "token-lambda", note="mean over heads", reading=readings.TOKEN_LAMBDA)
    if "polarity" in has:
        _polarity(view, layer)
    _support(view, layer)
    if "branches" in has or "head-maps" in has:
        _head(view)


def _numbers(view: SentenceView) -> None:
    table = parts.number_table(parts.view_scalars(view))
    if len(table):
        heading("Learned numbers", "numbers", note="of the model, the same for every text")
        number_list(table)


def number_list(table: pd.DataFrame) -> None:
    """The table of `figures.parts.number_table`, or of a record, with how to read it."""
    titles = {"number": "Number", "what it is": "What it is", "learned": "Value"}
    st.dataframe(
        table,
        hide_index=True,
        row_height=row_height(),
        width="content",
        column_config={name: st.column_config.TextColumn(title) for name, title in titles.items()},
        alt="Learned numbers",
    )
    if set(table["number"]) - {parts.NEUTRAL_TOKENS}:
        caption(readings.NUMBERS)


def _pair(name: str) -> list[DeltaGenerator]:
    """Two columns, below each other where the page is narrow: a cell with its value needs its room."""
    with st.container(key=f"pair-{name}"):
        return st.columns([6, 5], gap="large")


def _gates(view: SentenceView, layer: int) -> None:
    rows = parts.gate_rows(view)
    left, right = _pair("gates")
    with left:
        chart = token_rows(rows, view.tokens, look(), label="gate", top=1)
        figure("Gates", chart, "gates", note="every layer", reading=readings.GATES, about=readings.GATES_HOW)
    with right:
        chart = token_bars(rows[layer], view.tokens, look(), label="gate")
        figure("Gates of one layer", chart, "gate-bars", note=rows[layer].name, reading=readings.GATE_BARS)


def _polarity(view: SentenceView, layer: int) -> None:
    term = parts.sigma(view, layer)
    left, right = _pair("polarity")
    with left:
        chart = token_rows(
            parts.polarity_rows(view), view.tokens, look(), label="polarity", top=2 / 3, zero=parts.NEUTRAL
        )
        figure(
            "Polarity of each token", chart, "polarity", note="from the lexicon", reading=readings.POLARITY,
            about=readings.POLARITY_HOW,
        )  # fmt: skip
    if term is not None:
        with right:
            chart = map_grid(
                [replace(term, name="")], view.tokens, look(), label="σ − neutral", numbered=False, worded=True
            )
            figure("Sigma", chart, "sigma", note=f"{term.name}, last head", reading=readings.SIGMA)


def _support(view: SentenceView, layer: int) -> None:
    row = parts.seen(view, layer)
    if row is not None:
        with _pair("support")[0]:
            row = replace(row, name="")
            chart = map_grid([row], view.tokens, look(), top=1, label="may see", numbered=False, worded=True)
            figure("Who may see whom", chart, "support", note=f"layer {layer + 1}", reading=readings.SUPPORT)


def _head(view: SentenceView) -> None:
    left, right = _pair("head")
    with left:
        if rows := parts.branch_rows(view):
            chart = token_rows(rows, view.tokens, look(), label="mean activation")
            figure("Convolutions", chart, "branches", note="mean over channels", reading=readings.BRANCHES)
    with right:
        if rows := parts.head_reading(view):
            chart = token_rows(rows, view.tokens, look(), label="is read")
            figure("Attention of the head", chart, "head-reading", note="received", reading=readings.HEAD_READING)
