"""Which data sets there are, and which files and folders the visitor of a page may open."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.config import RunConfig
from core.data import held
from core.data.kept_examples import NAME
from core.exceptions import DataError, InputError
from core.paths import Allowed, resolve
from core.runs.backbones import SETTING, listed
from core.runs.configuration import configure
from core.runs.store import RunStore
from core.text.config import lexicons_of
from core.text.lexicon_files import VADER
from dashboard import state
from dashboard.figures import datasets
from dashboard.figures.datasets import Option, option_of
from dashboard.figures.naming import without_store
from dashboard.guard import OWN

if TYPE_CHECKING:
    import pandas as pd


KINDS = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "xlsx", "parquet", "conll", "iob", "bio", "gz", "zip"]
"""Endings of files that can be uploaded."""
NAMING_FILES = ("data.name",)
"""Settings that name a file or folder of the machine that trains."""


def library_folder() -> Path:
    """Where uploaded files, their settings and the cards of data sets are kept: beside the runs."""
    return RunStore().folder / ".data"


def options() -> list[Option]:
    """Every data set that can be chosen; those that can be opened here first."""
    return datasets.options(library_folder(), importlib.util.find_spec("huggingface_hub") is not None)


def named_table() -> pd.DataFrame:
    """Every named data set with its state on this machine."""
    return datasets.named_table(importlib.util.find_spec("huggingface_hub") is not None)


def local() -> bool:
    """Whether only the person who sits at this machine can see the pages: on loopback, and under no further name.

    A further name is what others reach a loopback server by, through a proxy (`sentiscope dashboard --host`).
    """
    names = st.get_option("server.allowedHosts") or []
    return st.get_option("server.address") in OWN and set(names) <= set(OWN)


def allowed() -> Allowed:
    """Which paths the visitor of a page may name: any from this machine, else what the folder of data sets holds."""
    base = os.environ.get(held.DATA_FOLDER, "")
    return Allowed(anywhere=local(), roots=(Path(base).expanduser(),) if base else ())


def names(*, here: bool = False) -> list[str]:
    """What a list of data sets offers, `here` only those that can be opened here; and a path that was typed."""
    known = [option.id for option in options() if not (here and option.lacking)]
    asked = state.asked(state.DATA)
    return known if not asked or asked in known else [*known, asked]


def option(name: str) -> Option:
    """The data set of a name, or of the path of a file or folder.

    Raises:
        DataError: there is none, or its path may not be opened from another machine.
    """
    try:
        return option_of(name, options(), allowed())
    except InputError as error:
        why = str(error).removeprefix(f"{name}: ")
        raise DataError(
            f"no data set, file or folder here is called '{name}' ({why}); choose one from the list"
        ) from None


def refuse_foreign(typed: Mapping[str, str]) -> None:
    """Hold settings that were typed on a page to the files that its visitor may open.

    Raises:
        DataError: one names a file or folder that may not be opened from another machine.
    """
    for setting in NAMING_FILES:
        if name := typed.get(setting):
            try:
                option(name)
            except DataError as error:
                raise DataError(f"{setting}: {error}") from None
    examples = typed.get("data.examples", "")
    if examples not in ("", NAME):
        try:
            resolve(examples, allowed())
        except InputError as error:
            raise DataError(f"data.examples={error}; write {NAME} for those that are kept") from None
    backbone = typed.get(SETTING, "")
    if backbone and not allowed().anywhere and backbone not in (each.name for each in listed()):
        raise DataError(f"{SETTING}: choose one that `sentiscope backbones list` shows on this server")
    for lexicon in lexicons_of(typed.get("text.lexicon", "")):
        try:
            if lexicon != VADER:
                resolve(lexicon, allowed())
        except InputError as error:
            raise DataError(f"text.lexicon={error}; choose {VADER}") from None


def written(name: str) -> str:
    """`data.name` for a command line on a page: of an uploaded file its name, not where this server keeps it."""
    return without_store(name, library_folder())


def settings_of(chosen: Option) -> RunConfig:
    """How this data set is read and cut into tokens, before any model's own settings.

    Raises:
        InputError: its file is gone.
    """
    return configure(chosen.settings["data.name"], "vanilla", chosen.settings)
