"""Deviations of each preset from its paper, and the papers' settings for pretrained encoders. Imports nothing heavy.

Settings that a paper gives are listed with its section; others are chosen here and marked as such, or come from the
preset `pretrained`. Names are those on the hub, as far as we know: without a network they could not be checked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PRESET = "pretrained"  # The preset that each recipe changes


class Departure(NamedTuple):
    """A difference between a preset and its paper, with what the paper says and why."""

    what: str
    paper: str  # What the paper states; empty if nothing
    why: str
    setting: str = ""  # Dotted name of a setting whose value in the preset is our choice
    instead: str = ""  # The value of that setting that follows the paper, if any
    ours: str = ""  # Our choice, if no setting expresses it


class PaperSetting(NamedTuple):
    """The value of a training setting in a paper, with the section that states it."""

    value: Any
    where: str  # The section that states it; or that none does, and the reason for the choice


@dataclass(frozen=True)
class FineTuning:
    """The settings with which a paper fine-tunes one pretrained encoder."""

    paper: str  # Its key in `core.models.presets.PAPERS`
    backbone: str  # OWNER/NAME on the hub
    source: str  # Where the paper names it
    settings: Mapping[str, PaperSetting] = field(default_factory=dict)
    note: str = ""


_FILE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def _list_departures(group: str) -> tuple[Departure, ...]:
    """Return the deviations of a group of the file, in which a text names another group."""
    rows = _FILE["departures"][group]
    parts = (_list_departures(row) if isinstance(row, str) else (Departure(**row),) for row in rows)
    return tuple(each for part in parts for each in part)


def _make_fine_tuning(groups: Sequence[str], **about: str) -> FineTuning:
    """Return a fine-tuning with the settings of some groups of the file; a later group overrides an earlier one."""
    settings = {name: PaperSetting(*each) for group in groups for name, each in _FILE["settings"][group].items()}
    return FineTuning(settings=settings, **about)


DEPARTURES = {group: _list_departures(group) for group in _FILE["departures"]}
FINE_TUNINGS = {name: _make_fine_tuning(**each) for name, each in _FILE["fine_tunings"].items()}
"""Name → recipe; names begin like the presets of the paper."""
