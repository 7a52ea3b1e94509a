"""The shape of a yardstick that is kept on disk. Imports nothing heavy: pages read it without torch."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from core.stored import Figure, Seconds

VERSION = 4  # raised whenever the same data and settings would give other numbers


class TunedSplits(TypedDict):
    """Of several labels per text: thresholds by label, and metrics by split at these."""

    thresholds: dict[str, Figure]
    splits: dict[str, dict[str, Figure]]


class KeptYardstick(TypedDict):
    """What `core.evaluation.yardstick.yardstick` gives."""

    model: str
    C: Figure
    scale: NotRequired[Figure]
    temperature: Figure
    splits: dict[str, dict[str, Figure]]
    phenomena: dict[str, Figure]
    tuned: NotRequired[TunedSplits]
    seconds: Seconds


class KeptYardsticks(TypedDict):
    """Both, by their names in a data card."""

    yardstick: KeptYardstick
    yardstick_chars: KeptYardstick
