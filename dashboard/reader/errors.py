"""Sentences of a split: what is known of each, which are selected, what people said of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.evaluation.projection import ProjectionConfig
from core.exceptions import StorageError
from core.fingerprint import file_version
from core.runs.record import WEIGHTS, RunRecord
from dashboard.reader.memo import Key, kept
from dashboard.reader.models import ModelReader

if TYPE_CHECKING:
    from core.failures.coded import Coded
    from core.failures.codes import Codes
    from core.failures.label_errors import LabelErrors
    from core.failures.neighbours import Common
    from core.failures.selection import Group, Selected, Selection
    from core.failures.shift import DatasetShift
    from core.failures.slices import Slice
    from core.failures.table import Table
    from core.failures.unsure import DropoutUncertainty
    from core.runs.sides import Sides
    from dashboard.figures.analysis import Analysis, Known

NOTICED = 10
"""Seconds after which a run that has finished elsewhere is noticed: looking for it reads every record."""


@dataclass(frozen=True)
class Unsure:
    """What can be known of a run under dropout."""

    why: str
    """Why nothing can; empty: it can."""
    files: DropoutUncertainty | None


class ErrorReader(ModelReader):
    """Reads rows, selections, codes and slices of splits.

    RunDamaged where the predictions, or what was kept, cannot be read. `author` sees some of the codes; None: all.
    """

    def known_version(self, record: RunRecord, split: str) -> Key:
        """Return what the known of a split depends on: predictions, model, and what gives its tags besides."""
        about = self.split_version(record, split, WEIGHTS)
        if not about[2]:  # no predictions: whoever reads the rows says why
            return about
        found = self.unsure(record, split).files
        return *about, found and file_version(found.path("json")), *self._seeds(record, split)

    @kept(8, known_version)
    def known(self, record: RunRecord, split: str) -> Known:
        """Return what is known of the rows of a split; its tags as far as they have been found."""
        from dashboard.figures.analysis import make_known

        return make_known(self.store(), record, split)

    @kept(64, lambda self, record, split: (self.store().folder, record.run, split), copied=True, seconds=NOTICED)
    def _seeds(self, record: RunRecord, split: str) -> list[str]:
        from core.failures.tags import beside, seeds

        return seeds(record, beside(self.store(), record, split, self.runs()))

    def models_beside(self, record: RunRecord, split: str) -> list[str]:
        """List the finished runs of other models that were evaluated on the same rows, the best first."""
        from core.failures.tags import beside, models

        return models(record, beside(self.store(), record, split, self.runs()), split)

    @kept(32, lambda self, record, split: self.split_version(record, split, WEIGHTS))
    def unsure(self, record: RunRecord, split: str) -> Unsure:
        """Return whether a run can be read with dropout on, and where the result of that is kept."""
        from core.failures import unsure

        why = unsure.why_not(self.store(), record)
        return Unsure(why, None if why else unsure.DropoutUncertainty.of(self.store(), record, split))

    def table(self, record: RunRecord, split: str) -> Table:
        """Return the predictions of a split."""
        return self.known(record, split).table

    def analysis(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> Analysis:
        """Return the rows of a split that a selection, as a link has it, selects.

        Where no other visitor waits, all tags are found first. `against` is another run on the same rows, for the tag
        of different answers.

        Raises:
            InputError: a rule is not understood, or the sentences are not kept any more.
            StorageError: it asks for codes, and they cannot be read.
        """
        from core.failures.rules import of_readers
        from core.failures.selection import parse
        from dashboard.figures.analysis import analyse

        known = self.known(record, split)
        if not (self.memo.shared or known.whole):
            known.find()
        # Sentences that are not asked for by codes are there without them too.
        seen = (self.coded if any(map(of_readers, parse(select).rules)) else self.legible)(record, author)
        return analyse(known.beside(against), select, self.store(), seen)

    def codes(self, record: RunRecord) -> Codes:
        """Return the codebook of a run's data set and its annotations; every look at it is a look at the disk."""
        from core.failures.codes import Codes, data_of

        return Codes(self.store().folder, data_of(record))

    def coded(self, record: RunRecord, author: str | None = None) -> Coded:
        """Return the annotations of the rows of a run's data that an author may see; None: all."""
        codes = self.codes(record)
        return self._coded(codes, codes.version, author)

    @kept(32, lambda self, codes, *asked: (self.store().folder, codes.data, *asked))
    def _coded(self, codes: Codes, version: str, author: str | None) -> Coded:
        return codes.coded() if author is None else self._coded(codes, version, None).seen_by(author)

    def legible(self, record: RunRecord, author: str | None) -> Coded:
        """Return the same; nothing where it cannot be read, which Errors says."""
        from core.failures.coded import NOTHING

        try:
            return self.coded(record, author)
        except StorageError:
            return NOTHING

    def written(self, run: str) -> str:
        """Return a text that changes with all that people write about the data of a run: codes, draws, slices."""
        from core.failures.slices import version

        record = self.store().read(run)
        return f"{self.codes(record).version} {version(self.store(), record)}"

    def _rows_version(self, shown: Analysis) -> Key:
        return *self.split_version(shown.table.record, shown.table.split, WEIGHTS), shown.places.tobytes()

    @kept(16, _rows_version)
    def common(self, shown: Analysis) -> Common:
        """Return the training sentences nearest to selected ones in the space of the head; NotAvailable: none here."""
        from core.failures.neighbours import common

        table = shown.table
        space = self.space(table.record, self.map_files(table.record.run, table.split, ProjectionConfig("pca")))
        return common(table, shown.places, space.vectors[shown.places], shown.known.tagged.training)

    def _slices_version(self, record: RunRecord) -> Key:
        from core.failures.slices import version

        return self.store().folder, version(self.store(), record), record.data_fingerprint

    @kept(32, _slices_version)
    def kept_slices(self, record: RunRecord) -> list[Slice]:
        """Return the saved slices of the data of a run, by name."""
        from core.failures.slices import slices

        return slices(self.store(), record)

    def slices_version(self, record: RunRecord) -> str:
        """Return a text that changes when a slice of the data of a run does, or a code that one asks for."""
        from core.failures.slices import version

        coded = any(each.of_codes for each in self.kept_slices(record))
        return version(self.store(), record) + (self.codes(record).version if coded else "")

    def slices(self, record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
        """Measure the saved slices of the data of a run on a split."""
        known = functools.cache(lambda: self.known(record, split))
        return [self._slice(known, record, split, one, author) for one in self.kept_slices(record)]

    def whole(self, record: RunRecord, split: str) -> dict[str, Any]:
        """Measure all sentences of a split as if they were a slice."""
        from core.failures.slices import WHOLE

        return self._slice(lambda: self.known(record, split), record, split, WHOLE, None)

    def _slice_version(self, known: object, record: RunRecord, split: str, one: Slice, author: str | None) -> Key:
        from core.failures.selection import parse

        view = (author, self.codes(record).version) if one.of_codes else ()
        there = parse(one.select).split or split
        return *self.known_version(record, there), one.name, one.select, one.created, view, split

    @kept(512, _slice_version)
    def _slice(
        self, known: Callable[[], Known], record: RunRecord, split: str, one: Slice, author: str | None
    ) -> dict[str, Any]:
        from core.failures.slice_metrics import slice_report

        there, seen = known(), self.coded(record, author) if one.of_codes else None
        return slice_report(self.store(), there.table, there.tagged, one, seen)

    def sliced(self, sides: Sides, author: str | None = None) -> Sides:
        """Return the same sides with the rows of each saved slice; InputError: by none can they be compared."""
        from core.failures.slices import with_slices

        record = sides.sides[0].model.records[0]
        return with_slices(self.store(), sides, self.kept_slices(record), self.table, self.coded(record, author))

    def _group_version(self, digest: str) -> Key:
        from core.failures.selection import FOLDER

        path = self.store().folder / FOLDER / f"{digest}.json"
        return path, file_version(path) if digest.isalnum() else ""

    @kept(32, _group_version)
    def chosen_group(self, digest: str) -> Group:
        """Return sentences that were chosen one by one; InputError: they are not kept any more."""
        from core.failures.selection import recall

        return recall(self.store(), digest)

    def _selection_version(self, record: RunRecord, selection: Selection, split: str, author: str | None) -> Key:
        from core.failures.rules import of_readers

        seen = (author, self.codes(record).version) if any(map(of_readers, selection.rules)) else None
        return *self.known_version(record, split), str(selection), seen

    @kept(64, _selection_version)
    def selected(self, record: RunRecord, selection: Selection, split: str, author: str | None = None) -> Selected:
        """Return the rows of `known` that are selected; raises as `analysis`."""
        from core.failures.rules import of_readers
        from core.failures.selection import select

        known, asked = self.known(record, split), any(map(of_readers, selection.rules))
        seen = self.coded(record, author) if asked else None
        return select(selection, known.table, known.tagged, self.store(), seen)

    def doubted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """Return the labels that are likely wrong; None: nobody has looked."""
        from core.failures.label_errors import LabelErrors

        return self._result(LabelErrors.of(self.store(), record, split))

    def shifted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """Return how a split differs from training; None: nobody has looked."""
        from core.failures.shift import DatasetShift

        return self._result(DatasetShift.of(self.store(), record, split))

    @kept(16, lambda self, files: (files, file_version(files.path("json"))))
    def _result(self, files: LabelErrors | DatasetShift) -> dict[str, Any] | None:
        return files.read()
