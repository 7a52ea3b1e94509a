"""The reader that all pages share; Streamlit's caches keep its results for all visitors."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import plotly.graph_objects as go
import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.models.provides import provides
from core.runs import jobs
from core.runs.record import HISTORY, PREDICTIONS, RECORD, TAGS, WEIGHTS, RunRecord
from dashboard.figures.drawing import Drawing, Kept
from dashboard.figures.figure import Figure, Shape
from dashboard.figures.source import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader
from dashboard.reader.memo import Keeping, Key, Memo, kept

if TYPE_CHECKING:
    from dashboard.figures.analysis import Analysis, Known
    from dashboard.figures.errors import Detail

Found = TypeVar("Found")
Cache = Callable[[str, Callable[[], Any]], Any]
log = logging.getLogger(__name__)


class StreamlitMemo(Memo):
    """Memo with one Streamlit cache per reading; keys are digests, so typed text is never part of a key."""

    shared = True

    def __init__(self) -> None:
        self.caches: dict[str, Cache] = {}

    def recall(self, how: Keeping, key: Callable[[], Key], read: Callable[[], Found]) -> Found:
        """Return the result that is kept under a key, or read it now."""
        digest = hashlib.sha256(repr(key()).encode("utf-8", "surrogatepass")).hexdigest()
        cached = self.caches.get(how.name) or self.caches.setdefault(how.name, _cache(how))
        return cast(Found, cached(digest, read))


def _cache(how: Keeping) -> Cache:
    def recall(key: str, _read: Callable[[], Any]) -> Any:
        """Read the result of a key that is not cached."""
        return _read()

    recall.__qualname__ = how.name  # Streamlit tells caches apart by it
    keep = st.cache_data if how.copied else st.cache_resource
    cached: Cache = keep(max_entries=how.entries, ttl=how.seconds, show_spinner=how.spinner or False)(recall)
    return cached


class PageReader(Reader):
    """Reader of the pages that also caches drawn figures, details of rows and tags found by a thread."""

    def _drawn_version(self, figure: Figure[Any], source: Source, look: Look) -> Key:
        files, runs = (RECORD, HISTORY, WEIGHTS, PREDICTIONS, TAGS), [source.record, *source.others]
        known = [self.version(record.run, source.split, *files) for record in runs]
        return figure.name, known, source.text, source.edits, figure.chosen(source), look

    @kept(256, _drawn_version)
    def drawn(self, figure: Figure[Shape], source: Source, look: Look) -> tuple[Shape, Drawing]:
        """Draw a figure of one run; return its shape and drawing. NotAvailable: the run has nothing of the kind."""
        shape = figure.shape(source)
        drawing = figure.draw(shape, look)
        return shape, Kept(drawing) if isinstance(drawing, go.Figure) else drawing

    def _details_version(self, shown: Analysis, keys: Sequence[str]) -> Key:
        about = self.split_version(shown.table.record, shown.table.split, WEIGHTS)
        return *about, shown.known.whole, tuple(keys)

    @kept(64, _details_version)
    def details(self, shown: Analysis, keys: Sequence[str]) -> dict[str, Detail]:
        """Return the words of rows with their pushes, and the nearest training texts; RunDamaged: no model."""
        from dashboard.figures.errors import read_details

        run = shown.table.record.run
        return read_details(self.loaded(run) if self.has_weights(run) else None, shown, keys)

    def find_tags(self, record: RunRecord, split: str, patience: float) -> bool:
        """Find the tags of a split, waiting so many seconds; return whether all are there, or raise why not."""
        known = self.known(record, split)
        if not known.whole:
            known.finding.ask(lambda tell: self._find_tags(known), patience)
        return known.whole

    def _find_tags(self, known: Known) -> Iterator[None]:
        record = known.table.record

        def prepare() -> None:
            """Prepare phrases, groups and nearest training texts."""
            _ = known.table.phrases, known.groups
            pooled = None
            if self.has_weights(record.run) and "pooled" in provides(record.config.model):
                pooled = self.loaded(record.run).predict([""]).pooled
            with contextlib.suppress(NotAvailable):
                known.nearest.prepare(0 if pooled is None else pooled.shape[1])

        try:
            known.find(prepare)
        except SentiscopeError:
            raise
        except Exception as error:
            log.exception("tags of %s, %s, were not found", record.run, known.table.split)
            raise NotAvailable(f"finding them failed: {error}; the log has more") from error
        yield


data = PageReader(memo=StreamlitMemo())
"""The reader of all pages and visitors."""


@st.cache_resource
def freeze_once() -> None:
    """Exclude everything imported so far from garbage collection, which makes full collections short."""
    gc.collect()
    gc.freeze()


@st.cache_resource
def adopt_once() -> None:
    """Find waiting and dead runs again after a restart of the server."""
    jobs.adopt(data.store())
