"""The one reader of all pages: what was read is kept for all visitors in Streamlit's caches."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import plotly.graph_objects as go
import streamlit as st

from core.exceptions import NotAvailable, SentiscopeError
from core.models.provides import provides
from core.runs import jobs
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, RECORD, TAGS, WEIGHTS, RunRecord
from dashboard.figures.drawing import Drawing, Kept
from dashboard.figures.figure import Figure, Shape
from dashboard.figures.source import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader
from dashboard.reader.memo import Keeping, Key, Memo, kept

if TYPE_CHECKING:
    from dashboard.figures.analysis import Analysis
    from dashboard.figures.errors import Detail

Found = TypeVar("Found")
Cache = Callable[[str, Callable[[], Any]], Any]
log = logging.getLogger(__name__)
_asking = threading.Lock()
"""One thread finds tags; whoever comes later finds it at work."""


class StreamlitMemo(Memo):
    """Keeps each reading in a cache of its own, under a digest: typed text never becomes part of a key as it is."""

    shared = True

    def __init__(self) -> None:
        self.caches: dict[str, Cache] = {}
        """By the names of readings."""

    def recall(self, how: Keeping, key: Callable[[], Key], read: Callable[[], Found]) -> Found:
        """Return the result that is kept under a key, or read it now."""
        digest = hashlib.sha256(repr(key()).encode("utf-8", "surrogatepass")).hexdigest()
        cache = self.caches.get(how.name) or self.caches.setdefault(how.name, _cache(how))
        return cast(Found, cache(digest, read))


def _cache(how: Keeping) -> Cache:
    def recall(key: str, _read: Callable[[], Any]) -> Any:
        return _read()

    recall.__qualname__ = how.name  # Streamlit tells caches apart by it
    keep = st.cache_data if how.copied else st.cache_resource
    cached: Cache = keep(max_entries=how.entries, ttl=how.seconds, show_spinner=how.spinner or False)(recall)
    return cached


@dataclass
class Finding:
    """Tags that a thread finds, for all who want to know."""

    error: SentiscopeError | None = None
    thread: threading.Thread | None = None


class PageReader(Reader):
    """Reads for pages also what takes a page: drawn figures, details of rows, tags that a thread finds."""

    def _drawn_version(self, figure: Figure[Any], source: Source, look: Look) -> Key:
        files = (RECORD, HISTORY, WEIGHTS, *(f"{EVALUATION}/{source.split}/{name}" for name in (PREDICTIONS, TAGS)))
        versions = [self.version(record.run, *files) for record in (source.record, *source.others)]
        return figure.name, versions, source.split, source.text, source.edits, figure.chosen(source), look

    @kept(256, _drawn_version)
    def drawn(self, figure: Figure[Shape], source: Source, look: Look) -> tuple[Shape, Drawing]:
        """Return the shape of a figure of one run and its drawing.

        Raises:
            NotAvailable: this run has nothing of the kind.
        """
        shape = figure.shape(source)
        drawing = figure.draw(shape, look)
        return shape, Kept(drawing) if isinstance(drawing, go.Figure) else drawing

    def _details_version(self, shown: Analysis, keys: Sequence[str]) -> Key:
        about = self.split_version(shown.table.record, shown.table.split, WEIGHTS)
        return *about, shown.known.whole, tuple(keys)

    @kept(64, _details_version)
    def details(self, shown: Analysis, keys: Sequence[str]) -> dict[str, Detail]:
        """Return details of rows: the words with their pushes, and the nearest training texts.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from dashboard.figures.errors import read_details

        run = shown.table.record.run
        return read_details(self.loaded(run) if self.has_weights(run) else None, shown, keys)

    @kept(8, Reader.known_version)
    def _finding(self, record: RunRecord, split: str) -> Finding:
        return Finding()

    def find_tags(self, record: RunRecord, split: str, patience: float) -> Finding | None:
        """Begin to find the tags of a split, if nobody has, and wait so many seconds; None: they are there.

        Raises:
            SentiscopeError: why they cannot be found; it is tried again when somebody asks again.
        """
        wanted = self.known(record, split)
        if wanted.whole:
            return None
        finding = self._finding(record, split)

        def prepare() -> None:
            _ = wanted.phrases, wanted.groups
            pooled = None
            if self.has_weights(record.run) and "pooled" in provides(record.config.model):
                pooled = self.loaded(record.run).predict([""]).pooled
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


data = PageReader(memo=StreamlitMemo())
"""The reader of all pages and visitors."""


@st.cache_resource
def freeze_once() -> None:
    """Put everything imported so far out of the garbage collector's sight: full collections get short."""
    gc.collect()
    gc.freeze()


@st.cache_resource
def adopt_once() -> None:
    """Find runs that wait or died again after a restart of the server."""
    jobs.adopt(data.store())
