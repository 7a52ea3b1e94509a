"""Every figure of a run, in the order of the pages: a new one is a line here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.failures import analyses
from dashboard.figures import (
    ablation_levers,
    behavioral_tests,
    belief,
    calibration,
    class_separation,
    compare_curves,
    compare_sentences,
    comparing,
    confusion,
    contrast,
    data_quality,
    diagram,
    distance,
    distinguishing_features,
    embeddings,
    error_rates,
    errors,
    heads,
    labels,
    lambda_bench,
    lambdas,
    learned,
    map_groups,
    map_neighbours,
    methods,
    metrics,
    patching,
    ranking,
    saved,
    steps,
    tagged,
    tokens,
    training,
    words,
)
from dashboard.figures.figure import Figure

ALL: tuple[Figure[Any], ...] = (
    *(training.LEARNING, training.LAMBDAS, lambdas.COURSE, lambdas.FINAL),
    *(metrics.METRICS, confusion.CONFUSION, confusion.CONFIDENCE, metrics.CLASSES, labels.LABELS),
    *(ranking.ROC, ranking.PR, calibration.CALIBRATION, calibration.COSTS, metrics.PHENOMENA, saved.SAVED),
    *(errors.ERRORS, error_rates.GATHERED, distinguishing_features.OVERUSED, distinguishing_features.MARKED),
    *(error_rates.SLICED, distinguishing_features.CLOUDS),
    *(data_quality.DOUBTED, data_quality.SHIFT, data_quality.SHIFT_WORDS),
    *(data_quality.analysis_figure(analyses.load(name)) for name in analyses.NAMES if name != "shift"),
    *(comparing.MODELS, comparing.PAIRS, compare_sentences.MATRIX, comparing.WHERE),
    *(compare_curves.ROC, compare_curves.CALIBRATION, compare_curves.LAMBDAS),
    *(compare_sentences.MAPS, compare_curves.COST),
    *(embeddings.MAP, map_neighbours.MAP_NEIGHBOURS, map_groups.MAP_GROUPS),
    *(class_separation.MAP_LAYERS, class_separation.SILHOUETTES),
    *(words.WORDS, heads.HEADS, heads.COEFFICIENTS, heads.COMBINED, heads.HEAD_VIEW),
    *(ablation_levers.LEVERS, lambda_bench.LAMBDA_BENCH, methods.METHODS, methods.READ_NEEDED),
    *(belief.BELIEF, belief.ALONG, patching.PATCHING),
    *(tokens.GATES, tokens.TOKEN_LAMBDA, tokens.POLARITY, tokens.BRANCHES, tokens.LEXICON, tokens.SUPPORT),
    *(learned.NUMBERS_OF, distance.DISTANCE, contrast.DIFFERENCE),
    *(steps.STEPS, tagged.TAG_SENTENCES, tagged.TAG_TYPES, tagged.TAG_ERRORS, tagged.TAG_TYPED, tagged.TAG_CHANCES),
    *(diagram.DIAGRAM, behavioral_tests.RATES),
)
FIGURES: dict[str, tuple[Figure[Any], dict[str, Any]]] = {
    name: (figure, choices) for figure in ALL for name, choices in figure.variants()
}
"""By the name of the file: the figure, and the values that its options have there."""


def others(page: str, placed: Sequence[Figure[Any]]) -> list[Figure[Any]]:
    """List the figures of a page that it does not place itself."""
    return [figure for figure in ALL if figure.page == page and figure not in placed]
