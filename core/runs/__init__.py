"""Training runs: their directories, and the processes and analyses that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.runs import archive, attention_files, backbone_conversion, backbone_weights, background_jobs, comparison
    from core.runs import configuration, distillation, evaluation_data, lineage, load, model_export, part_importance
    from core.runs import pipeline, prediction_shards, predictions, projections, report, results, store, sweep
    from core.runs import sweep_drive, sweep_table, talks, training_jobs, word_tagging, wrapped_model

__getattr__ = make_getattr(__name__)
