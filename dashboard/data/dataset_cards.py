"""Data cards (counts of words, lengths and repeated texts of a data set), stored on disk next to the runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import core
from core import data as labeled
from core.evaluation.baseline_schema import VERSION
from core.exceptions import SentiscopeError
from core.fingerprint import hash_value
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.cost_estimate import Counts, get_vocab_settings
from core.runs.store import RunStore
from core.text.config import TextConfig
from dashboard import access
from dashboard.data import data as reader

if TYPE_CHECKING:
    from core.config import RunConfig
    from core.data.dataset import Dataset


AT_ONCE = 2_000_000  # largest data set, in characters, whose card is computed at once (seconds)


@dataclass(frozen=True, eq=False)
class DataCard(Analysis[dict[str, Any]]):
    """A background analysis that counts the contents of a data set for its data card, without baseline scores."""

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
        """Return the data card analysis of a data set that is tokenised with certain text settings."""
        made = {"version": core.__version__, "yardstick": VERSION}
        key = hash_value({**made, "data": data.fingerprint, "classes": data.classes, "text": text})
        return cls(access.get_library_folder() / "cards", f"card-{key}", RunStore(), data, text)

    @property
    def shape(self) -> Any:
        """Return the schema type that a stored data card is validated with."""
        return labeled.card.Card

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes the data card of a data set."""
        return "data", "card", "--no-yardstick", "--", self.data.name

    def find(self, tell: Tell) -> dict[str, Any]:
        """Count words, text lengths and repeated texts of a data set for its data card."""
        return labeled.card.build_card(self.data, self.text)


def is_quick(data: Dataset) -> bool:
    """Return whether a data set is small enough for its data card to take only a few seconds."""
    return sum(int(rows["text"].str.len().sum()) for rows in data.splits.values()) <= AT_ONCE


def get_counts(config: RunConfig) -> Counts | None:
    """Return row, class and token counts of a run's data set; None if the server does not hold the data in memory."""
    held = reader.get_loaded_dataset(replace(config.data, limit=0, examples=""))
    if held is None:
        return None
    found = Counts(len(held.splits["train"]), len(held.classes))
    if not is_quick(held) or config.text.tokenizer_fit == "all" or config.model.backbone or config.training.start:
        return found
    try:
        fitted = reader.fit_tokenizer(held, get_vocab_settings(config.text))
    except SentiscopeError:  # training with these settings reports the reason
        return found
    return replace(found, vocabulary=fitted.size, longest=fitted.max_length)
