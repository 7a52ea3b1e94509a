"""Runs that give each word a tag: what they said of a split, and what they say of a typed text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.fingerprint import file_version
from core.runs.record import EVALUATION, TAGS, RunRecord
from core.runs.store import RunStore
from dashboard.data.stored import store, weights_fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.load import LoadedRun
    from core.runs.tagged import Tagged


def tags(record: RunRecord, split: str) -> pd.DataFrame:
    """The table of a split; shared, nobody changes it.

    Raises:
        NotAvailable: the run has none.
        RunDamaged: the file cannot be read.
    """
    folder = store().path(record.run)
    return _tags(str(folder), split, file_version(folder / EVALUATION / split / TAGS))


@st.cache_resource(max_entries=8, show_spinner=False)
def _tags(folder: str, split: str, version: str) -> pd.DataFrame:
    from core.runs.tagged import read_tags

    return read_tags(Path(folder), split)


def tagged(record: RunRecord, text: str) -> Tagged:
    """What a run says of each word of a text.

    Raises:
        RunDamaged: the model cannot be read.
    """
    from core.runs.tagged import tag_texts

    loaded = _loaded(str(store().path(record.run).parent), record.run, weights_fingerprint(record.run))
    return tag_texts(loaded.model, loaded.tokenizer, [text], loaded.record.classes)[0]


@st.cache_resource(max_entries=2, show_spinner="Loading the model")
def _loaded(folder: str, run: str, weights: str) -> LoadedRun:
    """One model for all visitors: nobody changes it."""
    import torch

    from core.runs.load import load_run

    torch.set_num_threads(1)
    return load_run(RunStore(Path(folder)), run, tags=True)
