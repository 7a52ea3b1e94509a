"""The learned numbers of a model besides λ: as they ended, and how they moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.runs.record import RunRecord
from dashboard.figures.curves import NUMBERS, NumberLine
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.theme import Look, layer_colour

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

PER_ROW = 3
"""Panels side by side."""
NEUTRAL_TOKENS = "neutral tokens"
"""The row of a record's numbers that is counted, not learned."""


def number_table(scalars: Mapping[str, Sequence[float]], gates: Sequence[Sequence[float]] = ()) -> pd.DataFrame:
    """One row for each learned number: its sign, its meaning, its value (by layer where there are several)."""
    rows = [(*NUMBERS[name], _by_layer(values)) for name, values in scalars.items() if name in NUMBERS]
    if gates:
        said = ", ".join(f"{number(mean, 2)} ± {number(deviation, 2)}" for mean, deviation in gates)
        rows.append(("gate", "mean and deviation over tokens of validation texts, by layer", said))
    return pd.DataFrame(rows, columns=["number", "what it is", "learned"])


def _by_layer(values: Sequence[float]) -> str:
    return ", ".join(number(value, 3) for value in values)


def view_scalars(view: SentenceView) -> dict[str, list[float]]:
    """The learned numbers that a reading shows."""
    found = {name: [value] for name, value in view.positions.items()}
    temperatures = [layer.temperature for layer in view.layers if layer.temperature is not None]
    return {**found, **({"tau": temperatures} if temperatures else {})}


def record_numbers(record: RunRecord) -> pd.DataFrame:
    """The same of a finished run, with how much its lexicon knows; empty where its model has neither."""
    table = number_table(record.results.get("scalars") or {}, record.results.get("gates") or ())
    shares = {split: share for split, share in (record.results.get("neutral_share") or {}).items() if share is not None}
    if shares:
        said = ", ".join(f"{split} {100 * share:.1f} %" for split, share in shares.items())
        table.loc[len(table)] = [NEUTRAL_TOKENS, "share of running tokens of which the lexicon says nothing", said]
    return table


def numbers_table(lines: Mapping[str, Sequence[NumberLine]]) -> pd.DataFrame:
    """One row for each logged value of each number: number, layer (from 1), epoch, value."""
    rows = [
        (name, layer, x, y)
        for name, layers in lines.items()
        for layer, line in enumerate(layers, start=1)
        for x, y in zip(line.x, line.y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["number", "layer", "epoch", "value"])


def numbers_course(lines: Mapping[str, Sequence[NumberLine]], epochs: int, look: Look) -> go.Figure:
    """A panel for each number, a line for each layer that has one of its own; the deeper the layer, the stronger.

    Args:
        lines: By name; one line for each layer, or a single one of the whole model.
        epochs: Planned.
        look: Theme and size.
    """
    t = look.tokens
    names = list(lines)
    titles = [
        [*names[i : i + PER_ROW], *[""] * (PER_ROW - len(names[i : i + PER_ROW]))]
        for i in range(0, len(names), PER_ROW)
    ]
    figure = Panels(
        look, titles, height=40 + 220 * len(titles), horizontal_spacing=0.09, vertical_spacing=0.44 / len(titles)
    )
    for index, (name, layers) in enumerate(lines.items()):
        at = {"row": index // PER_ROW + 1, "col": index % PER_ROW + 1}
        for layer, line in enumerate(layers):
            of = f"layer {layer + 1}" if len(layers) > 1 else "all layers"
            figure.add_scatter(
                x=line.x,
                y=line.y,
                mode="lines",
                line={"color": layer_colour(t, layer, len(layers)), "width": look.size(2.4)},
                hovertemplate=f"{of}<br>epoch %{{x:.1f}}<br>{escape_text(name)} %{{y:.4f}}<extra></extra>",
                **at,
            )
        figure.update_xaxes(range=[0, epochs], title="epoch", nticks=5, **at)
        figure.update_yaxes(nticks=5, exponentformat="none", **at)
    for index in range(len(names), len(titles) * PER_ROW):
        figure.update_xaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
        figure.update_yaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
    return figure.drawn()


@dataclass(frozen=True)
class Learned:
    """The course of every learned number but lambda."""

    lines: Mapping[str, Sequence[NumberLine]]
    epochs: int
    title: str = "Other learned numbers"


def learned(source: Source) -> Learned:
    """What a training run has logged of them.

    Raises:
        NotAvailable: the model has none.
    """
    lines = source.reader.learned_numbers(source.record)
    if not lines:
        raise NotAvailable(f"{source.record.preset} learns no number with a meaning of its own")
    return Learned(lines, source.record.config.training.epochs)


LEARNED = Figure(
    "numbers-course",
    "lambdas",
    lambda shown: shown.title,
    learned,
    lambda shown, look: numbers_course(shown.lines, shown.epochs, look),
    note="by layer",
    reading="The stronger the line, the deeper the layer; a single line belongs to the whole model.",
    tables=lambda shown: {"Course of numbers": numbers_table(shown.lines)},
)


@dataclass(frozen=True)
class Numbers:
    """The table of `number_table` or `record_numbers`, and when they were so."""

    table: pd.DataFrame
    title: str = "Numbers inside"
    note: str = "of the epoch that was kept"


def numbers(record: RunRecord) -> Numbers:
    """Those of a finished run.

    Raises:
        NotAvailable: its model has none.
    """
    table = record_numbers(record)
    if table.empty:
        raise NotAvailable(f"{record.preset} learns no number with a meaning of its own")
    if set(table["number"]) == {NEUTRAL_TOKENS}:
        return Numbers(table, "What its lexicon knows", "counted, not learned")
    return Numbers(table)


def _draw_numbers(shown: Numbers, look: Look) -> Table:
    titles = {"number": "Number", "what it is": "What it is", "learned": "Value"}
    return Table(shown.table, {name: Column(title) for name, title in titles.items()}, narrow=True)


NUMBERS_OF = Figure(
    "numbers",
    "lambdas",
    lambda shown: shown.title,
    lambda source: numbers(source.record),
    _draw_numbers,
    note=lambda shown: shown.note,
    reading=(
        "Several values are those of the layers, from the first to the last; a single one belongs to the whole model."
    ),
    tables=lambda shown: {"Learned numbers": shown.table},
)
