"""Schema types of a stored TF-IDF baseline. Imports nothing heavy, so that pages read it without torch."""

from typing import NotRequired, TypedDict

from core.json_store import Figure, Seconds

VERSION = 4  # raise it when the same data and settings give other numbers


class TunedSplits(TypedDict):
    """Schema of thresholds tuned for each label (multi-label data), and of each split's metrics at these thresholds."""

    thresholds: dict[str, Figure]
    splits: dict[str, dict[str, Figure]]


class BaselineResult(TypedDict):
    """Schema of a stored TF-IDF baseline, the result of `core.evaluation.baseline.fit_baseline`."""

    model: str
    C: Figure
    scale: NotRequired[Figure]
    temperature: Figure
    splits: dict[str, dict[str, Figure]]
    phenomena: dict[str, Figure]
    tuned: NotRequired[TunedSplits]
    seconds: Seconds


class BaselineResults(TypedDict):
    """Schema of both TF-IDF baselines (words; words and characters), by their names in a data card."""

    yardstick: BaselineResult
    yardstick_chars: BaselineResult
