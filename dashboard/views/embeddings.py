"""A split on a map: its points with what is known of them, how they are coloured, what the map is worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.evaluation.multilabel import HALF
from core.evaluation.projection import NAMES, NEIGHBOURS, Projection, ProjectionConfig
from core.exceptions import RunDamaged
from dashboard.charts.embeddings import HOVERED, Group, Shades, Spectrum
from dashboard.charts.numbers import number
from dashboard.charts.theme import Tokens, class_colours
from dashboard.views.results import LABEL, PROBABILITY, Stat, answer_probability

COLOURS = ("label", "prediction", "correctness", "confidence")
PHENOMENON = "phenomenon"
SAID = "said:"
OF = "label "
"""Before a label, the way of colouring by it, where sentences may have several."""
KINDS = 6
"""Phenomena with a colour of their own; look.md: six categories at most."""
WORDS = 70
"""Characters of a sentence that are shown when it is pointed at."""


def points_frame(saved: pd.DataFrame, classes: tuple[str, ...]) -> pd.DataFrame:
    """What is known of each sentence of a split: text, label, predicted, probability (of the predicted), phenomenon.

    Of several labels a text also 0/1 columns `label:CLASS` and `said:CLASS` (at 0.5) each.

    Raises:
        RunDamaged: a column is missing.
    """
    try:
        bits = [name for name in (f"{LABEL}{each}" for each in classes) if name in saved]
        chances = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        kept = ["text", "label", "predicted", *([PHENOMENON] if PHENOMENON in saved else []), *bits]
        said = {f"{SAID}{name}": chances[:, i] > HALF for i, name in enumerate(classes)} if bits else {}
        return saved[kept].assign(probability=answer_probability(chances, several=bool(bits)), **said)
    except (KeyError, ValueError) as error:
        raise RunDamaged(f"the saved predictions do not fit the classes of the run: {error}") from error


def ways(points: pd.DataFrame) -> list[str]:
    """What the points can be coloured by."""
    bits = [f"{OF}{name.removeprefix(LABEL)}" for name in map(str, points) if name.startswith(LABEL)]
    first = [*bits, *(way for way in COLOURS if way not in ("label", "prediction"))] if bits else list(COLOURS)
    return [*first, PHENOMENON] if PHENOMENON in points else first


def colouring(points: pd.DataFrame, way: str, classes: Sequence[str], tokens: Tokens) -> list[Group] | Shades:
    """The placed `points`, in the order of the map, as groups or shades."""
    if way.startswith(OF):
        return _with_label(points, way.removeprefix(OF), tokens)
    if way == "confidence":
        least = 0.0 if any(str(name).startswith(LABEL) for name in points) else 1 / len(classes)
        return Shades("P(said)", points["probability"].to_numpy(float), least, 1.0)
    if way == "correctness":
        wrong = (points["label"] != points["predicted"]).to_numpy()
        return [
            Group("correct", np.flatnonzero(~wrong), tokens.right),
            Group("wrong", np.flatnonzero(wrong), tokens.wrong, "x", front=True),
        ]
    if way == PHENOMENON:
        return _kinds(points[PHENOMENON].astype(str), tokens)
    column = points["label" if way == "label" else "predicted"].to_numpy()
    return [
        Group(name, np.flatnonzero(column == name), colour)
        for name, colour in zip(classes, class_colours(tokens, classes), strict=True)
    ]


def _with_label(points: pd.DataFrame, label: str, tokens: Tokens) -> list[Group]:
    """The sentences that have a label, found or missed at 0.5, in front of all others."""
    has = points[f"{LABEL}{label}"].to_numpy() != 0
    found = points[f"{SAID}{label}"].to_numpy(bool)
    return [
        Group("others", np.flatnonzero(~has & ~found), tokens.right),
        Group(f"said {label}, is not", np.flatnonzero(~has & found), tokens.wrong, "x"),
        Group(f"{label}, missed", np.flatnonzero(has & ~found), tokens.categories[1], "diamond", front=True),
        Group(f"{label}, found", np.flatnonzero(has & found), tokens.accent, front=True),
    ]


def _kinds(column: pd.Series, tokens: Tokens) -> list[Group]:
    """The most frequent kinds in colour, all others together in grey behind them."""
    order = list(column.value_counts().index[:KINDS])
    groups = [
        Group(kind, np.flatnonzero(column == kind), colour, front=True)
        for kind, colour in zip(order, tokens.categories, strict=False)
    ]
    rest = np.flatnonzero(~column.isin(order))
    return [Group("others", rest, tokens.right), *groups] if len(rest) else groups


def hover_words(points: pd.DataFrame) -> list[str]:
    """The beginning of each sentence and what was said of it; nothing where there are too many."""
    if len(points) > HOVERED:
        return []
    return [
        f"{text[:WORDS]}{'…' if len(text) > WORDS else ''} · is {label}, said {said} ({number(chance)})"
        for text, label, said, chance in points[["text", "label", "predicted", "probability"]].itertuples(index=False)
    ]


def axis_titles(made: Projection, config: ProjectionConfig) -> list[str]:
    """What lies along each axis; nothing where a direction means nothing."""
    if not made.explained:
        return [""] * config.dimensions
    of = "of the variance" if config.dimensions == 2 else ""  # in space there is no room for it
    return [f"component {i}, {100 * share:.0f} % {of}".rstrip() for i, share in enumerate(made.explained, start=1)]


def map_name(config: ProjectionConfig) -> str:
    """`t-SNE, 2-D`."""
    return f"{NAMES[config.method]}, {config.dimensions}-D"


def map_stats(made: Projection, config: ProjectionConfig, width: int) -> list[Stat]:
    """How far the map can be believed."""
    quality, n = made.quality, len(made.quality.rows)
    stats = []
    if not quality.reason:
        stats.append(Stat(f"Silhouette, {width}-D original", float(quality.space.mean()), (-1.0, 1.0), n))
        stats.append(Stat(f"Silhouette, {map_name(config)}", float(quality.plane.mean()), (-1.0, 1.0), n))
    if quality.preserved is not None:
        stats.append(Stat(f"{NEIGHBOURS} nearest neighbours kept", quality.preserved, (0.0, 1.0), n))
    if made.explained:
        stats.append(Stat("Variance shown", sum(made.explained), (0.0, 1.0), len(made.rows)))
    return stats


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


def point_table(made: Projection, points: pd.DataFrame) -> pd.DataFrame:
    """The map as a table: row, coordinates, silhouettes where measured, and what is known of the sentence."""
    axes = {name: made.places[:, i] for i, name in enumerate("xyz"[: made.places.shape[1]])}
    table = pd.DataFrame({"row": made.rows, **axes})
    if not made.quality.reason:
        for name, samples in (("silhouette_space", made.quality.space), ("silhouette_map", made.quality.plane)):
            table[name] = pd.Series(samples, index=made.quality.rows)
    return pd.concat([table, points.reset_index(drop=True)], axis=1)


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
