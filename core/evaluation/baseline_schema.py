"""Types of a yardstick stored on disk. Imports nothing heavy, so that pages read it without torch."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from core.json_store import Figure, Seconds

VERSION = 4  # raised whenever the same data and settings would give other numbers


class TunedSplits(TypedDict):
    """Thresholds by label, for several labels per text, and metrics by split at these thresholds."""

    thresholds: dict[str, Figure]
    splits: dict[str, dict[str, Figure]]


class BaselineResult(TypedDict):
    """The stored result of `core.evaluation.baseline.fit_baseline`."""

    model: str
    C: Figure
    scale: NotRequired[Figure]
    temperature: Figure
    splits: dict[str, dict[str, Figure]]
    phenomena: dict[str, Figure]
    tuned: NotRequired[TunedSplits]
    seconds: Seconds


class BaselineResults(TypedDict):
    """Both yardsticks, by their names in a data card."""

    yardstick: BaselineResult
    yardstick_chars: BaselineResult
