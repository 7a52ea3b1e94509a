"""Training runs: their directories, and the processes and analyses that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.runs import (
        labeled_predictions,
        archive,
        backbone_builder,
        comparison,
        data_shift,
        pipeline,
        training_jobs,
        evaluation_data,
        layers,
    )
    from core.runs import (
        lineage,
        load,
        predictions,
        projections,
        report,
        results,
        train_overlap,
        comparison_data,
        store,
        sweep,
        talks,
    )
    from core.runs import (
        sweep_drive,
        sweep_table,
        word_tagging,
        tag_predictions,
        distillation,
        worker,
        backbone_conversion,
        edit_effect,
    )

__getattr__ = make_getattr(__name__)
