"""The tag of texts that a run is unsure of under dropout: found in a process of its own when somebody asks."""

from __future__ import annotations

from core.runs import errands
from dashboard.data import data
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer


def unsure_offer(source: Source) -> None:
    """The job while it runs, or the button that begins it; nothing once the tag is there, or can never be."""
    found = data.unsure(source.record, source.split)
    if found.files is None or errands.job(found.files).status == "done":
        return
    offer(found.files, "find-unsure", about=True)
