"""The two recorded trainings of the lesson `data`: what was trained, on which sentences it was asked, and the records.

`core.lessons.record_training` makes them, with the settings that stand here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded_training.json")
PRESET = "vanilla"
SETTINGS: dict[str, dict[str, Any]] = {
    "few": {"data.limit": 500, "training.epochs": 40, "training.patience": 0},
    "many": {"data.limit": 0, "training.epochs": 10, "training.patience": 0},
}
"""Of each training, by name; all else is as in the preset."""
MEASURED = 400  # sentences of training and of validation whose answers are counted
PROBES = (
    "The soup was delicious.",
    "The soup was not delicious.",
    "The soup was awful.",
    "The soup was not awful.",
    "I enjoyed the concert.",
    "I did not enjoy the concert.",
)
"""Sentences that the model was asked on the way; none is in the corpus."""
MEANT = ("positive", "negative", "negative", "positive", "positive", "negative")
"""The class that the writer of each probe means."""


def read_records() -> dict[str, Any]:
    """Return the records by name of the training."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
