"""Sentences of a split: what is known of each, which are selected, what a reader said of them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError, StorageError
from core.fingerprint import file_version
from core.models.provides import provides
from core.runs.record import WEIGHTS, RunRecord
from core.runs.store import RunStore
from dashboard.data.inside import loaded_of
from dashboard.data.stored import evaluated_splits, hashed, predictions, runs, store, store_in
from dashboard.figures.files import Files

if TYPE_CHECKING:
    from core.failures.chosen import Group
    from core.failures.coded import Coded
    from core.failures.codes import Codes
    from core.failures.common import Common
    from core.failures.doubted import LabelErrors
    from core.failures.selection import Selected, Selection
    from core.failures.shifted import DatasetShift
    from core.failures.slices import Slice
    from core.failures.table import Table
    from core.failures.unsure import DropoutUncertainty
    from core.runs.sides import Sides
    from dashboard.figures.analysis import Analysis, Known
    from dashboard.figures.errors import Detail

log = logging.getLogger(__name__)


NOTICED = 10
"""Seconds after which a run that has finished elsewhere is noticed: looking for it reads every record."""


def known(record: RunRecord, split: str) -> Known:
    """What is known of the rows of a split for Errors; its tags as far as they have been found.

    Raises:
        RunDamaged: the predictions cannot be read.
    """
    return _known(*_about(record, split), split, record)


@st.cache_resource(max_entries=8, show_spinner=False)
def _known(path: str, version: str, model: str, tags: str, split: str, _record: RunRecord) -> Known:
    from dashboard.figures.analysis import make_known

    return make_known(RunStore(Path(path).parents[3]), _record, split)


def _about(record: RunRecord, split: str) -> tuple[str, str, str, str]:
    """What is known of the rows of a split depends on its predictions, the model, and what gives its tags besides."""
    model = file_version(store().path(record.run) / WEIGHTS)
    if not predictions(record, split)[1]:  # whoever reads the rows says why there are none
        return *predictions(record, split), model, ""
    tags = f"{_read_unsure(record, split)} {' '.join(_seeds(str(store().folder), record.run, split, record))}"
    return *predictions(record, split), model, tags


@st.cache_data(max_entries=64, ttl=NOTICED, show_spinner=False)
def _seeds(folder: str, run: str, split: str, _record: RunRecord) -> list[str]:
    from core.failures.beside import beside, seeds

    return seeds(_record, beside(store_in(folder), _record, split, store_in(folder).list()))


def models_beside(record: RunRecord, split: str) -> list[str]:
    """The finished runs of other models that were evaluated on the same rows, the best first."""
    from core.failures.beside import beside, models

    return models(record, beside(store(), record, split, runs()), split)


def unsure(record: RunRecord, split: str) -> Unsure:
    """Whether a run can be read with dropout on, and where what that gives is kept."""
    return _unsure(*predictions(record, split), file_version(store().path(record.run) / WEIGHTS), split, record)


@st.cache_resource(max_entries=32, show_spinner=False)
def _unsure(path: str, version: str, model: str, split: str, _record: RunRecord) -> Unsure:
    from core.failures import unsure as under_dropout

    runs = RunStore(Path(path).parents[3])
    why = under_dropout.why_not(runs, _record)
    return Unsure(why, None if why else under_dropout.files(runs, _record, split))


def _read_unsure(record: RunRecord, split: str) -> str:
    """Another text as soon as it has been read with dropout on; of a split that there is not, none."""
    if split not in evaluated_splits(record.run):
        return ""
    found = unsure(record, split).files
    return "" if found is None else file_version(found.path("json"))


def table(record: RunRecord, split: str) -> Table:
    """The predictions of a split; read only. Raises as `known`."""
    return known(record, split).table


def analysis(record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = "") -> Analysis:
    """The rows of a split that a selection has, with the codes that an author may see, None: all; read only.

    Args:
        record: of the run.
        split: of which.
        select: as a link has it.
        author: who looks.
        against: another run on the same rows, for the tag of what it says otherwise.

    Raises:
        InputError: a rule is not understood, or the sentences are not kept any more.
        RunDamaged: the predictions, or what was kept, cannot be read.
        StorageError: it asks for codes, and they cannot be read.
    """
    from core.failures.rules import of_readers
    from core.failures.selection import parse
    from dashboard.figures.analysis import analyse

    # Sentences that are not asked for by codes are there without them too.
    seen = (coded if any(map(of_readers, parse(select).rules)) else legible)(record, author)
    return analyse(known(record, split).beside(against), select, store(), seen)


def codes(record: RunRecord) -> Codes:
    """The codebook of a run's data set and what was said with it; every look at it is a look at the disk."""
    from core.failures.codes import Codes, data_of

    return Codes(store().folder, data_of(record))


def coded(record: RunRecord, author: str | None = None) -> Coded:
    """What was said of the rows of its data, as far as an author may see it, None: all; read only."""
    there = codes(record)
    return _coded(str(store().folder), there.data, there.version, author)


