"""Training runs: their directories, and the processes and analyses that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.runs import archive, backbone_conversion, background_jobs, backbone_weights, comparison
    from core.runs import attention_files, configuration, distillation, model_export, part_importance
    from core.runs import evaluation_data, lineage, load, pipeline, predictions, projections
    from core.runs import report, results, store, sweep, sweep_drive, sweep_table, talks, training_jobs, word_tagging
    from core.runs import wrapped_model

__getattr__ = make_getattr(__name__)
