"""Error analysis of a run: the table of its predictions, filter rules that select rows, and what those rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.error_analysis import analyses, annotation_store, annotation_files, clusters, codebook
    from core.error_analysis import counter_examples, dataset_shift, label_errors, lexicon_fit, linguistic_tags
    from core.error_analysis import mc_dropout, neighbors, predictions_table, query, quiz, report, row_annotations
    from core.error_analysis import selection, slices, tags, word_replacement

__getattr__ = make_getattr(__name__)
