"""Cached reading of a split's predictions for error analysis: error tags, selected rows, annotations and slices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core import error_analysis
from core.evaluation.projection import ProjectionConfig
from core.exceptions import StorageError
from core.fingerprint import get_file_version
from core.runs.background_jobs import Found
from core.runs.record import WEIGHTS, RunRecord
from dashboard.reader.models import ModelReader
from dashboard.reader.runs import Key, cache_result

if TYPE_CHECKING:
    from core.error_analysis.codebook import Codes
    from core.error_analysis.mc_dropout import DropoutUncertainty
    from core.error_analysis.neighbors import SharedNeighbors
    from core.error_analysis.predictions_table import PredictionTable
    from core.error_analysis.row_annotations import Annotations
    from core.error_analysis.selection import PickedRows, SelectedRows, Selection
    from core.error_analysis.slices import Slice
    from core.error_analysis.split_analysis import SplitAnalysis
    from core.runs.comparison import ComparisonData
    from dashboard.figures.row_selection import RowSelection, SplitFacts

NOTICED = 10  # seconds until new runs are noticed; each search reads every record


@dataclass(frozen=True)
class DropoutStatus:
    """The stored MC-dropout uncertainty of a run, or the reason why it cannot be measured."""

    why: str  # why it cannot be measured; empty: it can
    files: DropoutUncertainty | None


class ErrorReader(ModelReader):
    """A class that reads and caches predictions, selected rows, annotation codes and saved slices of splits.

    RunDamaged: predictions or other files cannot be read. `author`: whose visible codes are used; None: all codes.
    """

    def make_tags_key(self, record: RunRecord, split: str) -> Key:
        """Return the cache key of a split's error tags, which changes with predictions, weights and other inputs."""
        about = self.make_split_key(record, split, WEIGHTS)
        if not about[2]:  # no predictions: reading the rows raises the reason
            return about
        found = self.check_dropout(record, split).files
        return *about, found and get_file_version(found.get_path("json")), *self._list_seeds(record, split)

    @cache_result(8, make_tags_key)
    def read_tagged_rows(self, record: RunRecord, split: str) -> SplitFacts:
        """Return the rows of a split with the error tags that have been found so far."""
        from dashboard.figures.row_selection import make_facts

        return make_facts(self.store(), record, split)

    @cache_result(64, lambda self, record, split: (self.store().folder, record.run, split), seconds=NOTICED)
    def _list_seeds(self, record: RunRecord, split: str) -> tuple[str, ...]:
        return tuple(error_analysis.tags.select_seeds(record, self._find_peers(record, split)))

    def _find_peers(self, record: RunRecord, split: str) -> list[RunRecord]:
        return error_analysis.tags.find_peers(self.store(), record, split, self.list_runs())

    def list_other_models(self, record: RunRecord, split: str) -> list[str]:
        """List the finished runs of other models that were evaluated on the same rows as a run, best first."""
        return error_analysis.tags.select_models(record, self._find_peers(record, split), split)

    @cache_result(32, lambda self, record, split: self.make_split_key(record, split, WEIGHTS))
    def check_dropout(self, record: RunRecord, split: str) -> DropoutStatus:
        """Return the files of a run's MC-dropout result, or why the run cannot be evaluated with dropout on."""
        why = error_analysis.mc_dropout.explain_unavailable(self.store(), record)
        dropout = error_analysis.mc_dropout.DropoutUncertainty
        return DropoutStatus(why, None if why else dropout.from_run(self.store(), record, split))

    def read_table(self, record: RunRecord, split: str) -> PredictionTable:
        """Return the table of predictions of a split."""
        return self.read_tagged_rows(record, split).table

    @cache_result(16, lambda self, record, *asked: self.make_model_key(record.run, *asked))
    def replace_word(
        self, record: RunRecord, split: str, rows: tuple[int, ...], replacement: tuple[str, str]
    ) -> dict[str, Any]:
        """Predict rows of a split again with a word replaced (`core.error_analysis.word_replacement`)."""
        loaded, table = self.load_model(record.run), self.read_table(record, split)
        return error_analysis.word_replacement.replace_word(loaded, table, rows, *replacement)

    def select_tagged_rows(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> RowSelection:
        """Return the rows of a split that match the filter in a link, with the error tags that have been computed.

        `against` is another run for the tag of different answers. InputError: a rule is not understood, or the
        sentences are not kept any more; StorageError: codes cannot be read.
        """
        from dashboard.figures.row_selection import apply_query

        known = self.read_tagged_rows(record, split)
        if not (self.memo.shared or known.whole):
            known.find_tags()
        # A selection without code rules also works if the codes cannot be read.
        rules = error_analysis.selection.parse_selection(select).rules
        seen = (self.read_annotations if _has_code_rules(rules) else self.read_visible_codes)(record, author)
        return apply_query(known.add_peer_run(against), select, self.store(), seen)

    def open_codebook(self, record: RunRecord) -> Codes:
        """Return the codebook and annotations of a run's data set; each access reads the disk."""
        return error_analysis.codebook.Codes(self.store().folder, error_analysis.codebook.get_data_name(record))

    def read_annotations(self, record: RunRecord, author: str | None = None) -> Annotations:
        """Return the annotations of a run's data set that an author may see; `author` None: all annotations."""
        codes = self.open_codebook(record)
        return self._read_annotations(codes, codes.version, author)

    @cache_result(32, lambda self, codes, *asked: (self.store().folder, codes.data, *asked))
    def _read_annotations(self, codes: Codes, version: str, author: str | None) -> Annotations:
        if author is None:
            return codes.read_annotations()
        return self._read_annotations(codes, version, None).filter_visible(author)

    def read_visible_codes(self, record: RunRecord, author: str | None) -> Annotations:
        """Return the annotations that an author may see, or no annotations if their file cannot be read."""
        try:
            return self.read_annotations(record, author)
        except StorageError:
            return error_analysis.row_annotations.NOTHING

    def read_codes_version(self, run: str) -> str:
        """Return a cache key that changes with the annotation codes, random samples and slices of a run's data set."""
        record = self.store().read(run)
        return f"{self.open_codebook(record).version} {error_analysis.slices.get_version(self.store(), record)}"

    def _make_rows_key(self, shown: RowSelection) -> Key:
        return *self.make_split_key(shown.table.record, shown.table.split, WEIGHTS), shown.places.tobytes()

    @cache_result(16, _make_rows_key)
    def find_common_training(self, shown: RowSelection) -> SharedNeighbors:
        """Return the training sentences nearest to given rows in embedding space; NotAvailable: no texts or model."""
        table = shown.table
        files = self.get_map_files(table.record.run, table.split, ProjectionConfig("pca"))
        vectors = self.read_space(table.record, files).vectors[shown.places]
        return error_analysis.neighbors.find_shared(table, shown.places, vectors, shown.known.tagged.training)

    def _make_slices_key(self, record: RunRecord) -> Key:
        return self.store().folder, error_analysis.slices.get_version(self.store(), record), record.data_fingerprint

    @cache_result(32, _make_slices_key)
    def list_slices(self, record: RunRecord) -> list[Slice]:
        """Return the saved slices (named selections of rows) of a run's data set."""
        return error_analysis.slices.read_slices(self.store(), record)

    def read_slices_version(self, record: RunRecord) -> str:
        """Return a cache key that changes with a data set's slices and the annotation codes used in their rules."""
        coded = any(each.uses_codes for each in self.list_slices(record))
        version = self.open_codebook(record).version if coded else ""
        return error_analysis.slices.get_version(self.store(), record) + version

    def measure_slices(self, record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
        """Compute a run's metrics on each saved slice (named selection of rows) of a split."""
        known = functools.cache(lambda: self.read_tagged_rows(record, split))
        return [self._measure_slice(known, record, split, one, author) for one in self.list_slices(record)]

    def measure_split(self, record: RunRecord, split: str) -> dict[str, Any]:
        """Compute a run's metrics on all sentences of a split, in the same format as for a slice."""
        whole = error_analysis.slices.WHOLE
        return self._measure_slice(lambda: self.read_tagged_rows(record, split), record, split, whole, None)

    def _make_slice_key(self, known: object, record: RunRecord, split: str, one: Slice, author: str | None) -> Key:
        view = (author, self.open_codebook(record).version) if one.uses_codes else ()
        there = error_analysis.selection.parse_selection(one.select).split or split
        return *self.make_tags_key(record, there), one.name, one.select, one.created, view, split

    @cache_result(512, _make_slice_key)
    def _measure_slice(
        self, known: Callable[[], SplitFacts], record: RunRecord, split: str, one: Slice, author: str | None
    ) -> dict[str, Any]:
        there, seen = known(), self.read_annotations(record, author) if one.uses_codes else None
        return error_analysis.slices.report_slice(self.store(), there.table, there.tagged, one, seen)

    def add_slices(self, sides: ComparisonData, author: str | None = None) -> ComparisonData:
        """Add each saved slice (named selection of rows) to a comparison of runs; InputError: none can be compared."""
        record = sides.sides[0].model.records[0]
        kept, seen = self.list_slices(record), self.read_annotations(record, author)
        return error_analysis.slices.add_slices(self.store(), sides, kept, self.read_table, seen)

    def _make_group_key(self, digest: str) -> Key:
        path = self.store().folder / error_analysis.selection.FOLDER / f"{digest}.json"
        return path, get_file_version(path) if digest.isalnum() else ""

    @cache_result(32, _make_group_key)
    def read_picked(self, digest: str) -> PickedRows:
        """Return a stored selection of sentences that a user picked one by one; InputError: it is no longer stored."""
        return error_analysis.selection.read_picked(self.store(), digest)

    def _make_selection_key(self, record: RunRecord, selection: Selection, split: str, author: str | None) -> Key:
        seen = (author, self.open_codebook(record).version) if _has_code_rules(selection.rules) else None
        return *self.make_tags_key(record, split), str(selection), seen

    @cache_result(64, _make_selection_key)
    def select_rows(
        self, record: RunRecord, selection: Selection, split: str, author: str | None = None
    ) -> SelectedRows:
        """Return the rows of a split that match a parsed selection; raises as `select_tagged_rows`."""
        known = self.read_tagged_rows(record, split)
        seen = self.read_annotations(record, author) if _has_code_rules(selection.rules) else None
        return error_analysis.selection.select_rows(selection, known.table, known.tagged, self.store(), seen)

    @cache_result(16, lambda self, files: (files, get_file_version(files.get_path("json"))))
    def read_result(self, files: SplitAnalysis[Found]) -> Found | None:
        """Return the stored result of an analysis of a split; None if it has not been computed."""
        return files.read()


def _has_code_rules(rules: Sequence[str]) -> bool:
    return any(map(error_analysis.query.is_private_rule, rules))
