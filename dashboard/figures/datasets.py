"""Data sets to choose from, and tables about one data set: its splits, its rows, and the tokens of a text."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from core.data import uploads
from core.data.dataset import TRAIN, Dataset, to_indicators
from core.data.sources import SOURCES, check_availability, split_mixture
from core.evaluation.metrics import join_class_names
from core.paths import AllowedPaths, resolve_path
from core.text.normalization import list_steps
from core.text.special_ids import UNKNOWN
from core.text.tokenizer import Tokenizer

BUILT_IN = "built-in"
CLASSES_OF = {BUILT_IN: 2, "built-in-3": 3, "built-in-5": 5}  # the built-in corpus seen with two, three or five classes
PAGE_ROWS = 50
SHOWN_CHARACTERS = 220  # most characters of a text in the table; the full text opens below
SHOWN_TOKENS = 400


@dataclass(frozen=True)
class DatasetOption:
    """One entry of the list of data sets to choose from."""

    id: str  # shown in the list and used in links
    settings: dict[str, Any]  # settings of a training run on this data set, such as `data.name`
    lacking: str = ""  # why it cannot be opened here, and what to do; empty: it can be opened


@dataclass(frozen=True)
class Piece:
    """Token of a text, with whether the model knows it and whether it is cut off by truncation."""

    token: str
    id: int
    unknown: bool
    cut: bool


@dataclass(frozen=True)
class Filters:
    """Filter on a data set's rows by split, label, phenomenon or text; an empty field matches every row."""

    split: str = ""
    label: str = ""
    phenomenon: str = ""
    contains: str = ""


def list_options(folder: Path, hub: bool) -> list[DatasetOption]:
    """Return the data sets to choose from: first those readable on this machine, then all others."""
    scales = [DatasetOption(name, {"data.name": BUILT_IN, "data.classes": many}) for name, many in CLASSES_OF.items()]
    own = []
    for choice in uploads.list_choices(folder):  # empty settings are detected from the file
        chosen = {f"data.{name}": getattr(choice.config, name) for name in uploads.CHOSEN}
        own.append(DatasetOption(choice.id, {name: value for name, value in chosen.items() if value}))
    named = [
        DatasetOption(source.name, {"data.name": source.name}, check_availability(source, hub=hub).lacking)
        for source in SOURCES.values()
        if source.name != BUILT_IN
    ]
    return [*scales, *own, *sorted(named, key=lambda option: bool(option.lacking))]


def find_option(name: str, known: Sequence[DatasetOption], allowed: AllowedPaths) -> DatasetOption:
    """Return the data set with a name (several joined by +), or at a file or folder path; InputError: neither."""
    found = next((option for option in known if option.id == name), None)
    if found is not None:
        return found
    mixed = split_mixture(name)
    lacking = next((f"{each.id}: {each.lacking}" for each in known if each.id in mixed and each.lacking), "")
    if mixed:
        return DatasetOption(name, {"data.name": name}, lacking=lacking)
    resolve_path(name, allowed, folders=True)
    return DatasetOption(name, {"data.name": name})


def build_catalog_table(hub: bool) -> pd.DataFrame:
    """Return a table of all named data sets: whether each is readable here, where to get it, and its file layout."""
    rows = []
    for source in SOURCES.values():
        state, where = check_availability(source, hub=hub).state, source.hub.repo if source.hub else ""
        about = (where, "", source.licence, source.checked)
        if layout := source.published:
            about = (layout.where, layout.describe_layout(), source.licence, layout.checked)
        rows.append((source.name, state, *about))
    return pd.DataFrame(rows, columns=["Name", "State", "Source", "Layout", "Terms", "Checked"])


def filter_rows(dataset: Dataset, filters: Filters) -> pd.DataFrame:
    """Return the rows that match a filter (its search is literal and ignores case), with their split and class name."""
    parts = [rows.assign(split=name) for name, rows in dataset.splits.items() if filters.split in ("", name)]
    frame = pd.concat(parts, ignore_index=True)
    keep = pd.Series(True, index=frame.index)
    if filters.label in dataset.classes:
        wanted = dataset.classes.index(filters.label)
        single = dataset.task == "single"
        keep &= frame["label"] == wanted if single else frame["label"].map(lambda own: wanted in own)
    if filters.phenomenon and "phenomenon" in frame:
        keep &= frame["phenomenon"] == filters.phenomenon
    if filters.contains:
        keep &= frame["text"].str.contains(filters.contains, case=False, regex=False)
    found = frame[keep].reset_index(drop=True)
    if dataset.task == "tokens":
        found["label"] = [" ".join(dataset.classes[tag] for tag in tags) for tags in found["label"]]
    elif dataset.task == "multi":
        found["label"] = join_class_names(to_indicators(found["label"].tolist(), len(dataset.classes)), dataset.classes)
    else:
        found["label"] = pd.Series(dataset.classes).iloc[found["label"].to_numpy()].to_numpy()
    first = ["text", "label", "split"]
    return found[[*first, *(name for name in found.columns if name not in first)]]


def list_phenomena(dataset: Dataset) -> list[str]:
    """Return the linguistic phenomena annotated in the training split, in alphabetical order."""
    rows = dataset.splits[TRAIN]
    return sorted(map(str, rows["phenomenon"].dropna().unique())) if "phenomenon" in rows else []


def trace_preparation(text: str, tokenizer: Tokenizer) -> tuple[list[tuple[str, str]], list[Piece]]:
    """Return each preparation step of a text as (name, text after it), and all its tokens, even truncated ones."""
    whole = copy.copy(tokenizer)
    whole.max_length = 0  # no truncation
    encoding = whole.encode(text)
    read = set(tokenizer.truncate_values(encoding.ids, range(len(encoding.ids))))
    pieces = [
        Piece(token, number, number == UNKNOWN, place not in read)
        for place, (token, number) in enumerate(zip(encoding.tokens, encoding.ids, strict=True))
    ]
    return list_steps(text, tokenizer.config), pieces
