"""The commands of Sentiscope as Python functions ("verbs"), which return plain data.

Each verb is one function with one docstring, from which the command line is generated (`core.cli`). If its first
argument is a run, it is also a method of `Run` (`core.api.public_classes`). `print_VERB` prints its result on a
terminal.

Wrong input raises InputError with a sentence that lists the valid choices; exit code 2. A damaged file raises
RunDamaged, a missing part of a run or machine NotAvailable; exit code 1. Heavy imports are inside each verb.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from core.error_analysis.analyses import NAMES

VERBS: dict[str, str] = {
    "sweep": "sweeps:sweep",
    "train": "training:train",
    "pretrain": "training:pretrain",
    "evaluate": "evaluation:evaluate",
    "compare": "comparison:compare",
    "behave": "behavior:behave",
    "errors": "error_analysis:errors",
    "slices": "error_analysis:slices",
    **{name: f"analyses:{name}" for name in NAMES},
    "predict": "prediction:predict",
    "inspect": "inspection:inspect",
    "explain": "attribution:explain",
    "patch": "ablation:patch",
    "steps": "inspection:steps",
    "agreement": "faithfulness:agreement",
    "believe": "faithfulness:believe",
    "flip": "counterfactual:flip",
    "distance": "counterfactual:distance",
    "quiz": "quiz_questions:quiz",
    "project": "embeddings:project",
    "groups": "embeddings:groups",
    "layers": "embeddings:layers",
    "neighbours": "embeddings:neighbours",
    "figures": "drawing:figures",
    "report": "drawing:report",
    "lesson": "lessons:lesson",
    "claims": "claims:claims",
    "reproduce": "papers:reproduce",
    "presets": "models:presets",
    "dashboard": "dashboard_server:dashboard",
    "doctor": "system_check:doctor",
    "backbones list": "models:backbones_list",
    "backbones check": "models:backbones_check",
    "codes list": "codes:codes_list",
    "codes add": "codes:codes_add",
    "codes edit": "codes:codes_edit",
    "codes rm": "codes:codes_remove",
    "codes code": "codes:codes_code",
    "codes note": "codes:codes_note",
    "codes merge": "codes:codes_merge",
    "codes split": "codes:codes_split",
    "codes draw": "codes:codes_draw",
    "codes rates": "codes:codes_rates",
    "codes kappa": "codes:codes_kappa",
    "codes export": "codes:codes_export",
    "codes import": "codes:codes_import",
    "codes undo": "codes:codes_undo",
    "counter-examples list": "counter_examples:counter_examples_list",
    "counter-examples keep": "counter_examples:counter_examples_keep",
    "counter-examples rm": "counter_examples:counter_examples_remove",
    "counter-examples export": "counter_examples:counter_examples_export",
    "data list": "data:data_list",
    "data card": "data:data_card",
    "data check": "data:data_check",
    "runs list": "runs:runs_list",
    "runs show": "runs:runs_show",
    "runs measure": "runs:runs_measure",
    "runs cancel": "runs:runs_cancel",
    "runs export": "runs:runs_export",
    "runs import": "runs:runs_import",
    "runs rm": "runs:runs_remove",
    "talks list": "talks:talks_list",
    "talks show": "talks:talks_show",
    "talks add": "talks:talks_add",
    "talks rm": "talks:talks_remove",
    "sweeps list": "sweeps:sweeps_list",
    "sweeps show": "sweeps:sweeps_show",
    "sweeps cancel": "sweeps:sweeps_cancel",
    "sweeps rm": "sweeps:sweeps_remove",
}
"""Command → module of `core.api` and function."""
PYTHON = {
    "ablation": ("lambdas", "parts"),
    "attribution": ("methods",),
    "drawing": ("figure",),
    "inspection": ("sentence",),
    "models": ("presets_show",),
    "runs": ("runs_history", "runs_predictions", "runs_table"),
    "training": ("resume", "tabulate_scores", "describe_start", "summarize_run"),
}
"""Module → functions for Python only: arrays, frames, figures, and parts of other verbs."""


def load_verb(command: str) -> tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any]], None] | None]:
    """Return the API function of a command, and the function that prints the result (None if there is none)."""
    place, _, name = VERBS[command].partition(":")
    module = import_module(f"core.api.{place}")
    return getattr(module, name), getattr(module, f"print_{name}", None)


def __getattr__(name: str) -> Any:
    """Import an API function at its first use."""
    places = {function: module for module, _, function in (each.partition(":") for each in VERBS.values())}
    places |= {function: module for module, functions in PYTHON.items() for function in functions}
    if name not in places:
        raise AttributeError(f"module 'core.api' has no attribute {name!r}")
    return getattr(import_module(f"core.api.{places[name]}"), name)
