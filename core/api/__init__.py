"""The commands of Sentiscope as Python functions ("verbs"), which return plain data.

Each verb is one function with one docstring, from which the command line is generated (`core.cli`). If its first
argument is a run, it is also a method of `Run` (`core.api.public_classes`). `print_VERB` prints its result on a
terminal.

Wrong input raises InputError with a sentence that lists the valid choices; exit code 2. A damaged file raises
RunDamaged, a missing part of a run or machine NotAvailable; exit code 1. Heavy imports are inside each verb.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from core.error_analysis.analyses import NAMES

VERBS: dict[str, str] = {
    "sweep": "runs:sweep",
    "train": "training:train",
    "pretrain": "training:pretrain",
    "evaluate": "evaluation:evaluate",
    "compare": "evaluation:compare",
    "behave": "evaluation:behave",
    "errors": "error_analysis:errors",
    "slices": "error_analysis:slices",
    **{name: f"error_analysis:{name}" for name in NAMES},
    "open": "models:open_classifier",
    "predict": "prediction:predict",
    "inspect": "prediction:inspect",
    "explain": "attribution:explain",
    "patch": "attribution:patch",
    "steps": "prediction:steps",
    "attend": "attention:attend",
    "believe": "faithfulness:believe",
    "flip": "faithfulness:flip",
    "distance": "faithfulness:distance",
    "quiz": "exhibits:quiz",
    "project": "embeddings:project",
    "groups": "embeddings:groups",
    "layers": "embeddings:layers",
    "neighbours": "embeddings:neighbours",
    "figures": "exhibits:figures",
    "report": "exhibits:report",
    "export": "exhibits:export",
    "lesson": "exhibits:lesson",
    "claims": "papers:claims",
    "reproduce": "papers:reproduce",
    "theory": "papers:theory",
    "presets": "models:presets",
    "efficiency": "models:efficiency",
    "dashboard": "machine:dashboard",
    "doctor": "machine:doctor",
}
"""Command of one word → module of `core.api` and function."""
NOUNS = {
    "backbones": ("Pretrained encoders on this machine", "models", "list check convert"),
    "codes": (
        "Codes of sentences",
        "codes",
        "list add edit rm code note merge split draw rates kappa export import undo",
    ),
    "counter-examples": ("Sentences that a model gets wrong", "data", "list keep rm export"),
    "data": ("Data sets", "data", "list card check"),
    "runs": ("Runs", "runs", "list show measure cancel export import rm"),
    "talks": ("Talks", "exhibits", "list show add rm"),
    "sweeps": ("Sweeps", "runs", "list show cancel rm"),
}
"""Noun of the commands of two words → title, module, and verbs: `codes rm` is the function `codes_remove`."""
VERBS |= {
    f"{noun} {verb}": f"{module}:{noun.replace('-', '_')}_{'remove' if verb == 'rm' else verb}"
    for noun, (_, module, verbs) in NOUNS.items()
    for verb in verbs.split()
}
PYTHON = {
    "attribution": ("lambdas", "methods", "parts"),
    "exhibits": ("figure",),
    "models": ("presets_show",),
    "prediction": ("sentence",),
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
