"""Figure of the similarity of two runs' layers: linear CKA on the same sentences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, number
from core.runs.projections import LayerFiles, LayerSimilarity, compare_layers
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure, Source
from dashboard.figures.theme import Look, blend_colors, build_template, choose_text_color, make_sequential_scale


@dataclass(frozen=True, eq=False)
class SimilarLayers:
    """The similarity of the layers of two runs, with the runs' names."""

    names: tuple[str, str]
    found: LayerSimilarity


def _read_similarity(source: Source) -> SimilarLayers:
    if not source.others:
        raise NotAvailable("it is of two runs: name another with --against")
    runs = source.record.run, source.others[0].run
    here, other = (LayerFiles.from_run(source.reader.store(), run, source.evaluated) for run in runs)
    first, second = map(source.reader.label_run, runs)
    return SimilarLayers((first, second), compare_layers(here, other))


def _draw_similarity(shown: SimilarLayers, look: Look) -> go.Figure:
    t, found, size = look.tokens, shown.found, look.scale_size
    figure = go.Figure(layout={"template": build_template(look)})
    style: dict[str, Any] = {"zmin": 0, "zmax": 1, "colorscale": make_sequential_scale(t), "showscale": False}
    style |= {"xgap": 3, "ygap": 3, "hovertemplate": "%{y}, %{x}: CKA %{z:.3f}<extra></extra>"}
    figure.add_heatmap(x=list(found.second), y=list(found.first), z=found.values, **style)
    for row, own in enumerate(found.first):
        for column, other in enumerate(found.second):
            value = float(found.values[row, column])
            if np.isnan(value):
                continue
            color = choose_text_color(t, blend_colors(t.paper, t.ink, value))
            figure.add_annotation(
                x=other, y=own, text=number(value, 2), showarrow=False, font={"color": color, "size": size(15)}
            )
    first, second = map(escape_text, shown.names)
    figure.update_xaxes(title=second, showgrid=False, type="category")
    figure.update_yaxes(title=first, autorange="reversed", showgrid=False, type="category")
    return figure.update_layout(height=look.scale_height(90 + 56 * len(found.first)))


def describe_similarity(shown: SimilarLayers) -> str:
    """Return how alike the last layers of both runs are, as a sentence."""
    value = float(shown.found.values[-1, -1])
    return f"Last layers: {'all vectors are equal' if np.isnan(value) else f'CKA {number(value, 2)}'}."


CKA = Figure("cka", "compare", "Similar layers", _read_similarity, _draw_similarity).add_details(
    note=lambda shown: f"linear CKA, n = {count(shown.found.rows)}",
    reading=lambda shown: f"1: the same up to rotation and scale. {describe_similarity(shown)}",
    finding=describe_similarity,
    how="Each text is the mean of its token vectors after a layer. CKA compares which texts are near each other, not "
    "single numbers, so that widths may differ. `sentiscope layers RUN --against RUN` reads the layers.",
    needs="hidden",
    tables=lambda shown: {
        "CKA": pd.DataFrame(shown.found.values, columns=[*shown.found.second]).assign(layer=shown.found.first)
    },
)
