"""Every figure of a run by name, in the order of the pages: whatever is declared in the file of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.figures import (
    behaviour,
    belief,
    calibration,
    classes,
    compare_cost,
    compare_curves,
    compare_maps,
    compare_matrix,
    compare_where,
    comparing,
    confusion,
    contrast,
    costs,
    diagram,
    distance,
    doubted,
    embeddings,
    errors,
    finding,
    gathering,
    heads,
    labels,
    lambda_bench,
    lambdas,
    learned,
    levers,
    map_groups,
    map_layers,
    map_neighbours,
    marking,
    methods,
    metrics,
    overused,
    pairs,
    patching,
    phenomena,
    ranking,
    saved,
    shifted,
    silhouettes,
    steps,
    tagged,
    tokens,
    training,
    word_clouds,
    words,
)
from dashboard.figures.figure import Figure

TOPICS = (
    *(training, lambdas, metrics, confusion, classes, labels, ranking, calibration, costs, phenomena, saved),
    *(errors, gathering, overused, marking, finding, word_clouds, doubted, shifted),
    *(comparing, compare_matrix, compare_where, compare_curves, compare_maps, compare_cost),
    *(
        embeddings,
        map_neighbours,
        map_groups,
        map_layers,
        silhouettes,
        words,
        heads,
        levers,
        lambda_bench,
        methods,
        belief,
        patching,
    ),
    *(tokens, pairs, learned, distance, contrast),
    *(steps, tagged, diagram, behaviour),
)
ALL: tuple[Figure[Any], ...] = tuple(
    {
        figure.name: figure
        for topic in TOPICS
        for figure in vars(topic).values()
        if isinstance(figure, Figure) and figure.read is not None
    }.values()
)
FIGURES: dict[str, tuple[Figure[Any], dict[str, Any]]] = {
    name: (figure, choices) for figure in ALL for name, choices in figure.variants()
}
"""By the name of the file: the figure, and the values that its options have there."""


def others(page: str, placed: Sequence[Figure[Any]]) -> list[Figure[Any]]:
    """The figures of a page that it does not place itself."""
    return [figure for figure in ALL if figure.page == page and figure not in placed]
