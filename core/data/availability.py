"""Availability of named data sets on this machine, and how to get missing ones. Imports nothing heavy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from core.data.sources import DataSource

DATA_FOLDER = "SENTISCOPE_DATA"
"""Environment variable: a folder with a subfolder for each named data set, which is read instead of the hub."""


@dataclass(frozen=True)
class Availability:
    """The availability of a named data set in a few words, and why it cannot be opened (empty if it can)."""

    state: str
    lacking: str = ""


def find_local_folder(name: str) -> Path | None:
    """Return the folder under SENTISCOPE_DATA that replaces the download of a named data set; None if it is missing."""
    base = os.environ.get(DATA_FOLDER, "")
    folder = Path(base).expanduser() / name
    return folder if base and folder.is_dir() else None


def check_availability(source: DataSource, *, hub: bool | None = None) -> Availability:
    """Return whether and where a named data set is available; `hub` says whether the download package is installed."""
    if source.kind == "built-in":
        return Availability("part of the program")
    folder, layout = find_local_folder(source.name), source.published
    if folder and layout and layout.is_used_in(folder):
        lacking = ", ".join(layout.list_missing(folder))
        if not lacking:
            return Availability("found, as published")
        return Availability(f"incomplete: {lacking} lacks", f"{folder} lacks {lacking}. {_describe_files(source)}")
    if folder and any(folder.iterdir()):
        return Availability("found")
    if source.hub and (find_spec("huggingface_hub") is not None if hub is None else hub):
        return Availability("on the hub")
    how = "" if layout else "No download is known for it. "
    how = "Install the download: `pip install sentiscope[hub]`. Or: " if source.hub else how
    place, own = f"into a folder named {source.name}", f"start with `{DATA_FOLDER}` naming the folder above it."
    copy = f"{_describe_files(source)} They belong {place}: {own}" if layout else f"Put a copy {place}, and {own}"
    return Availability("not here", how + copy)


def _describe_files(source: DataSource) -> str:
    layout = source.published
    assert layout is not None
    return f"The files, as given out at {layout.where}: {layout.describe_layout()}. Terms: {source.licence}."
