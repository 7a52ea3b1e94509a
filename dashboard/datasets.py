"""Caches of data sets, as `dashboard.data` holds those of runs: keyed by settings and fingerprint, never by a frame.

What takes seconds is also kept on disk beside the runs. torch is never imported here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

import core
from core import stored
from core.atomic import storage_errors, write_text
from core.config import RunConfig
from core.data import library
from core.data.config import DataConfig
from core.evaluation.kept import KeptYardstick
from core.exceptions import DataError, InputError, NotAvailable, RunDamaged
from core.fingerprint import file_version, fingerprint
from core.paths import Allowed, resolve
from core.runs import queue
from core.runs.store import RunStore
from core.text.config import TextConfig
from core.text.lexicon_files import VADER
from core.verbs import configure
from dashboard import state
from dashboard.figures.datasets import DATA_FOLDER, Option, option_of
from dashboard.figures.datasets import options as _options
from dashboard.figures.naming import without_store

if TYPE_CHECKING:
    from core.data.inspect import FileReport
    from core.data.table import Dataset
    from core.text.tokenizer import Tokenizer

LONGEST_YARDSTICK_S = 1800.0
OWN = ("127.0.0.1", "localhost", "::1")
"""Addresses and names that lead to this machine from nowhere else."""
NAMING_FILES = ("data.name",)
"""Settings that name a file or folder of the machine that trains."""
AT_ONCE = 2_000_000
"""Characters up to which the card of a data set is made without asking: some seconds."""


def library_folder() -> Path:
    """Where uploaded files, their settings and the cards of data sets are kept: beside the runs."""
    return RunStore().folder / ".data"


def options() -> list[Option]:
    """Every data set that can be chosen; those that can be opened here first."""
    return _options(library_folder(), importlib.util.find_spec("huggingface_hub") is not None)


def local() -> bool:
    """Whether only the person who sits at this machine can see the pages: on loopback, and under no further name.

    A further name is what others reach a loopback server by, through a proxy (`sentiscope dashboard --host`).
    """
    names = st.get_option("server.allowedHosts") or []
    return st.get_option("server.address") in OWN and set(names) <= set(OWN)


def allowed() -> Allowed:
    """Which paths the visitor of a page may name: any from this machine, else what the folder of data sets holds."""
    base = os.environ.get(DATA_FOLDER, "")
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
    lexicon = typed.get("text.lexicon", "")
    if lexicon not in ("", VADER):
        try:
            resolve(lexicon, allowed())
        except InputError as error:
            raise DataError(f"text.lexicon={error}; choose {VADER}") from None


def written(name: str) -> str:
    """`data.name` for a command line on a page: of an uploaded file its name, not where this server keeps it."""
    return without_store(name, library_folder())


def settings_of(chosen: Option) -> RunConfig:
    """How this data set is read and cut into tokens, before any model's own wishes.

    Raises:
        InputError: its file is gone.
    """
    return configure(chosen.settings["data.name"], "vanilla", chosen.settings)


def dataset(config: DataConfig) -> Dataset:
    """The texts, once for all visitors; nobody changes them.

    Raises:
        DataError: they cannot be used.
        NotAvailable: they cannot be had here.
    """
    return _dataset(config, _folder_version(config.name))


@st.cache_resource(max_entries=4, show_spinner=False)
def _dataset(config: DataConfig, version: str) -> Dataset:
    from core.data.load import load

    return load(config)


def tokenizer(data: Dataset, text: TextConfig) -> Tokenizer:
    """The tokenizer that a training on this data would fit."""
    return _tokenizer(data.fingerprint, text, data)


@st.cache_resource(max_entries=8, show_spinner=False)
def _tokenizer(fingerprint: str, text: TextConfig, _data: Dataset) -> Tokenizer:
    from core.text.tokenizers import fit_tokenizer

    return fit_tokenizer(_data.splits["train"]["text"].tolist(), text)


def known_card(data: Dataset, text: TextConfig) -> dict[str, Any] | None:
    """The data card if it has been made before."""
    from core.data.card import Card

    return _read_json(_kept("card", data, text), Card)


def card(data: Dataset, text: TextConfig) -> dict[str, Any]:
    """The data card without the yardstick, made now and kept.

    Raises:
        StorageError: it cannot be kept.
    """
    from core.data.card import data_card

    return _write_json(_kept("card", data, text), data_card(data, text))


def quick(data: Dataset) -> bool:
    """Whether the card takes a few seconds only."""
    return sum(int(rows["text"].str.len().sum()) for rows in data.splits.values()) <= AT_ONCE


def known_yardstick(data: Dataset) -> dict[str, Any] | None:
    """What TF-IDF reaches, if it has been measured from here before."""
    return _read_json(_kept("tfidf", data, None), KeptYardstick)


def yardstick(data: Dataset, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Measure TF-IDF in a process of its own, which waits for its turn and may import torch, and keep the outcome.

    Raises:
        InputError: as many wait as this server allows.
        NotAvailable: it could not be measured; says why.
    """
    runs, mine = RunStore().folder, f"tfidf-{data.fingerprint[:16]}"
    queue.check_room(runs, queue.SHORT)
    try:
        done = subprocess.run(
            queue.in_turn(card_command(settings), runs, mine, str(time.time_ns()), queue.SHORT),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_YARDSTICK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(
            "TF-IDF waited and worked for more than half an hour and was stopped; limit the data, or try again later"
        ) from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason was given"]
        raise NotAvailable(f"TF-IDF could not be measured: {said[-1]}")
    return _write_json(_kept("tfidf", data, None), json.loads(done.stdout)["yardstick"])


def card_command(settings: Mapping[str, Any]) -> list[str]:
    """The command line that measures TF-IDF; -P keeps a folder `core` of the working directory out of the way."""
    chosen = [f"{name}={value}" for name, value in settings.items() if name != "data.name"]
    words = [word for each in chosen for word in ("--set", each)]
    return [sys.executable, "-P", "-m", "core.cli", "data", "card", "--json", *words, "--", settings["data.name"]]


def inspect_upload(name: str, content: bytes, config: DataConfig) -> FileReport:
    """What an uploaded file holds, before it is kept.

    Args:
        name: As the browser gave it.
        content: The whole file.
        config: Columns, delimiter, encoding and header; its name is not used.

    Raises:
        DataError: it cannot be read as a table at all.
    """
    return _inspect_upload(hashlib.sha256(content).hexdigest(), library.safe_name(name), config, content)


@st.cache_data(max_entries=32, show_spinner=False)
def _inspect_upload(key: str, name: str, config: DataConfig, _content: bytes) -> FileReport:
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
        path = Path(folder) / name
        path.write_bytes(_content)
        return _inspect(path, config)


def inspect_path(path: Path, config: DataConfig) -> FileReport:
    """What a file of this machine holds; arguments as `inspect_upload`."""
    return _inspect_path(str(path), file_version(path), config)


@st.cache_data(max_entries=32, show_spinner=False)
def _inspect_path(path: str, version: str, config: DataConfig) -> FileReport:
    return _inspect(Path(path), config)


def _inspect(path: Path, config: DataConfig) -> FileReport:
    from core.data import apart

    return apart.inspect_file(path, config.reading())


def _folder_version(name: str) -> str:
    """Changes when a file of a named data set, folder or file does."""
    from core.data.load import local_folder

    path = local_folder(name) or Path(name).expanduser()
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return " ".join(file_version(file) for file in files)


def _kept(kind: str, data: Dataset, text: TextConfig | None) -> Path:
    key = fingerprint({"version": core.__version__, "data": data.fingerprint, "classes": data.classes, "text": text})
    return library_folder() / "cards" / f"{kind}-{key}.json"


def _read_json(path: Path, kind: type[Any]) -> dict[str, Any] | None:
    """What was kept, of this shape at least; None where there is none, or a damaged one, which is then made anew."""
    try:
        found: dict[str, Any] = stored.read_tree(path)
        stored.check(found, kind, file=path)
    except (FileNotFoundError, RunDamaged):
        return None
    return found


def _write_json(path: Path, value: dict[str, Any]) -> dict[str, Any]:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(value))
    return value
