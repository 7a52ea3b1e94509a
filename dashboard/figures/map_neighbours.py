"""The sentences of a split that are nearest to one of them, or to one that somebody typed, as a table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from core.exceptions import NotAvailable
from core.failures.neighbours import neighbours, place_of
from core.models.provides import HEAD
from core.text.direction import quoted
from dashboard.figures.drawing import Column, Table
from dashboard.figures.embeddings import SPACE, map_config
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.source import FREE, LONGEST, Option, Source
from dashboard.figures.theme import Look

AT = Option(
    "at",
    "Sentence",
    lambda source: FREE,
    "The key of a row of the split whose neighbours are shown, where no text is given",
    words=lambda source, at: "",
)


@dataclass(frozen=True, eq=False)
class Near:
    """Those of one sentence."""

    of: str
    """What it says."""
    row: int | None
    """Its row of the split; None: it is typed."""
    found: pd.DataFrame
    """As `core.failures.neighbours.neighbours` gives them."""
    space: str
    total: int
    """Sentences that were compared."""


def near(source: Source) -> Near:
    """The neighbours of a source's text, else of its chosen row.

    Raises:
        NotAvailable: there is no sentence, no space, or its layers have not been read.
        InputError: no row has that key.
    """
    record, reader, key = source.record, source.reader, str(source.chosen(AT))
    if not source.split:
        raise NotAvailable(f"it is {record.status} and has not been evaluated")
    if not source.text.strip() and not key:
        raise NotAvailable("a sentence is needed: --text, or --with at=KEY")
    table = reader.table(record, source.split)
    files = reader.map_files(record.run, source.split, map_config(source))
    space = reader.space(record, files)
    row = None if source.text.strip() else place_of(table, key)
    text = source.text if row is None else table.texts[row]
    own = [] if row is None else (space.rows == row).nonzero()[0].tolist()
    asked = space.vectors[own[0]] if own else reader.vector(record, files, text)
    found = neighbours(table, space, asked, row)
    return Near(text, row, found, files.config.space or HEAD, len(space.rows) - len(own))


def _note(shown: Near) -> str:
    of = "what the head reads" if shown.space == HEAD else shown.space
    return f"{quoted(shown.of, LONGEST)}, among {count(shown.total)}, in the space of {of}"


def _draw(shown: Near, look: Look) -> Table:
    columns = {
        "distance": Column("Distance", "Euclidean, in the space of the model", 3, width=90),
        "text": Column("Sentence", width=380),
        "truth": Column("Is", width=110),
        "said": Column("Predicted", width=110),
    }
    return Table(shown.found[list(columns)], columns)


MAP_NEIGHBOURS: Figure[Near] = Figure(
    "map-neighbours",
    "embeddings",
    "Nearest in embedding space",
    near,
    _draw,
    note=_note,
    reading="The nearest first. A sentence with another class among them is where the model sees no difference.",
    how="Euclidean distance between vectors in the space that the map is made from, not on the map. A sentence is no "
    "neighbour of itself; the same text a second time is, at distance 0.",
    needs="pooled",
    options=(AT, SPACE),
    tables=lambda shown: {"Neighbours": shown.found},
)
