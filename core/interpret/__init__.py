"""Explanations of a run's prediction on one typed sentence: attribution, ablation, counterfactuals and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.interpret import attention_findings, split_attention
    from core.interpret import ablation, attribution, attribution_math, counterfactual, explain_context, faithfulness
    from core.interpret import faithfulness_verdict, forward_pass, forward_stages, model_edits, negation_templates
    from core.interpret import sentence_inspection, trace_summary

__getattr__ = make_getattr(__name__)
