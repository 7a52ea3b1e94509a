"""The texts that a run was trained on, as far as others are compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.data.table import TRAIN
from core.evaluation.multilabel import label_names
from core.exceptions import NotAvailable
from core.failures.kept import kept
from core.failures.near import MOST, sample
from core.fingerprint import file_fingerprint
from core.numbers import count
from core.runs.record import TOKENIZER, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.text.reading import as_read

if TYPE_CHECKING:
    from core.data.table import Dataset

Tell = Callable[[str, float | None], None]


class Training:
    """The training rows of a run, read when they are first wanted."""

    def __init__(self, store: RunStore, record: RunRecord, tell: Tell = lambda what, share: None) -> None:
        """Of a run.

        Args:
            store: where it lies.
            record: of the run.
            tell: told what is done, where that takes long.
        """
        self.record, self.tell = record, tell
        self._store = store

    @property
    def data(self) -> Dataset:
        """The whole data set.

        Raises:
            NotAvailable: it is not here, or not any more what it was.
        """
        if isinstance(self._read, NotAvailable):
            raise self._read
        return self._read

    @cached_property
    def texts(self) -> list[str]:
        """All of them; raises as `data`."""
        found: list[str] = self.data.splits[TRAIN]["text"].tolist()
        return found

    @cached_property
    def labels(self) -> np.ndarray:
        """(m,) class numbers, or (m, C) zeros and ones; raises as `data`."""
        return self.data.targets(TRAIN)

    @cached_property
    def named(self) -> list[str]:
        """The label of each by name, of several all with commas; raises as `data`."""
        has = self.labels > 0 if self.labels.ndim == 2 else np.eye(len(self.data.classes), dtype=bool)[self.labels]
        return label_names(has, self.data.classes)

    @cached_property
    def rows(self) -> np.ndarray:
        """Those whose neighbourhood is looked at, `near.MOST` at most, rising; raises as `data`."""
        return sample(len(self.texts))

    @cached_property
    def _same(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for key, name in zip(as_read(self.texts, self.record.config.text), self.named, strict=True):
            found.setdefault(key, Counter())[name] += 1
        return found

    def same(self, texts: list[str]) -> list[dict[str, int]]:
        """Of each text the labels, with how many, of training texts that are the same to the run; raises as `data`."""
        return [dict(self._same.get(key, {})) for key in as_read(texts, self.record.config.text)]

    def vectors(self, width: int) -> np.ndarray:
        """(rows, width) float32: what the model's head reads of `rows`, kept on disk.

        Raises:
            NotAvailable: the data are not here.
            RunDamaged: the model cannot be read.
            OSError: it has no weights.
        """

        def make() -> np.ndarray:
            from core.runs.load import load_run

            texts = [self.texts[row] for row in self.rows]
            self.tell(f"reading {count(len(texts))} training texts", None)
            return load_run(self._store, self.record.run).predict(texts).pooled.astype(np.float32)

        folder = self._store.path(self.record.run)
        model = [file_fingerprint(folder / name) for name in (WEIGHTS, TOKENIZER)]
        depends = model, self.record.data_fingerprint, self.record.config.data, MOST
        return kept("vectors", depends, (len(self.rows), width), make)

    @cached_property
    def _read(self) -> Dataset | NotAvailable:
        from core.runs.seen import trained_on

        self.tell("reading the data", None)
        try:
            return trained_on(self.record)
        except NotAvailable as error:
            return error
