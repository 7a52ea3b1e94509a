"""Data sets: list, card, check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import compose
from core.data.held import held
from core.data.sources import SOURCES
from core.runs.start import START
from core.runs.store import RunStore
from core.verbs.training import configure


def data_list() -> dict[str, Any]:
    """Every registered data set, and whether it can be opened on this machine."""
    return {
        "data": [
            {
                "name": source.name,
                "title": source.title,
                "task": source.task,
                "classes": list(source.classes),
                "language": source.language,
                "licence": source.licence,
                "state": (state := held(source)).state,
                "lacking": state.lacking,
                "published": layout.where if (layout := source.published) else "",
                "layout": layout.described() if layout else "",
                "rows": dict(layout.rows) if layout else {},
                "checked": source.checked,
                "note": source.note,
            }
            for source in SOURCES.values()
        ]
    }


def data_card(data: str, settings: Mapping[str, Any] | None = None, *, yardstick: bool = True) -> dict[str, Any]:
    """The card of a data set as the given settings would load it.

    Args:
        data: a registered name, a folder or a file.
        settings: changes to the settings of `vanilla`.
        yardstick: whether to train TF-IDF with logistic regression as well, on words and on words with character
            n-grams (seconds to minutes); never of words with a tag each, which TF-IDF knows nothing of.
    """
    from core.data.card import data_card as card
    from core.data.load import load
    from core.evaluation.yardstick import CHARACTERS, WORDS
    from core.evaluation.yardstick import yardstick as measured

    config = configure(data, "vanilla", settings)
    dataset = load(config.data)
    beside = (
        [measured(dataset, model) for model in (WORDS, CHARACTERS)] if yardstick and dataset.task != "tokens" else []
    )
    return card(dataset, config.text, *beside)


def data_check(
    data: str, settings: Mapping[str, Any] | None = None, *, start: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """Return everything found in a file, a folder or a named data set, and whether it can be trained on.

    Of one that can: `differences` of validation and test from training (`core.evaluation.differences`).

    Args:
        data: a registered name, a folder or a file.
        settings: changes to the settings of `vanilla`.
        start: a run that a training of these data would start from, as `training.start` in the settings; what it and a
            `training.teacher` learned from is left out of every split but train, and `notes` says how much that is.
        store: where those runs are.

    Raises:
        RunNotFound: there is no such run.
    """
    from core.data.check import check
    from core.evaluation.differences import dataset_differences
    from core.runs.lineage import planned_lineage

    begun = {START: start} if start else {}
    config = compose("vanilla", {**(settings or {}), **begun, "data.name": data})
    with planned_lineage(store or RunStore(), config) as (given, unknown):
        found = check(given, lambda dataset: {"differences": dataset_differences(dataset)})
    return {**found, "notes": [*found["notes"], *unknown]} if found["ok"] else found
