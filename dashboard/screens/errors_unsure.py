"""The tag of texts that a run is unsure of under dropout: found in a process of its own when somebody asks."""

from __future__ import annotations

from functools import partial

from core.failures import unsure
from core.runs import errands
from dashboard import data
from dashboard.figures.source import Source
from dashboard.widgets.errand import offer
from dashboard.widgets.figure import caption

NAME = "unsure under dropout"


def unsure_offer(source: Source) -> None:
    """Why there is no such tag, the job while it runs, or the button that begins it; nothing once it is there."""
    record, split = source.record, source.split
    found = data.unsure(record, split)
    if found.files is None:
        caption(f"There is no tag “{NAME}”: {found.why}.")
        return
    if errands.job(found.files).status == "done":
        return
    about = (
        f"The run reads the texts {unsure.READINGS} times with dropout left on, in a separate process, and keeps "
        f"what it finds. The tag: the answer is another in {unsure.FLIPS:.0%} of the readings or more, or its "
        f"probability has a standard deviation of {unsure.SPREAD} or more."
    )
    start, failed = partial(unsure.start, data.store(), record, split), "It could not be read with dropout on"
    offer(found.files, f"Find what is {NAME}", "find-unsure", "Reading with dropout on", failed, start, about=about)
