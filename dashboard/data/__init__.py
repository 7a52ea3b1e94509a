"""The reader of runs and data sets that all dashboard pages share, cached by Streamlit for all visitors."""

from __future__ import annotations

import contextlib
import datetime
import gc
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import plotly.graph_objects as go
import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.models.capabilities import list_capabilities
from core.runs import training_jobs
from core.runs.record import HISTORY, PREDICTIONS, RECORD, TAGS, WEIGHTS, RunRecord
from core.runs.run_names import RunName, name_runs
from core.runs.store import RunStore
from dashboard.classroom import VisitorGuard
from dashboard.figures.drawing import Drawing, SerializedChart
from dashboard.figures.figure import Figure, Shape, Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader
from dashboard.reader.runs import CachePolicy, Key, Memo, cache_result

if TYPE_CHECKING:
    from dashboard.figures.error_list import Detail
    from dashboard.figures.row_selection import RowSelection, SplitFacts

Found = TypeVar("Found")
Cache = Callable[..., Any]
log = logging.getLogger(__name__)


class StreamlitMemo(Memo):
    """A cache of reader results with one Streamlit cache per method; keys are digests, so no typed text is in a key."""

    shared = True

    def __init__(self) -> None:
        self.caches: dict[str, Cache] = {}

    def get_or_read(self, how: CachePolicy, key: Callable[[], Key], read: Callable[[], Found]) -> Found:
        """Return the result that is cached under a key, or call `read` and cache its result."""
        digest = hashlib.sha256(repr(key()).encode("utf-8", "surrogatepass")).hexdigest()
        cached = self.caches.get(how.name) or self.caches.setdefault(how.name, _make_cache(how))
        return cast(Found, cached(key=digest, _read=read))  # by name: else Streamlit inspects the signature


def _make_cache(how: CachePolicy) -> Cache:
    def read_uncached(key: str, _read: Callable[[], Any]) -> Any:
        return _read()

    read_uncached.__qualname__ = how.name  # Streamlit distinguishes caches by this name
    keep = st.cache_data if how.copied else st.cache_resource
    cached: Cache = keep(max_entries=how.entries, ttl=how.seconds, show_spinner=how.spinner or False)(read_uncached)
    return cached


class PageReader(Reader):
    """The reader of the dashboard pages, which also caches drawn figures, details of rows and error tags."""

    _named: tuple[tuple[datetime.date, list[RunRecord]], dict[str, RunName]] | None = None

    def store(self) -> RunStore:
        """Return the runs, as the visitor of the running page may change them."""
        return RunStore(guard=VisitorGuard())

    def name_runs(self) -> dict[str, RunName]:
        """Return the name for people of each run on disk, by its id."""
        now, before = (datetime.date.today(), self.list_runs()), self._named
        if before is None or before[0] != now:
            before = self._named = now, name_runs(now[1])
        return before[1]

    def label_run(self, run: str) -> str:
        """Return how pages name a run (`core.runs.run_names`); a model of several runs has its name already."""
        found = self.name_runs().get(run)
        return run if found is None else found.text

    def _make_drawing_key(self, figure: Figure[Any], source: Source, look: Look) -> Key:
        files, runs = (RECORD, HISTORY, WEIGHTS, PREDICTIONS, TAGS), [source.record, *source.others]
        names = self.name_runs()
        known = [(names.get(one.run), self.make_key(one.run, source.split, *files)) for one in runs]
        options = [each for each in figure.options if each.has_choices(source)]
        chosen = [(each.name, source.get_choice(each), each.version and each.version(source)) for each in options]
        return figure.name, known, source.text, source.edits, chosen, look

    @cache_result(256, _make_drawing_key)
    def draw_figure(self, figure: Figure[Shape], source: Source, look: Look) -> tuple[Shape, Drawing]:
        """Draw a figure of one run; return its data and its drawing. NotAvailable: the run lacks that data."""
        shape = figure.read_data(source)
        drawing = figure.draw(shape, look)
        return shape, SerializedChart(drawing) if isinstance(drawing, go.Figure) else drawing

    def _make_details_key(self, shown: RowSelection, keys: Sequence[str]) -> Key:
        about = self.make_split_key(shown.table.record, shown.table.split, WEIGHTS)
        return *about, shown.known.whole, tuple(keys)

    @cache_result(64, _make_details_key)
    def read_details(self, shown: RowSelection, keys: Sequence[str]) -> dict[str, Detail]:
        """Return word attributions and nearest training texts of some rows; RunDamaged: the model cannot be read."""
        from dashboard.figures.error_list import read_details

        run = shown.table.record.run
        return read_details(self.load_model(run) if self.has_weights(run) else None, shown, keys)

    def find_tags(self, record: RunRecord, split: str, patience: float) -> bool:
        """Find the error tags of a split in a thread; after `patience` seconds return whether all are found."""
        known = self.read_tagged_rows(record, split)
        if not known.whole:
            known.finding.start_and_wait(lambda tell: self._find_tags(known), patience)
        return known.whole

    def _find_tags(self, known: SplitFacts) -> Iterator[None]:
        record = known.table.record

        def prepare_tags() -> None:
            """Prepare the phrase index, row groups and nearest training texts that the error tags of a split need."""
            _ = known.table.phrases, known.groups
            pooled = None
            if self.has_weights(record.run) and "pooled" in list_capabilities(record.config.model):
                pooled = self.load_model(record.run).predict([""]).pooled
            with contextlib.suppress(NotAvailable):
                known.nearest.prepare(0 if pooled is None else pooled.shape[1])

        try:
            known.find_tags(prepare_tags)
        except SentiscopeError:
            raise
        except Exception as error:
            log.exception("tags of %s, %s, were not found", record.run, known.table.split)
            raise NotAvailable(f"finding them failed: {error}; the log has details") from error
        yield


data = PageReader(memo=StreamlitMemo())  # the reader of all pages and visitors


@st.cache_resource
def freeze_once() -> None:
    """Exclude all objects that exist so far from garbage collection, which makes full collections short."""
    gc.collect()
    gc.freeze()


@st.cache_resource
def recover_runs_once() -> None:
    """Recover waiting and interrupted training runs, once after a restart of the server."""
    training_jobs.recover_runs(RunStore())  # nobody in particular does it
