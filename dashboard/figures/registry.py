"""Registry of every figure of a run, in the order of the pages; a new figure is added as one line here."""

from collections.abc import Sequence
from typing import Any

from core.error_analysis import analyses
from dashboard.figures import (
    ablation_levers,
    attention_heads,
    attribution_comparison,
    behavioral_tests,
    compare_curves,
    compare_sentences,
    data_quality,
    distinguishing_features,
    embedding_structure,
    embeddings,
    error_list,
    error_rates,
    faithfulness,
    forward_pass,
    interventions,
    lambdas,
    metrics,
    model_comparison,
    model_plan,
    papers,
    part_importance,
    split_attention,
    threshold_curves,
    thresholding,
    token_tags,
    token_values,
    training_curves,
    word_attributions,
)
from dashboard.figures.figure import Figure

ALL: tuple[Figure[Any], ...] = (
    *(training_curves.LEARNING, training_curves.GRADIENTS, training_curves.PROGRESS),
    *(split_attention.HEADS, *split_attention.SECTIONS),
    *(*part_importance.IMPORTANCE_FIGURES, part_importance.WORDS, part_importance.EFFECTS_OF_PARTS),
    *(lambdas.COURSE, lambdas.SHARES, lambdas.FINAL),
    *(metrics.METRICS, metrics.CONFUSION, metrics.CONFIDENCE, metrics.CLASSES, thresholding.LABELS),
    *(threshold_curves.ROC, threshold_curves.PR, threshold_curves.CALIBRATION, threshold_curves.COSTS),
    *(metrics.PHENOMENA, metrics.LENGTHS, error_rates.SAVED),
    *(error_list.ERRORS, error_rates.GATHERED, distinguishing_features.OVERUSED, distinguishing_features.MARKED),
    *(error_rates.SLICED, distinguishing_features.CLOUDS),
    *(data_quality.DOUBTED, data_quality.SHIFT, data_quality.SHIFT_WORDS),
    *(data_quality.make_analysis_figure(analyses.load(name)) for name in analyses.NAMES if name != "shift"),
    *(model_comparison.MODELS, model_comparison.PAIRS, compare_sentences.MATRIX, model_comparison.WHERE),
    *(compare_curves.ROC, compare_curves.CALIBRATION, compare_curves.LAMBDAS),
    *(compare_sentences.MAPS, compare_curves.COST, compare_sentences.CKA),
    *(embeddings.MAP, embedding_structure.MAP_NEIGHBORS, embedding_structure.MAP_GROUPS),
    *(embedding_structure.MAP_LAYERS, embedding_structure.SILHOUETTES),
    *(word_attributions.WORDS, attention_heads.HEADS, attention_heads.COEFFICIENTS, attention_heads.COMBINED),
    *(attention_heads.HEAD_VIEW, ablation_levers.LEVERS, interventions.LAMBDA_BENCH),
    *(attribution_comparison.METHODS, attribution_comparison.READ_NEEDED),
    *(faithfulness.BELIEF, faithfulness.ALONG, interventions.PATCHING),
    *(token_values.GATES, token_values.TOKEN_LAMBDA, token_values.POLARITY, token_values.BRANCHES),
    *(token_values.LEXICON, token_values.SUPPORT),
    *(token_values.NUMBERS_OF, interventions.DISTANCE, attribution_comparison.DIFFERENCE),
    *(forward_pass.STEPS, token_tags.TAG_SENTENCES, token_tags.TAG_TYPES, token_tags.TAG_ERRORS),
    *(token_tags.TAG_TYPED, token_tags.TAG_CHANCES),
    *(model_plan.DIAGRAM, behavioral_tests.RATES, behavioral_tests.GROUPS),
    *(papers.DIFFERENCES, papers.CLAIMS, papers.RESULTS, papers.CONFUSION, papers.EFFECT),
)
FIGURES: dict[str, tuple[Figure[Any], dict[str, Any]]] = {
    name: (figure, choices) for figure in ALL for name, choices in figure.iterate_variants()
}
"""File name → the figure, and the option values of this file."""


def list_unplaced(page: str, placed: Sequence[Figure[Any]]) -> list[Figure[Any]]:
    """Return the figures of a page except those that the page's own layout already includes."""
    return [figure for figure in ALL if figure.page == page and figure not in placed]
