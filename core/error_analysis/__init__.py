"""Error analysis of a run: the table of its predictions, filter rules that select rows, and what those rows share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.error_analysis import (
        analyses,
        code_prevalence,
        row_annotations,
        annotations_csv,
        codebook,
        counter_examples,
        clusters,
    )
    from core.error_analysis import (
        label_errors,
        neighbors,
        report,
        query,
        selection,
        dataset_shift,
        slices,
        predictions_table,
        tags,
    )
    from core.error_analysis import training_index, mc_dropout, quiz

__getattr__ = make_getattr(__name__)
