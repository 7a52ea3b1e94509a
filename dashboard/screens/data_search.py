"""What is looked for among the texts becomes the selection of all pages, as far as the chosen run has answered them."""

from __future__ import annotations

from core.failures.selection import Selection
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.datasets import Filters
from dashboard.figures.points import PHENOMENON
from dashboard.widgets.runs import chosen_record


def take_search(name: str) -> None:
    """A filter was changed: what it comes to is selected by rule; a callback.

    Args:
        name: `data.name` of what the page shows.
    """
    record = chosen_record()
    if record is None:
        return
    filters = Filters(
        *(str(state.draft(key, "") or "") for key in (state.PART, state.CLASS, state.PHENOMENON, state.FIND))
    )
    if rules := _rules(filters):
        if not not_selected(record, name, filters):
            selection.choose(record, Selection(rules, filters.split), by=state.FIND)
            return
    if state.draft(state.SELECTOR, "") == state.FIND:
        selection.clear(record)


def not_selected(record: RunRecord, name: str, filters: Filters) -> str:
    """Why the run has none of these texts to select; empty: it has, or nothing is looked for."""
    if not _rules(filters):
        return ""
    if record.config.data.name != name:
        return f"{record.run} is of other data, so nothing is selected on other pages."
    if filters.split and filters.split not in data.evaluated_splits(record.run):
        return f"{record.run} has no predictions of {filters.split}, so nothing is selected on other pages."
    if filters.label and filters.label not in record.classes:
        return f"{record.run} has no class {filters.label}, so nothing is selected on other pages."
    return ""


def of_one_split(record: RunRecord, filters: Filters) -> str:
    """That of texts looked for in all splits those of one alone are selected; empty: one was chosen."""
    if filters.split or not _rules(filters):
        return ""
    splits = data.evaluated_splits(record.run)
    if not splits:
        return ""
    usual = "test" if "test" in splits else splits[-1]
    return f"On other pages those of {usual} are selected; choose a split for those of another."


def _rules(filters: Filters) -> tuple[str, ...]:
    """As rules of a selection; the split alone is none."""
    said = {"truth=": filters.label, f"{PHENOMENON}=": filters.phenomenon, "text~": filters.contains.strip()}
    return tuple(f"{rule}{value}" for rule, value in said.items() if value)
