"""How clearly the classes are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.evaluation.projection import Projection, ProjectionConfig
from core.exceptions import NotAvailable
from dashboard.figures.embeddings import DIMENSIONS, METHOD, SENTENCES, SPACE, Mapped, map_name, mapped
from dashboard.figures.figure import Figure
from dashboard.figures.map_colours import Floats
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import Panels
from dashboard.figures.source import Source
from dashboard.figures.theme import Look, class_colours, spread


@dataclass(frozen=True)
class Spectrum:
    """Silhouettes of one space, by class."""

    title: str
    overall: float
    classes: tuple[tuple[str, Floats], ...]
    """Name, and its samples in rising order."""


def spectra(
    made: Projection, points: pd.DataFrame, classes: Sequence[str], config: ProjectionConfig, width: int
) -> tuple[list[Spectrum], list[int]]:
    """Silhouettes by class in both spaces, and the numbers of the classes that occur."""
    labels = points["label"].to_numpy()[made.quality.rows]
    there = [number for number, name in enumerate(classes) if (labels == name).any()]

    def spectrum(title: str, samples: NDArray[np.floating]) -> Spectrum:
        parts = tuple((classes[i], np.sort(samples[labels == classes[i]])) for i in there)
        return Spectrum(title, float(samples.mean()), parts)

    both = [
        spectrum(f"original space, {width} dimensions", made.quality.space),
        spectrum(f"projection: {map_name(config)}", made.quality.plane),
    ]
    return both, there


def silhouette_table(spaces: Sequence[Spectrum]) -> pd.DataFrame:
    """The means of the silhouette plot."""
    rows = [
        {"space": space.title, "class": name, "n": len(samples), "silhouette": float(samples.mean())}
        for space in spaces
        for name, samples in space.classes
    ]
    total = {space.title: sum(len(samples) for _, samples in space.classes) for space in spaces}
    overall = [{"space": s.title, "class": "all", "n": total[s.title], "silhouette": s.overall} for s in spaces]
    return pd.DataFrame([*rows, *overall])


def draw_silhouettes(spaces: Sequence[Spectrum], colours: Sequence[str], look: Look) -> go.Figure:
    """Silhouette plots side by side: a bar for each sentence, sorted within its class, with means.

    Args:
        spaces: One panel each; the classes are the same in all.
        colours: One for each class.
        look: Theme and size.
    """
    t = look.tokens
    figure = Panels(look, [[space.title for space in spaces]], height=130 + 80 * len(colours), horizontal_spacing=0.06)
    n = sum(len(samples) for _, samples in spaces[0].classes)
    gap = max(1, round(0.06 * n))
    for column, space in enumerate(spaces, start=1):
        place = {"row": 1, "col": column}
        base, names, middles = 0, [], []
        # From the bottom upwards, so that the first class stands on top.
        for (name, samples), colour in reversed(list(zip(space.classes, colours, strict=True))):
            heights = base + np.arange(len(samples))
            mean = float(samples.mean())
            figure.add_scatter(
                x=samples,
                y=heights,
                fill="tozerox",
                mode="lines",
                line={"color": colour, "width": 1, "shape": "vh"},
                hovertemplate=f"{escape_text(name)}<br>silhouette %{{x:.3f}}<extra></extra>",
                **place,
            )
            ends = [heights[0], heights[-1]]
            figure.add_scatter(
                x=[mean, mean], y=ends, mode="lines", line={"color": t.ink, "width": 2}, hoverinfo="skip", **place
            )
            names.append(f"{escape_text(name)} <b>{number(mean)}</b><br>n = {count(len(samples))}")
            middles.append(sum(ends) / 2)
            base += len(samples) + gap
        for name, height in zip(names, spread(middles, 0.42 * (n + gap * len(names)) / len(names)), strict=True):
            figure.add_annotation(
                x=-0.99, y=height, xanchor="left", align="left", text=name, font={"color": t.ink}, **place
            )
        figure.add_vline(x=space.overall, line={"color": t.ink, "width": 1.2, "dash": "dot"}, **place)
        figure.add_annotation(
            x=space.overall,
            y=base,
            xanchor="left",
            xshift=6,
            text=f"all {number(space.overall)}",
            font={"color": t.ink},
            **place,
        )
        figure.add_vline(x=0, line={"color": t.ink, "width": 1}, **place)
    figure.update_xaxes(range=[-1, 1], tickvals=[-1, -0.5, 0, 0.5, 1], title="silhouette")
    figure.update_yaxes(showticklabels=False, showgrid=False, range=[-gap, n + gap * (len(colours) + 1)])
    return figure.drawn()


@dataclass(frozen=True)
class Silhouettes:
    """Both spaces of a map."""

    shown: Mapped
    spaces: list[Spectrum]
    there: list[int]
    """Positions of the classes that occur."""


def silhouettes(source: Source) -> Silhouettes:
    """How clearly the classes of a map are apart.

    Raises:
        NotAvailable: there is no map, or nothing to compare on it.
    """
    shown = source.once(mapped)
    if reason := shown.made.quality.reason:
        raise NotAvailable(f"it compares a class with the nearest other one, and {reason}")
    return Silhouettes(shown, *spectra(shown.made, shown.placed, shown.classes, shown.config, shown.width))


def _draw(shape: Silhouettes, look: Look) -> go.Figure:
    colours = class_colours(look.tokens, shape.shown.classes, ordered=shape.shown.ordered)
    return draw_silhouettes(shape.spaces, [colours[i] for i in shape.there], look)


def _note(shape: Silhouettes) -> str:
    made = shape.shown.made
    measured, placed = len(made.quality.rows), len(made.rows)
    of = "" if measured == placed else f" of {count(placed)}, a stratified sample"
    return f"{map_name(shape.shown.config)}, n = {count(measured)}{of}"


SILHOUETTES = Figure(
    "silhouettes",
    "embeddings",
    "Silhouettes",
    silhouettes,
    _draw,
    note=_note,
    reading=(
        "A line for each sentence, sorted within its true class; to the left of zero it lies nearer to another class."
        " Solid: the mean of a class; dotted: of all. Believe the original space where the two disagree."
    ),
    how=(
        "(b − a) / max(a, b), a being the mean distance to the own class and b that to the nearest other one "
        "(Rousseeuw 1987), Euclidean, by true class."
    ),
    options=(METHOD, DIMENSIONS, SPACE, SENTENCES),
    spread=(METHOD,),
    tables=lambda shape: {"Silhouettes": silhouette_table(shape.spaces)},
)
