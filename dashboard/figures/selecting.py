"""Which sentences figures of Errors are about, as an option of theirs and as a parameter of links."""

from __future__ import annotations

from core.exceptions import NotAvailable
from core.failures.selection import ORDERS
from dashboard.figures.analysis import Analysis
from dashboard.figures.source import FREE, Option, Source

WRONG = "wrong"
"""What is shown where nothing is selected."""
SELECT = Option(
    "select",
    "Selection",
    lambda source: FREE,
    "Rules that select sentences, as a link has them: wrong;truth=negative",
    usual=lambda source: WRONG,
)


ORDER = Option(
    "order",
    "Order",
    lambda source: list(ORDERS),
    "In which order the sentences are read; usually as they were chosen, else the surest first",
    usual=lambda source: "",
    words=lambda source, name: ORDERS.get(str(name), ""),
)


def analysis(source: Source) -> Analysis:
    """The selected rows of a source; the first of the others on the same data has a tag for what it says otherwise.

    Raises:
        NotAvailable: no split has been evaluated.
        InputError: the selection is not understood.
    """
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    same = (each.run for each in source.others if each.data_fingerprint == source.record.data_fingerprint)
    asked = source.record, source.split, str(source.chosen(SELECT)) or WRONG, source.author
    found = source.reader.analysis(*asked, against=next(same, ""))
    return found.ordered(str(source.chosen(ORDER))) if ORDER.name in source.choices else found
