"""Data sets offered by the dashboard, and the files and folders that a visitor of the dashboard may open."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

import core
from core import data as labeled
from core.config import RunConfig
from core.data import sources, uploads
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.evaluation.baseline_schema import VERSION
from core.exceptions import DataError, InputError, SentiscopeError
from core.fingerprint import hash_value
from core.paths import AllowedPaths, resolve_path
from core.runs.backbones import SETTING, list_backbones
from core.runs.background_jobs import Analysis, Offer, Tell
from core.runs.configuration import configure
from core.runs.cost_estimate import Counts, get_vocab_settings
from core.runs.store import RunStore
from core.text.config import TextConfig, parse_lexicons
from core.text.lexicon import VADER
from dashboard import state
from dashboard.classroom import find_classroom
from dashboard.data import data as reader
from dashboard.figures import datasets
from dashboard.figures.datasets import DatasetOption, find_option
from dashboard.request_guard import OWN

if TYPE_CHECKING:
    from core.data.dataset import Dataset

KINDS = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet", "conll", "iob", "bio", "gz", "zip"]
"""Endings of files that can be uploaded."""


def get_library_folder() -> Path:
    """Return the folder of uploaded files, their settings and data cards, next to the folder of runs."""
    return RunStore().folder / ".data"


def keep_upload(name: str, content: bytes) -> Path:
    """Store a file that a visitor uploaded; InputError: the class is read-only, or a quota is exceeded."""
    if room := find_classroom():
        room.check_start(state.get_visitor(), ())
    return uploads.keep_file(get_library_folder(), name, content)


def list_datasets() -> list[DatasetOption]:
    """List all data sets offered in the data menus, starting with those that this machine can open."""
    return datasets.list_options(get_library_folder(), has_hub())


def has_hub() -> bool:
    """Return whether the library of the Hugging Face hub is installed."""
    return importlib.util.find_spec("huggingface_hub") is not None


def is_local() -> bool:
    """Return whether the dashboard can only be reached from the machine that it runs on.

    They are on loopback then, and under no further name, by which others would reach it through a proxy.
    """
    names = st.get_option("server.allowedHosts") or []
    return st.get_option("server.address") in OWN and set(names) <= set(OWN)


def get_allowed_paths() -> AllowedPaths:
    """Return where a visitor may open data files: anywhere for a local visitor, else in the configured data folder."""
    base = os.environ.get(sources.DATA_FOLDER, "")
    return AllowedPaths(anywhere=is_local(), roots=(Path(base).expanduser(),) if base else ())


def list_names(*, here: bool = False) -> list[str]:
    """List names of data sets, plus a path typed by the user; `here` keeps only those that this machine can open."""
    known = [option.id for option in list_datasets() if not (here and option.lacking)]
    asked = state.get_bound(state.DATA)
    return known if not asked or asked in known else [*known, asked]


def find_dataset(name: str) -> DatasetOption:
    """Find the data set with this name or path; DataError if none exists or a remote visitor may not open it."""
    try:
        return find_option(name, list_datasets(), get_allowed_paths())
    except InputError as error:
        why = str(error).removeprefix(f"{name}: ")
        missing = f"no data set, file or folder here is called '{name}' ({why}); choose one from the list"
        raise DataError(missing) from None


def refuse_foreign(typed: Mapping[str, str]) -> None:
    """Raise DataError if training settings typed by a visitor name a file or folder that the visitor may not open."""
    if name := typed.get("data.name"):
        try:
            find_dataset(name)
        except DataError as error:
            raise DataError(f"data.name: {error}") from None
    examples = typed.get("data.examples", "")
    if examples not in ("", NAME):
        try:
            resolve_path(examples, get_allowed_paths())
        except InputError as error:
            raise DataError(f"data.examples={error}; write {NAME} for the saved ones") from None
    backbone = typed.get(SETTING, "")
    if backbone and not get_allowed_paths().anywhere and backbone not in (each.name for each in list_backbones()):
        raise DataError(f"{SETTING}: choose one that `sentiscope backbones list` shows on this server")
    for lexicon in parse_lexicons(typed.get("text.lexicon", "")):
        try:
            if lexicon != VADER:
                resolve_path(lexicon, get_allowed_paths())
        except InputError as error:
            raise DataError(f"text.lexicon={error}; choose {VADER}") from None


def format_name(name: str) -> str:
    """Format the `data.name` setting for a command line; an uploaded file gets its name instead of its server path."""
    return Path(name).name if Path(name).is_relative_to(get_library_folder()) else name


def make_config(chosen: DatasetOption) -> RunConfig:
    """Return the run config that reads and tokenizes the chosen data set; InputError if its file is gone."""
    return configure(chosen.settings["data.name"], "vanilla", chosen.settings)


AT_ONCE = 2_000_000  # largest data set, in characters, whose card is computed at once (seconds)


@dataclass(frozen=True, eq=False)
class DataCard(Analysis[dict[str, Any]]):
    """A background analysis that counts the contents of a data set for its data card, without baseline scores."""

    data: Dataset = field(repr=False)
    text: TextConfig

    name = "card"
    offer = Offer(
        "Count now",
        "Counting words, lengths and repeats",
        "Counting failed",
        "Counting words, lengths and repeats takes up to a minute; the result is stored.",
    )

    @classmethod
    def from_dataset(cls, data: Dataset, text: TextConfig) -> DataCard:
        """Return the data card analysis of a data set that is tokenised with certain text settings."""
        made = {"version": core.__version__, "yardstick": VERSION}
        key = hash_value({**made, "data": data.fingerprint, "classes": data.classes, "text": text})
        return cls(get_library_folder() / "cards", f"card-{key}", RunStore(), data, text)

    @property
    def shape(self) -> Any:
        """Return the schema type that a stored data card is validated with."""
        return labeled.card.Card

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes the data card of a data set."""
        return "data", "card", "--no-yardstick", "--", self.data.name

    def find(self, tell: Tell) -> dict[str, Any]:
        """Count words, text lengths and repeated texts of a data set for its data card."""
        return labeled.card.build_card(self.data, self.text)


def is_quick(data: Dataset) -> bool:
    """Return whether a data set is small enough for its data card to take only a few seconds."""
    return sum(int(rows["text"].str.len().sum()) for rows in data.splits.values()) <= AT_ONCE


def get_counts(config: RunConfig) -> Counts | None:
    """Return row, class and token counts of a run's data set; None if the server does not hold the data in memory."""
    held = reader.get_loaded_dataset(replace(config.data, limit=0, examples=""))
    if held is None:
        return None
    found = Counts(len(held.splits["train"]), len(held.classes))
    if not is_quick(held) or config.text.tokenizer_fit == "all" or config.model.backbone or config.training.start:
        return found
    try:
        fitted = reader.fit_tokenizer(held, get_vocab_settings(config.text))
    except SentiscopeError:  # training with these settings reports the reason
        return found
    return replace(found, vocabulary=fitted.size, longest=fitted.max_length)
