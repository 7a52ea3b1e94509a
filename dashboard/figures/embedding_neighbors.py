"""Nearest sentences in embedding space, from the same split and from the training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.error_analysis.neighbors import LOOKED_AT, SharedNeighbors, find_neighbors, find_row, find_surrounding
from core.exceptions import NotAvailable
from core.formatting import count, whole_percent
from core.models.capabilities import HEAD
from core.text.graphemes import quote_text
from dashboard.figures.drawing import DataTable, TableColumn
from dashboard.figures.embeddings import SPACE, read_map_config
from dashboard.figures.figure import Figure
from dashboard.figures.filtering import ORDER, SELECT, select_rows
from dashboard.figures.source import FREE, LONGEST, Option, Source
from dashboard.figures.theme import Look

LEAST = 2  # fewest sentences whose common neighbours are counted
AT = Option(
    "at",
    "Sentence",
    lambda source: FREE,
    "Key of the row whose neighbours are shown, if there is no text",
    words=lambda source, at: "",
)


@dataclass(frozen=True, eq=False)
class NearestSentences:
    """Sentences that are nearest to one sentence, or to several, in embedding space."""

    of: str  # the text, or a description of the sentences
    row: int | None  # its row in the split; None: a typed text, or several sentences
    found: pd.DataFrame  # result of `core.error_analysis.neighbors`
    space: str
    total: int  # sentences that were compared
    n: int = 1  # number of sentences whose neighbours these are


def find_nearest(source: Source) -> NearestSentences:
    """Find the sentences nearest to a typed text in embedding space; without a text, to the chosen or selected rows.

    NotAvailable: no sentence, no space, or unread layers; InputError: an unknown key, or a wrong selection.
    """
    record, reader, key, split = source.record, source.reader, str(source.get_choice(AT)), source.evaluated
    if not source.text.strip() and not key:
        if SELECT.name not in source.choices:
            raise NotAvailable("a sentence is needed: --text, --with at=KEY or --with select=RULES")
        shown = select_rows(source)
        return find_shared_nearest(source, shown.places, shown.description)
    table = reader.read_table(record, split)
    files = reader.get_map_files(record.run, split, read_map_config(source))
    space = reader.read_space(record, files)
    row = None if source.text.strip() else find_row(table, key)
    text = source.text if row is None else table.texts[row]
    own = [] if row is None else (space.rows == row).nonzero()[0].tolist()
    asked = space.vectors[own[0]] if own else reader.embed_text(record, files, text)
    found = find_neighbors(table, space, asked, row)
    return NearestSentences(text, row, found, files.config.space or HEAD, len(space.rows) - len(own))


def find_shared_nearest(source: Source, places: np.ndarray | Sequence[int], said: str) -> NearestSentences:
    """Find the sentences nearest to a group of sentences by embedding; NotAvailable: fewer than two have a vector."""
    files = source.reader.get_map_files(source.record.run, source.split, read_map_config(source))
    space = source.reader.read_space(source.record, files)
    n = int(np.isin(space.rows, places).sum())
    if n < LEAST:
        raise NotAvailable("two selected sentences or more are needed")
    found = find_surrounding(source.reader.read_table(source.record, source.split), space, np.asarray(places, int))
    return NearestSentences(said, None, found, files.config.space or HEAD, len(space.rows) - n, n)


def _write_note(shown: NearestSentences) -> str:
    space = "what the head reads" if shown.space == HEAD else shown.space
    sample = f", a sample of {count(LOOKED_AT)}" if shown.n > LOOKED_AT else ""
    of = quote_text(shown.of, LONGEST) if shown.n == 1 else f"{count(shown.n)} selected{sample}"
    return f"{of}, among {count(shown.total)}{'' if shown.n == 1 else ' others'}, in the space of {space}"


SEVERAL = {"near": TableColumn("Near to", "Selected sentences that have it among their ten nearest", width=80)}


def _draw_nearest(shown: NearestSentences, look: Look) -> DataTable:
    columns = {
        **({} if shown.n == 1 else SEVERAL),
        "distance": TableColumn("Distance", "Euclidean, in the space of the model; for several: the mean", 3, width=90),
        "text": TableColumn("Sentence", width=380),
        "true": TableColumn("Label", width=110),
        "predicted": TableColumn("Predicted", width=110),
    }
    return DataTable(shown.found[list(columns)], columns)


MAP_NEIGHBORS: Figure[NearestSentences] = Figure(
    "map-neighbours",
    "embeddings",
    "Nearest neighbours",
    find_nearest,
    _draw_nearest,
    note=_write_note,
    reading=lambda shown: (
        f"{'Nearest' if shown.n == 1 else 'Near to most'} first. Another class nearby: the model sees no difference."
    ),
    how="Euclidean distance between vectors in the space that the map is made from, not on the map. A sentence is "
    "not its own neighbour, but a second copy of its text is, at distance 0. For several sentences: each has its ten "
    "nearest among the unselected ones; one of these counts once for each selected one that has it among its ten.",
    needs="pooled",
    options=(AT, SPACE, SELECT),
    tables=lambda shown: {"Neighbours": shown.found},
)


TRAINING_COLUMNS = {
    **SEVERAL,
    "likeness": TableColumn("Cosine", "Mean to these, in the input of the model's head", 3, width=80),
    "text": TableColumn("Training sentence", width=380),
    "label": TableColumn("Label", width=110),
}


@dataclass(frozen=True)
class TrainingNeighbors:
    """Training sentences that are near to the selected sentences in embedding space."""

    common: SharedNeighbors
    said: str  # describes the selection


def find_training_neighbors(source: Source) -> TrainingNeighbors:
    """Find training sentences near the selected ones; NotAvailable: fewer than two selected, or no training texts."""
    shown = select_rows(source)
    if len(shown.places) < LEAST:
        raise NotAvailable("two sentences or more are needed: --with select=RULES")
    return TrainingNeighbors(source.reader.find_common_training(shown), shown.description)


def describe_labels(shown: TrainingNeighbors) -> str:
    """Describe how many of the nearest training sentences have the row's true label, and how many its predicted one."""
    found = shown.common
    of = f"Of the {found.each} nearest training sentences of each, {whole_percent(found.true)} have its true label"
    return f"{of} and {whole_percent(found.said)} its predicted label."


MAP_COMMON: Figure[TrainingNeighbors] = Figure(
    "map-training",
    "embeddings",
    "Nearest training sentences",
    find_training_neighbors,
    lambda shown, look: DataTable(shown.common.found[list(TRAINING_COLUMNS)], TRAINING_COLUMNS),
    note=lambda shown: f"{count(shown.common.n)} selected, among {count(shown.common.among)} training sentences",
    reading=describe_labels,
    how="Each selected sentence has its ten nearest training sentences, by cosine of what the model's head reads; a "
    "training sentence counts once for each selected one that has it among its ten. The vectors are not averaged: the "
    "mean of a selection may be far from all its sentences. If either side is very large, a sample of it is compared.",
    needs="pooled",
    options=(SELECT, ORDER),
    tables=lambda shown: {"Training neighbours": shown.common.found},
)
