"""The tag of texts that a run is unsure of under dropout: found in a process of its own when somebody asks."""

from __future__ import annotations

from functools import partial

from core.failures import unsure
from core.failures.tags import called
from core.runs import errands
from dashboard.data import data
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer

NAME = called("unsure under dropout")


def unsure_offer(source: Source) -> None:
    """The job while it runs, or the button that begins it; nothing once the tag is there, or can never be."""
    record, split = source.record, source.split
    found = data.unsure(record, split)
    if found.files is None or errands.job(found.files).status == "done":
        return
    about = (
        f"The run reads the texts {unsure.READINGS} times with dropout left on, in a separate process, and keeps "
        f"what it finds. The tag: the answer is another in {unsure.FLIPS:.0%} of the readings or more, or its "
        f"probability has a standard deviation of {unsure.SPREAD} or more."
    )
    start, failed = partial(unsure.start, data.store(), record, split), "It could not be read with dropout on"
    offer(found.files, f"Find what is {NAME}", "find-unsure", "Reading with dropout on", failed, start, about=about)
