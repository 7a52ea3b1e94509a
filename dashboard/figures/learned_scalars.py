"""Learned single numbers of a model besides λ (map weights), such as a temperature: final values and course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from core.exceptions import NotAvailable
from core.formatting import number
from core.runs.record import RunRecord
from dashboard.figures.drawing import DataTable, TableColumn
from dashboard.figures.figure import Figure
from dashboard.figures.training_log import NUMBERS, NumberLine

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

NEUTRAL_TOKENS = "neutral tokens"


def build_number_table(scalars: Mapping[str, Sequence[float]], gates: Sequence[Sequence[float]] = ()) -> pd.DataFrame:
    """Return a table of a model's learned single numbers: symbol, meaning, and value (one per layer if several)."""
    known = {name: ", ".join(number(value, 3) for value in scalars[name]) for name in scalars if name in NUMBERS}
    rows = [(*NUMBERS[name], values) for name, values in known.items()]
    if gates:
        said = ", ".join(f"{number(mean, 2)} ± {number(deviation, 2)}" for mean, deviation in gates)
        rows.append(("gate", "mean and deviation over tokens of validation texts, by layer", said))
    return pd.DataFrame(rows, columns=["number", "what it is", "learned"])


def read_view_scalars(view: SentenceView) -> dict[str, list[float]]:
    """Return the learned scalars shown in a text's forward pass, as name → values."""
    found = {name: [value] for name, value in view.positions.items()}
    temperatures = [layer.temperature for layer in view.layers if layer.temperature is not None]
    return {**found, **({"tau": temperatures} if temperatures else {})}


def read_run_numbers(record: RunRecord) -> pd.DataFrame:
    """Return a table of a run's learned scalars and the share of tokens that its lexicon lacks; empty without both."""
    table = build_number_table(record.results.get("scalars") or {}, record.results.get("gates") or ())
    shares = {split: share for split, share in (record.results.get("neutral_share") or {}).items() if share is not None}
    if shares:
        said = ", ".join(f"{split} {100 * share:.1f} %" for split, share in shares.items())
        table.loc[len(table)] = [NEUTRAL_TOKENS, "share of running tokens of which the lexicon says nothing", said]
    return table


def build_history_table(lines: Mapping[str, Sequence[NumberLine]]) -> pd.DataFrame:
    """Return a row for each logged value of each learned scalar: name, layer (from 1), epoch, value."""
    rows = [
        (name, layer, x, y)
        for name, layers in lines.items()
        for layer, line in enumerate(layers, start=1)
        for x, y in zip(line.x, line.y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["number", "layer", "epoch", "value"])


@dataclass(frozen=True)
class Numbers:
    """Learned scalars of a run as a table, with a title and a note."""

    table: pd.DataFrame
    title: str = "Learned numbers"
    note: str = "best epoch"


def read_numbers(record: RunRecord) -> Numbers:
    """Return the learned scalars of a finished run as a table; NotAvailable: its model has none."""
    table = read_run_numbers(record)
    if table.empty:
        raise NotAvailable(f"{record.preset} learns no number with a meaning of its own")
    if set(table["number"]) == {NEUTRAL_TOKENS}:
        return Numbers(table, "Lexicon coverage", "counted, not learned")
    return Numbers(table)


NUMBERS_OF = Figure(
    "numbers",
    "lambdas",
    lambda shown: shown.title,
    lambda source: read_numbers(source.record),
    lambda shown, look: DataTable(
        shown.table,
        {"number": TableColumn("Number"), "what it is": TableColumn("Meaning"), "learned": TableColumn("Value")},
        narrow=True,
    ),
    note=lambda shown: shown.note,
    reading="Several values: one per layer, in order. One value: the whole model.",
    tables=lambda shown: {"Learned numbers": shown.table},
)
