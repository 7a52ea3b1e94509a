"""Names, questions and kept results of the experiments on SentiFormer's theory. Imports no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

QUESTIONS = {
    "kernel": "Is attention a kernel smoother?",
    "memorise": "Can a transformer learn random labels by heart?",
    "markov": "Which models link the first word to the last?",
}
"""Name → the question that the experiment answers."""
LENGTHS = (4, 8, 16, 32, 64)
"""Words of a text, n."""
WINDOWS = (2, 4, 8)
"""Words that a window model sees, k."""
MODELS = {f"window-{k}": f"window of {k}" for k in WINDOWS}
MODELS |= {"tfidf": "TF-IDF", "lstm": "LSTM", "transformer": "transformer"}
"""Model → its name in words."""
PAIRS = (
    ("The soup was good, not bad.", "The soup was bad, not good."),
    ("The film was not boring, it was good.", "The film was not good, it was boring."),
)
"""Pairs of texts with the same words, the first positive and the second negative."""
HARD_CHANCE = 0.5
"""Accuracy of guessing on texts that end with *good*."""


def read_theory(name: str) -> dict[str, Any]:
    """Return the committed results of an experiment, as its function in `core.papers.theory.COMPUTED` returns them."""
    text = (files("core.papers") / "results" / "theory.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)[name]
    return found


def average_over_seeds(rows: Sequence[Mapping[str, Any]], model: str, n: int, key: str = "hard") -> float:
    """Return a model's mean accuracy at a length over the seeds; `hard`: on texts that end with *good*."""
    values = [row[key] for row in rows if (row["model"], row["n"]) == (model, n)]
    return float(sum(values) / len(values))
