"""Readings of a split's sentences: rows with tags, selections, annotations and saved slices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core import failures
from core.evaluation.projection import ProjectionConfig
from core.exceptions import StorageError
from core.fingerprint import file_version
from core.runs.analyses import Found
from core.runs.record import WEIGHTS, RunRecord
from dashboard.reader.memo import Key, kept
from dashboard.reader.models import ModelReader

if TYPE_CHECKING:
    from core.failures.coded import Coded
    from core.failures.codes import Codes
    from core.failures.kept import SplitAnalysis
    from core.failures.neighbours import Common
    from core.failures.selection import Group, Selected, Selection
    from core.failures.slices import Slice
    from core.failures.table import Table
    from core.failures.unsure import DropoutUncertainty
    from core.runs.sides import Sides
    from dashboard.figures.analysis import Analysis, Known

NOTICED = 10
"""Seconds after which a run that has finished elsewhere is noticed: looking for it reads every record."""


@dataclass(frozen=True)
class Unsure:
    """Files of a run's uncertainty under dropout, or why it cannot be measured."""

    why: str
    """Why nothing can; empty: it can."""
    files: DropoutUncertainty | None


class ErrorReader(ModelReader):
    """Reader of rows, selections, codes and slices of splits.

    RunDamaged where the predictions, or what was kept, cannot be read. `author` sees some of the codes; None: all.
    """

    def known_version(self, record: RunRecord, split: str) -> Key:
        """Return the versions that the tagged rows of a split depend on: predictions, model, other sources of tags."""
        about = self.split_version(record, split, WEIGHTS)
        if not about[2]:  # no predictions: whoever reads the rows says why
            return about
        found = self.unsure(record, split).files
        return *about, found and file_version(found.path("json")), *self._seeds(record, split)

    @kept(8, known_version)
    def known(self, record: RunRecord, split: str) -> Known:
        """Return the rows of a split with their tags, as far as these have been found."""
        from dashboard.figures.analysis import make_known

        return make_known(self.store(), record, split)

    @kept(64, lambda self, record, split: (self.store().folder, record.run, split), copied=True, seconds=NOTICED)
    def _seeds(self, record: RunRecord, split: str) -> list[str]:
        return failures.tags.seeds(record, failures.tags.beside(self.store(), record, split, self.runs()))

    def models_beside(self, record: RunRecord, split: str) -> list[str]:
        """List the finished runs of other models that were evaluated on the same rows, the best first."""
        return failures.tags.models(record, failures.tags.beside(self.store(), record, split, self.runs()), split)

    @kept(32, lambda self, record, split: self.split_version(record, split, WEIGHTS))
    def unsure(self, record: RunRecord, split: str) -> Unsure:
        """Return whether a run can be evaluated with dropout on, and the files of that result."""
        why = failures.unsure.why_not(self.store(), record)
        return Unsure(why, None if why else failures.unsure.DropoutUncertainty.of(self.store(), record, split))

    def table(self, record: RunRecord, split: str) -> Table:
        """Return the predictions of a split."""
        return self.known(record, split).table

    def analysis(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> Analysis:
        """Return the rows that a link's selection selects in a split, with all tags if no visitor waits.

        `against` is another run for the tag of different answers. InputError: a rule is not understood, or the
        sentences are not kept any more; StorageError: codes cannot be read.
        """
        from dashboard.figures.analysis import analyse

        known = self.known(record, split)
        if not (self.memo.shared or known.whole):
            known.find()
        # Sentences that are not asked for by codes are there without them too.
        rules = failures.selection.parse(select).rules
        seen = (self.coded if _asks_for_codes(rules) else self.legible)(record, author)
        return analyse(known.beside(against), select, self.store(), seen)

    def codes(self, record: RunRecord) -> Codes:
        """Return the codebook of a run's data set and its annotations; every access reads the disk."""
        return failures.codes.Codes(self.store().folder, failures.codes.data_of(record))

    def coded(self, record: RunRecord, author: str | None = None) -> Coded:
        """Return the annotations of the rows of a run's data that an author may see; None: all."""
        codes = self.codes(record)
        return self._coded(codes, codes.version, author)

    @kept(32, lambda self, codes, *asked: (self.store().folder, codes.data, *asked))
    def _coded(self, codes: Codes, version: str, author: str | None) -> Coded:
        return codes.coded() if author is None else self._coded(codes, version, None).seen_by(author)

    def legible(self, record: RunRecord, author: str | None) -> Coded:
        """Return the visible annotations; none if they cannot be read, which the page Errors reports."""
        try:
            return self.coded(record, author)
        except StorageError:
            return failures.coded.NOTHING

    def written(self, run: str) -> str:
        """Return a text that changes with the codes, draws and slices of a run's data."""
        record = self.store().read(run)
        return f"{self.codes(record).version} {failures.slices.version(self.store(), record)}"

    def _rows_version(self, shown: Analysis) -> Key:
        return *self.split_version(shown.table.record, shown.table.split, WEIGHTS), shown.places.tobytes()

    @kept(16, _rows_version)
    def common(self, shown: Analysis) -> Common:
        """Return the training sentences nearest to selected ones in the space of the head; NotAvailable: none here."""
        table = shown.table
        space = self.space(table.record, self.map_files(table.record.run, table.split, ProjectionConfig("pca")))
        return failures.neighbours.common(table, shown.places, space.vectors[shown.places], shown.known.tagged.training)

    def _slices_version(self, record: RunRecord) -> Key:
        return self.store().folder, failures.slices.version(self.store(), record), record.data_fingerprint

    @kept(32, _slices_version)
    def kept_slices(self, record: RunRecord) -> list[Slice]:
        """Return the saved slices of the data of a run, by name."""
        return failures.slices.slices(self.store(), record)

    def slices_version(self, record: RunRecord) -> str:
        """Return a text that changes with the slices of a run's data, and with the codes that they ask for."""
        coded = any(each.of_codes for each in self.kept_slices(record))
        return failures.slices.version(self.store(), record) + (self.codes(record).version if coded else "")

    def slices(self, record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
        """Measure the saved slices of the data of a run on a split."""
        known = functools.cache(lambda: self.known(record, split))
        return [self._slice(known, record, split, one, author) for one in self.kept_slices(record)]

    def whole(self, record: RunRecord, split: str) -> dict[str, Any]:
        """Measure all sentences of a split as if they were a slice."""
        return self._slice(lambda: self.known(record, split), record, split, failures.slices.WHOLE, None)

    def _slice_version(self, known: object, record: RunRecord, split: str, one: Slice, author: str | None) -> Key:
        view = (author, self.codes(record).version) if one.of_codes else ()
        there = failures.selection.parse(one.select).split or split
        return *self.known_version(record, there), one.name, one.select, one.created, view, split

    @kept(512, _slice_version)
    def _slice(
        self, known: Callable[[], Known], record: RunRecord, split: str, one: Slice, author: str | None
    ) -> dict[str, Any]:
        there, seen = known(), self.coded(record, author) if one.of_codes else None
        return failures.slices.slice_report(self.store(), there.table, there.tagged, one, seen)

    def sliced(self, sides: Sides, author: str | None = None) -> Sides:
        """Add the rows of each saved slice to compared runs; InputError: no slice can compare them."""
        record = sides.sides[0].model.records[0]
        kept = self.kept_slices(record)
        return failures.slices.with_slices(self.store(), sides, kept, self.table, self.coded(record, author))

    def _group_version(self, digest: str) -> Key:
        path = self.store().folder / failures.selection.FOLDER / f"{digest}.json"
        return path, file_version(path) if digest.isalnum() else ""

    @kept(32, _group_version)
    def chosen_group(self, digest: str) -> Group:
        """Return sentences that were picked one by one; InputError: they are no longer stored."""
        return failures.selection.recall(self.store(), digest)

    def _selection_version(self, record: RunRecord, selection: Selection, split: str, author: str | None) -> Key:
        seen = (author, self.codes(record).version) if _asks_for_codes(selection.rules) else None
        return *self.known_version(record, split), str(selection), seen

    @kept(64, _selection_version)
    def selected(self, record: RunRecord, selection: Selection, split: str, author: str | None = None) -> Selected:
        """Return the selected rows of a split; raises as `analysis`."""
        known = self.known(record, split)
        seen = self.coded(record, author) if _asks_for_codes(selection.rules) else None
        return failures.selection.select(selection, known.table, known.tagged, self.store(), seen)

    def analysed(self, analysis: type[SplitAnalysis[Found]], record: RunRecord, split: str) -> Found | None:
        """Return the result of an analysis of a split; None: it has not been computed."""
        return self._result(analysis.of(self.store(), record, split))

    @kept(16, lambda self, files: (files, file_version(files.path("json"))))
    def _result(self, files: SplitAnalysis[Found]) -> Found | None:
        return files.read()


def _asks_for_codes(rules: Sequence[str]) -> bool:
    return any(map(failures.rules.of_readers, rules))
