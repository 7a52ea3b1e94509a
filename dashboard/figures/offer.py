"""What is offered to somebody who has chosen nothing yet: a run, and a sentence to read with it."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.provides import provides
from core.runs.record import RunRecord
from core.text.pair import joined
from dashboard.figures.results import headline

CORPUS = "built-in"
SENTENCE = "The plot was not good, but the ending was never dull."
"""Every word is one of the built-in corpus."""
PAIR = joined("The film was not bad at all.", "It was a good film.")
"""The same for a run that reads two texts."""
EVERYDAY = "everyday"
"""The split that is most like what a newcomer types."""


def offered(records: Sequence[RunRecord]) -> RunRecord | None:
    """The run to begin with: one with λ where there is one, so that every page has something to move and to show.

    Only finished runs are offered. Of those, runs on the built-in corpus come first, since they know the words of
    `SENTENCE`; then runs with λ, those with one label per text (an accuracy and an F1 are not compared), those that
    read everyday sentences best, and the best.
    """
    done = [record for record in records if record.status == "done"]
    return max(done, key=_worth, default=None)


def offered_text(record: RunRecord) -> str:
    """What stands in the field before anybody has typed."""
    return PAIR if record.pairs else SENTENCE


def _worth(record: RunRecord) -> tuple[bool, bool, bool, float, float]:
    found, everyday = headline(record), record.results.get("metrics", {}).get(EVERYDAY, {})
    return (
        record.config.data.name == CORPUS,
        "lambda" in provides(record.config.model),
        record.task == "single",
        everyday.get("accuracy", 0.0),
        found.value if found else 0.0,
    )
