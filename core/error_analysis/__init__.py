"""Error analysis of a run: the table of its predictions, filter rules that select rows, and what those rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.error_analysis import analyses, annotation_store, annotations_csv, clusters, codebook, counter_examples
    from core.error_analysis import dataset_shift, label_errors, lexicon_fit, mc_dropout, neighbors, predictions_table
    from core.error_analysis import linguistic_tags, query, quiz, report, row_annotations, selection, slices, tags

__getattr__ = make_getattr(__name__)
