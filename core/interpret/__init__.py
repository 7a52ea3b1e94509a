"""Explanations of a run's prediction on one typed sentence: attribution, ablation, counterfactuals and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.interpret import (
        ablation,
        explain_context,
        faithfulness,
        forward_pass,
        model_edits,
        attribution,
        counterfactual,
        attribution_math,
        sentence_inspection,
        forward_stages,
        negation_templates,
        trace_summary,
    )
    from core.interpret import faithfulness_verdict

__getattr__ = make_getattr(__name__)
