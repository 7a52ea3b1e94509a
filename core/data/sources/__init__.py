"""The registry of named data sets, and whether they are on this machine. Imports nothing heavy."""

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.data.sources.source import DataSource
from core.json_store import convert

LIFE, PEOPLE = "life", "people"
_CATALOG = json.loads(Path(__file__).with_name("catalog.json").read_text(encoding="utf-8"))
SOURCES: dict[str, DataSource] = {each.name: each for each in convert(_CATALOG, list[DataSource])}
"""The data sets of `catalog.json`, the built-in corpus first.

The NDT paper does not state the minimum frequency. With that of the catalogue, vocabularies are closest to the reported
sizes: SST-2 (re-split) 8,838 (reported 8,865), Twitter Financial (as tweets) 3,197 (3,137), IMDB 27,210 (26,284).
"""


def split_mixture(data: str) -> tuple[str, ...]:
    """Return the registered data set names in a mixture such as `sst2+imdb`; empty for any other name."""
    names = tuple(part.strip() for part in data.split("+"))
    return names if len(names) > 1 and all(name in SOURCES for name in names) else ()


def is_registered(data: str) -> bool:
    """Return whether a data name is a registered name or a mixture of such names, rather than a path."""
    return data in SOURCES or bool(split_mixture(data))


def suggest_settings(data: str, paper: str = "") -> dict[str, Any]:
    """Return settings (dotted name → value) recommended for a named data set and a paper's models; empty for a path.

    For a mixture, return the settings on which all parts that have them agree.
    """
    every: dict[str, set[Any]] = {}
    for source in (SOURCES[name] for name in split_mixture(data) or (data,) if name in SOURCES):
        for name, value in {**source.settings, **source.reported.get(paper, {})}.items():
            every.setdefault(name, set()).add(value)
    return {name: values.pop() for name, values in every.items() if len(values) == 1}


DATA_FOLDER = "SENTISCOPE_DATA"  # Environment variable: a folder with one for each data set, read instead of the hub


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
        if not (lacking := ", ".join(layout.list_missing(folder))):
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