def legible(record: RunRecord, author: str | None) -> Coded:
    """The same; nothing where it cannot be read, which Errors says."""
    from core.failures.coded import NOTHING

    try:
        return coded(record, author)
    except StorageError:
        return NOTHING


@st.cache_resource(max_entries=32, show_spinner=False)
def _coded(folder: str, of: str, version: str, author: str | None) -> Coded:
    from core.failures.codes import Codes

    return Codes(Path(folder), of).coded() if author is None else _coded(folder, of, version, None).seen_by(author)


def written(run: str) -> str:
    """A text that changes with whatever people write beside the data of a run: codes, notes, draws, slices."""
    from core.failures.slices import version

    record = store().read(run)
    return f"{codes(record).version} {version(store(), record)}"


_asking = threading.Lock()
"""One thread asks; whoever comes later finds it at work."""


@dataclass(frozen=True)
class Unsure:
    """What can be known of a run under dropout."""

    why: str
    """Why nothing can; empty: it can."""
    files: DropoutUncertainty | None


@dataclass
class Finding:
    """Tags that a thread finds, for all who want to know."""

    error: SentiscopeError | None = None
    thread: threading.Thread | None = None


@st.cache_resource(max_entries=8, show_spinner=False)
def _finding(path: str, version: str, model: str, tags: str, split: str) -> Finding:
    return Finding()


def find_tags(record: RunRecord, split: str, patience: float) -> Finding | None:
    """Begin to find the tags of a split, if nobody has, and wait so many seconds; None: they are there.

    Raises:
        SentiscopeError: why they cannot be found; it is tried again when somebody asks again.
    """
    about, wanted = _about(record, split), known(record, split)
    if wanted.whole:
        return None
    finding, model = _finding(*about, split), about[2]

    def prepare() -> None:
        _ = wanted.phrases, wanted.groups
        pooled = (
            loaded_of(record.run).predict([""]).pooled if model and "pooled" in provides(record.config.model) else None
        )
        with contextlib.suppress(NotAvailable):
            wanted.nearest.prepare(0 if pooled is None else pooled.shape[1])

    def find() -> None:
        try:
            wanted.find(prepare)
        except SentiscopeError as error:  # a thread has nobody to raise it to: whoever waits does
            finding.error = error
        except Exception as error:
            log.exception("tags of %s, %s, were not found", record.run, split)
            finding.error = NotAvailable(f"finding them failed: {error}; the log has more")

    with _asking:
        # Also where it has ended and its tags have been forgotten since: both are kept, and not equally long.
        ended = finding.thread is not None and not finding.thread.is_alive() and finding.error is None
        if finding.thread is None or (ended and not wanted.whole):
            finding.thread = threading.Thread(target=find, daemon=True)
            finding.thread.start()
    finding.thread.join(patience)
    if (error := finding.error) is not None:
        finding.error = None  # told once; who comes next tries again
        raise error
    return None if wanted.whole else finding


def details(shown: Analysis, keys: Sequence[str]) -> dict[str, Detail]:
    """What a reader is told of rows: the words with their pushes, and the nearest training texts.

    Raises:
        RunDamaged: the weights or the tokenizer cannot be read.
    """
    record, split = shown.table.record, shown.table.split
    path = store().path(record.run)
    about = str(path), file_version(path / WEIGHTS), predictions(record, split)[1], split, shown.known.whole
    return _details(*about, tuple(keys), shown)


@st.cache_resource(max_entries=64, show_spinner=False)
def _details(
    path: str, weights: str, version: str, split: str, whole: bool, keys: tuple[str, ...], _shown: Analysis
) -> dict[str, Detail]:
    from dashboard.figures.files import read_rows

    return read_rows(loaded_of(Path(path).name) if weights else None, _shown, keys)


def common(shown: Analysis) -> Common:
    """The training sentences that are nearest to selected ones in the space of the head; read only.

    Raises:
        NotAvailable: the training texts are not here.
        RunDamaged: the embeddings or the model cannot be read.
    """
    record, split = shown.table.record, shown.table.split
    model = file_version(store().path(record.run) / WEIGHTS)
    return _common(*predictions(record, split), model, split, hashed(shown.places.tobytes().hex()), shown)


@st.cache_resource(max_entries=16, show_spinner=False)
def _common(path: str, version: str, model: str, split: str, places: str, _shown: Analysis) -> Common:
    return Files(store()).common(_shown)


def kept_slices(record: RunRecord) -> list[Slice]:
    """The saved slices of the data of a run, by name; read only.

    Raises:
        RunDamaged: one cannot be read.
    """
    from core.failures.slices import version

    return _kept_slices(str(store().folder), version(store(), record), record.data_fingerprint, record)


@st.cache_resource(max_entries=32, show_spinner=False)
def _kept_slices(folder: str, version: str, of: str, _record: RunRecord) -> list[Slice]:
    return Files(store_in(folder)).kept_slices(_record)


