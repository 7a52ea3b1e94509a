"""The training sentences that are nearest to a selection of several, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from core.exceptions import NotAvailable
from core.failures.common import Common
from core.numbers import whole_percent
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.map_neighbours import LEAST
from dashboard.figures.numbers import count
from dashboard.figures.selecting import ORDER, SELECT, analysis
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

COLUMNS = {
    "near": Column("Near to", "Selected sentences that have it among their ten nearest", width=80),
    "likeness": Column("Cosine", "The mean to these, of what the model's head reads", 3, width=80),
    "text": Column("Training sentence", width=380),
    "label": Column("Is", width=110),
}


@dataclass(frozen=True)
class Near:
    """Of a selection."""

    common: Common
    said: str
    """What is selected."""


def near(source: Source) -> Near:
    """Those of the selection of a source.

    Raises:
        NotAvailable: fewer than two sentences are selected, or the training texts are not here.
    """
    shown = analysis(source)
    if len(shown.places) < LEAST:
        raise NotAvailable("two sentences or more are needed: --with select=RULES")
    return Near(source.reader.common(shown), shown.said)


def told(shown: Near) -> str:
    """What their labels say."""
    found = shown.common
    of = f"Of the {found.each} nearest training sentences of each, {whole_percent(found.true)} have its true label"
    return f"{of} and {whole_percent(found.said)} what the run says of it."


def _draw(shown: Near, look: Look) -> Table:
    return Table(shown.common.found[list(COLUMNS)], COLUMNS)


MAP_COMMON: Figure[Near] = Figure(
    "map-training",
    "embeddings",
    "Nearest in training",
    near,
    _draw,
    note=lambda shown: f"{count(shown.common.n)} selected, among {count(shown.common.among)} training sentences",
    reading=told,
    how="Each selected sentence has its ten nearest training sentences, by cosine of what the model's head reads; a "
    "training sentence counts once for every selected one that has it among its ten. Nothing is averaged before: the "
    "mean of a selection may lie where none of its sentences does. Of very many sentences, on either side, a sample is "
    "compared.",
    needs="pooled",
    options=(SELECT, ORDER),
    tables=lambda shown: {"Training neighbours": shown.common.found},
)
