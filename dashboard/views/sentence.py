"""One text with its inside, as rows of maps and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.runs.record import RunRecord
from dashboard.charts.attention import MapRow, component_rows

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def subtracts(record: RunRecord) -> bool:
    """Whether this model takes its second map away."""
    return record.config.model.attention.mixing.startswith("differential")


def map_rows(view: SentenceView, layer: int, minus: bool) -> list[MapRow]:
    """The contributions of the components in one layer (0-based), and their sum where there are several."""
    found = view.layers[layer]
    return component_rows(found.components, found.coefficients, found.combined, minus)


def received(row: MapRow) -> list[float]:
    """How much each token is read on average over readers and heads."""
    return [float(value) for value in row.weights.mean((0, 1))]


def sentence_tables(view: SentenceView, minus: bool) -> dict[str, pd.DataFrame]:
    """What the page shows of one text, as tables for export."""
    tables = {
        "Prediction": pd.DataFrame(
            {"class": list(view.probabilities), "probability": list(view.probabilities.values())}
        )
    }
    if view.layers and view.tokens:
        parts = [_weights(view, layer, minus) for layer in range(len(view.layers))]
        tables["Attention"] = pd.concat(parts, ignore_index=True)
    return tables


def _weights(view: SentenceView, layer: int, minus: bool) -> pd.DataFrame:
    """One row for each head, reading and read token of a layer; a column for each map."""
    rows = map_rows(view, layer, minus)
    heads, length, _ = rows[0].weights.shape
    head, reads, read = (index.ravel() for index in np.indices((heads, length, length)))
    tokens: NDArray[np.str_] = np.array(view.tokens)
    frame = pd.DataFrame({"layer": layer + 1, "head": head + 1, "reads": tokens[reads], "is_read": tokens[read]})
    return frame.assign(**{row.name: row.weights.ravel() for row in rows})
