"""Data cards, which are stored on disk next to the runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import core
from core import data as labelled
from core.evaluation.baseline_schema import VERSION
from core.exceptions import SentiscopeError
from core.fingerprint import hash_value
from core.runs.analyses import Analysis, Offer
from core.runs.background_jobs import Tell
from core.runs.cost_estimate import Counts, get_vocab_settings
from core.runs.store import RunStore
from core.text.config import TextConfig
from dashboard import access
from dashboard.data import data as reader

if TYPE_CHECKING:
    from core.config import RunConfig
    from core.data.dataset import Dataset


AT_ONCE = 2_000_000
"""Characters up to which the card of a data set is made without asking: some seconds."""


@dataclass(frozen=True, eq=False)
class DataCard(Analysis[dict[str, Any]]):
    """The data card without the baselines."""

    data: Dataset = field(repr=False)
    text: TextConfig

    name = "card"
    offer = Offer(
        "Count now",
        "Counting words, lengths and repeats",
        "Counting failed",
        "Counting words, lengths and repeats takes up to a minute, once.",
    )

    @classmethod
    def from_dataset(cls, data: Dataset, text: TextConfig) -> DataCard:
        """Return the card of data that are read in this way."""
        made = {"version": core.__version__, "yardstick": VERSION}
        key = hash_value({**made, "data": data.fingerprint, "classes": data.classes, "text": text})
        return cls(access.get_library_folder() / "cards", f"card-{key}", RunStore(), data, text)

    @property
    def shape(self) -> Any:
        """Return the type of a card."""
        return labelled.card.Card

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command that computes it, for named data."""
        return "data", "card", "--no-yardstick", "--", self.data.name

    def find(self, tell: Tell) -> dict[str, Any]:
        """Count words, lengths and repeats of the data."""
        return labelled.card.build_card(self.data, self.text)


def is_quick(data: Dataset) -> bool:
    """Return whether the card of a data set takes only a few seconds."""
    return sum(int(rows["text"].str.len().sum()) for rows in data.splits.values()) <= AT_ONCE


def get_counts(config: RunConfig) -> Counts | None:
    """Return the counts of a run's data; None where this server does not hold them in memory."""
    held = reader.get_loaded_dataset(replace(config.data, limit=0, examples=""))
    if held is None:
        return None
    found = Counts(len(held.splits["train"]), len(held.classes))
    if not is_quick(held) or config.text.tokenizer_fit == "all" or config.model.backbone or config.training.start:
        return found
    try:
        fitted = reader.fit_tokenizer(held, get_vocab_settings(config.text))
    except SentiscopeError:  # a training with these settings says why
        return found
    return replace(found, vocabulary=fitted.size, longest=fitted.max_length)