def slices_version(record: RunRecord) -> str:
    """A text that changes when a slice of the data of a run does, or a code that one asks for."""
    from core.failures.slices import version

    coded = any(each.of_codes for each in kept_slices(record))
    return version(store(), record) + (codes(record).version if coded else "")


def slices(record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
    """What the saved slices of the data of a run come to on a split; read only.

    Args:
        record: the run.
        split: of it.
        author: whose view of the codes slices of codes are asked of; None: all are seen.

    Raises:
        RunDamaged: the predictions or a slice cannot be read.
    """
    return [_report(record, split, each, author) for each in kept_slices(record)]


def whole(record: RunRecord, split: str) -> dict[str, Any]:
    """What all sentences of a split come to, as if they were a slice; read only. Raises as `slices`."""
    from core.failures.slices import WHOLE

    return _report(record, split, WHOLE, None)


def _report(record: RunRecord, split: str, each: Slice, author: str | None) -> dict[str, Any]:
    from core.failures.selection import parse

    view = f"{author} {codes(record).version}" if each.of_codes else ""
    key = hashed(f"{each.name} {each.select} {each.created}")
    there = parse(each.select).split or split
    return _slice(*_about(record, there), key, hashed(view), split, record, each, author)


@st.cache_resource(max_entries=512, show_spinner=False)
def _slice(
    path: str,
    version: str,
    model: str,
    tags: str,
    key: str,
    view: str,
    split: str,
    _record: RunRecord,
    _kept: Slice,
    _author: str | None,
) -> dict[str, Any]:
    from core.failures.slices_report import slice_report

    there = known(_record, split)
    seen = coded(_record, _author) if _kept.of_codes else None
    return slice_report(store(), there.table, there.tagged, _kept, seen)


def sliced(sides: Sides, author: str | None = None) -> Sides:
    """The same sides with the rows of each saved slice of the data of the first.

    Raises:
        InputError: there is none by which they can be compared.
        RunDamaged: predictions or a slice cannot be read.
    """
    from core.failures.slices_compared import with_slices

    record = sides.sides[0].model.records[0]
    return with_slices(store(), sides, kept_slices(record), table, coded(record, author))


def chosen_group(digest: str) -> Group:
    """Sentences that were chosen one by one.

    Raises:
        InputError: they are not kept any more.
        RunDamaged: they cannot be read.
    """
    from core.failures.chosen import FOLDER, recall

    runs = store()
    path = runs.folder / FOLDER / f"{digest}.json"
    return _chosen_group(str(path), file_version(path), digest) if digest.isalnum() else recall(runs, digest)


@st.cache_resource(max_entries=32, show_spinner=False)
def _chosen_group(path: str, version: str, digest: str) -> Group:
    from core.failures.chosen import recall

    return recall(store(), digest)


def selected(record: RunRecord, selection: Selection, split: str, author: str | None = None) -> Selected:
    """The rows of `known` that are selected; shared, nobody changes them.

    Args:
        record: the run.
        selection: of its rows.
        split: of which they are.
        author: whose view of the codes rules on codes are asked of; None: all are seen.

    Raises:
        InputError: the selection is not understood, or its sentences are not kept any more.
        RunDamaged: the predictions, or what was kept, cannot be read.
    """
    from core.failures.rules import of_readers

    if any(map(of_readers, selection.rules)):  # they change while nothing of the run does
        return _select(record, selection, split, coded(record, author))
    return _selected(*_about(record, split), hashed(str(selection)), record, selection, split)


@st.cache_resource(max_entries=64, show_spinner=False)
def _selected(
    path: str, version: str, model: str, tags: str, key: str, _record: RunRecord, _selection: Selection, _split: str
) -> Selected:
    return _select(_record, _selection, _split)


def _select(record: RunRecord, selection: Selection, split: str, seen: Coded | None = None) -> Selected:
    from core.failures.selection import select

    there = known(record, split)
    return select(selection, there.table, there.tagged, store(), seen)


def doubted(record: RunRecord, split: str) -> dict[str, Any] | None:
    """The labels that are likely wrong; read only. None: nobody has looked."""
    from core.failures import doubted as kept

    here = kept.files(store(), record, split)
    return _doubted(str(here.folder), here.stem, file_version(here.path("json")), here)


@st.cache_resource(max_entries=8, show_spinner=False)
def _doubted(folder: str, stem: str, version: str, _here: LabelErrors) -> dict[str, Any] | None:
    from core.failures import doubted as kept

    return kept.kept(_here) if version else None


def shifted(record: RunRecord, split: str) -> dict[str, Any] | None:
    """How a split differs from training; read only. None: nobody has looked."""
    from core.failures import shifted as kept

    here = kept.files(store(), record, split)
    return _shifted(str(here.folder), here.stem, file_version(here.path("json")), here)


@st.cache_resource(max_entries=8, show_spinner=False)
def _shifted(folder: str, stem: str, version: str, _here: DatasetShift) -> dict[str, Any] | None:
    from core.failures import shifted as kept

    return kept.kept(_here) if version else None
