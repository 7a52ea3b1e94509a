"""Selected rows of a split; all figures of the Errors page are drawn from the selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from core.error_analysis import query, selection
from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.facets import Facet, Facets, group_columns, make_code_facet
from core.error_analysis.neighbors import NearestTraining
from core.error_analysis.predictions_table import PredictionTable, read_table
from core.error_analysis.query import Clause
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.selection import SelectedRows, describe_selection, parse_selection, sort_rows
from core.error_analysis.tags import TableTags
from core.evaluation.group_metrics import RowGroups
from core.exceptions import NotAvailable
from core.interpret.background_thread import BackgroundThread
from core.runs.record import RunRecord
from core.runs.store import RunStore

Found = TypeVar("Found")


class SplitFacts:
    """Cached data about all rows of a split, shared by all selections of rows and never changed by them."""

    def __init__(self, table: PredictionTable, tagged: TableTags, nearest: NearestTraining) -> None:
        self.table, self.tagged, self.nearest = table, tagged, nearest
        self.whole = False  # whether all tags are computed
        self.finding: BackgroundThread[None] = BackgroundThread()  # computes the tags
        self._once: dict[str, Any] = {}
        self._beside: dict[str, SplitFacts] = {}

    def add_peer_run(self, run: str) -> SplitFacts:
        """Return a split's rows with one more error tag: another run predicts otherwise; InputError if rows differ."""
        if not run or not self.whole:
            return self
        if run not in self._beside:
            other = SplitFacts(self.table, self.tagged.compare_with_run(run), self.nearest)
            other.base_facets, other.keys = self.base_facets, self.keys
            other._once = {"groups": self.groups}
            other.find_tags()
            self._beside[run] = other
        return self._beside[run]

    def compute_once(self, name: str, make: Callable[[], Found]) -> Found:
        """Return a value about all rows of a split, computed at the first call and then cached."""
        if name not in self._once:
            self._once[name] = make()
        found: Found = self._once[name]
        return found

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys that identify the rows of a split."""
        return list(self.table.frame["key"])

    @cached_property
    def base_facets(self) -> Facets:
        """Return the groups of filter options that need no error tags."""
        return Facets(self.table)

    @property
    def found_tags(self) -> Mapping[str, np.ndarray]:
        """Return the row mask of each error tag, as tag → mask; empty while the tags are being computed."""
        return self.tagged.available if self.whole else {}

    @cached_property
    def facets(self) -> list[Facet]:
        """Return the groups of filter options, including error tags; only valid once all tags are computed."""
        return self.base_facets.list_facets(self.tagged.available)

    @property
    def groups(self) -> dict[str, RowGroups]:
        """Return the rows of a split grouped by value, as data column → groups of rows."""
        return self.compute_once("groups", lambda: group_columns(self.table))

    def find_tags(self, prepare: Callable[[], None] = lambda: None) -> None:
        """Compute all error tags of a split (may take seconds the first time), then call the function `prepare`."""
        _ = self.tagged.available, self.facets
        prepare()
        self.whole = True


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Rows of a split that match the filter in a link, in reading order."""

    known: SplitFacts
    select: str
    selected: SelectedRows
    coded: Annotations
    order: str = ""
    """The reading order (`core.error_analysis.selection`); empty: as chosen, else the most confident first."""

    def reorder_rows(self, order: str) -> RowSelection:
        """Return the selected rows sorted in another order; InputError: there is no order of this name."""
        places = sort_rows(self.table, self.places, order)
        return replace(self, selected=replace(self.selected, places=places), order=order)

    @property
    def table(self) -> PredictionTable:
        """Return the predictions of all rows of the split, selected or not."""
        return self.known.table

    @property
    def places(self) -> np.ndarray:
        """Return the row numbers (k,) of the selected rows, in reading order."""
        return self.selected.places

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Return the filter rules of the selected rows."""
        return self.selected.clauses

    @cached_property
    def rows(self) -> np.ndarray:
        """Return the mask (n,) of the selected rows."""
        found = np.zeros(len(self.table), bool)
        found[self.places] = True
        return found

    @property
    def facets(self) -> list[Facet]:
        """Return the groups of filter options that are known so far, annotation codes last."""
        found = self.known.facets if self.known.whole else self.known.base_facets.list_facets({})
        return [*found, self._codes]

    @cached_property
    def _codes(self) -> Facet:
        return make_code_facet(self.coded, self.known.keys)

    @cached_property
    def masks(self) -> list[np.ndarray]:
        """Return the row mask (n,) of each filter rule."""
        known = {option.clause: option.has for facet in self.facets for option in facet.options}
        group = self.selected.group.keys if self.selected.group else ()
        asked = self.table, self.known.tagged, lambda digest: group, self.coded
        return [known[each] if each in known else query.match_rows([each], *asked) for each in self.clauses]

    @property
    def description(self) -> str:
        """Describe the selected rows in words."""
        return describe_selection(self.clauses, self.selected.group)

    @property
    def tags(self) -> Mapping[str, np.ndarray]:
        """Return the row mask of each error tag, as tag → mask; NotAvailable: the tags are being computed."""
        if not self.known.whole:
            raise NotAvailable("its tags are not ready yet")
        return self.known.found_tags


@dataclass(frozen=True, eq=False)
class SelectionFindings:
    """What was found about selected rows, such as words or slices, and the finding that is a rule of the filter."""

    analysis: RowSelection
    found: Any
    picked: str = ""


def make_facts(store: RunStore, record: RunRecord, split: str) -> SplitFacts:
    """Return cached data about an evaluated split, without error tags at first; RunDamaged: unreadable predictions."""
    table = read_table(store, record.run, split)
    tagged = TableTags(store, table)
    return SplitFacts(table, tagged, NearestTraining(table, tagged.training))


def apply_query(known: SplitFacts, text: str, store: RunStore, coded: Annotations | None = None) -> RowSelection:
    """Select rows by the filter in a link; InputError: wrong rule or missing sentences, RunDamaged: unreadable data."""
    coded = Codes(store.folder, get_data_name(known.table.record)).read_annotations() if coded is None else coded
    found = selection.select_rows(parse_selection(text), known.table, known.tagged, store, coded)
    return RowSelection(known, text, found, coded)
