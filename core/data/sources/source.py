"""Types for the facts about a named data set, such as its licence. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from core.data.sources.published_layouts import PUBLISHED, PublishedLayout

PARQUET_BRANCH = "refs/convert/parquet"
"""The branch with the hub's own Parquet copy of a data set, as CONFIG/SPLIT/0000.parquet."""


@dataclass(frozen=True)
class Hub:
    """The location of a data set's Parquet files on the Hugging Face hub."""

    repo: str
    files: dict[str, tuple[str, ...]]
    text: str = "text"
    label: str = "label"
    revision: str = "main"
    checked: str = "not checked"
    """`checked on DATE` if it was downloaded and its row counts compared; else where the entry comes from."""


@dataclass(frozen=True)
class DataSource:
    """A named data set: its description, its origin and the use of its splits."""

    name: str
    title: str
    licence: str
    citation: str
    language: str = "en"
    kind: Literal["built-in", "hub"] = "hub"
    task: Literal["single", "multi", "pair"] = "single"
    labels: dict[str, str] = field(default_factory=dict)
    ordered: bool = False
    hub: Hub | None = None
    reported_split: Literal["test", "validation"] = "test"
    """The split of reported results; if validation, it becomes test, and a new validation split is cut from train."""
    pooled: tuple[str, ...] = ("train", "validation", "test")
    """The given splits that `data.split` pools."""
    validation_share: float = 0.1
    """Share of train that becomes validation if there is no validation split."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Recommended settings (dotted), such as `text.max_length`; a preset's own settings override them."""
    reported: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Paper (`core.models.presets.Preset.paper`) → further settings with which it reports results on this data set."""
    note: str = ""

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names of a named data set, in label order."""
        return tuple(dict.fromkeys(self.labels.values()))

    @property
    def published(self) -> PublishedLayout | None:
        """Return the published file layout of the data set, if it is known."""
        return PUBLISHED.get(self.name)

    @property
    def checked(self) -> str:
        """Return whether a data set's download or file layout was ever checked against the real files."""
        if self.kind == "built-in":
            return "part of the program"
        if self.hub:
            return self.hub.checked
        return self.published.checked if self.published else "no repository known"
