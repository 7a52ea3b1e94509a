"""Data sets offered by the dashboard, and the files and folders that a visitor of the dashboard may open."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.config import RunConfig
from core.data import sources
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.exceptions import DataError, InputError
from core.paths import AllowedPaths, resolve_path
from core.runs.backbones import SETTING, list_backbones
from core.runs.configuration import configure
from core.runs.store import RunStore
from core.text.config import parse_lexicons
from core.text.lexicon import VADER
from dashboard import state
from dashboard.figures import datasets
from dashboard.figures.datasets import DatasetOption, find_option
from dashboard.figures.display_names import strip_store
from dashboard.request_guard import OWN

if TYPE_CHECKING:
    import pandas as pd


KINDS = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet", "conll", "iob", "bio", "gz", "zip"]
"""Endings of files that can be uploaded."""


def get_library_folder() -> Path:
    """Return the folder of uploaded files, their settings and data cards, next to the folder of runs."""
    return RunStore().folder / ".data"


def list_datasets() -> list[DatasetOption]:
    """List all data sets offered in the data menus, starting with those that this machine can open."""
    return datasets.list_options(get_library_folder(), _has_hub())


def build_named_table() -> pd.DataFrame:
    """Return a table of the built-in named data sets and whether each can be opened on this machine."""
    return datasets.build_catalog_table(_has_hub())


def _has_hub() -> bool:
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
    return strip_store(name, get_library_folder())


def make_config(chosen: DatasetOption) -> RunConfig:
    """Return the run config that reads and tokenizes the chosen data set; InputError if its file is gone."""
    return configure(chosen.settings["data.name"], "vanilla", chosen.settings)
