"""What data can be chosen here, and a data set as tables: its splits, its rows, one text on its way to tokens."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from core.data import library
from core.data.config import DataConfig
from core.data.sources import SOURCES, Source
from core.data.table import TEST, TRAIN, Dataset, indicators
from core.evaluation.intervals import share_interval
from core.evaluation.multilabel import spoken
from core.paths import Allowed, resolve
from core.text.ids import UNKNOWN
from core.text.normalise import steps
from core.text.tokenizer import Tokenizer
from dashboard.figures.data import percent
from dashboard.figures.numbers import count, number, plus_minus

BUILT_IN = "built-in"
SCALES = {BUILT_IN: 2, "built-in-3": 3, "built-in-5": 5}
"""The built-in corpus seen with two, three or five classes."""
DATA_FOLDER = "SENTISCOPE_DATA"
PAGE_ROWS = 50
SHOWN_CHARACTERS = 220
"""Of a text in the table; the whole text opens below it."""
SHOWN_TOKENS = 400


@dataclass(frozen=True)
class Option:
    """One entry of the list of data sets."""

    id: str
    """What the list shows and a link carries."""
    settings: dict[str, Any]
    """Dotted settings of a training on it, `data.name` included."""
    lacking: str = ""
    """Why it cannot be opened here and what to do; empty: it can."""


@dataclass(frozen=True)
class Piece:
    """One token of a text, and what becomes of it."""

    token: str
    id: int
    unknown: bool
    cut: bool


@dataclass(frozen=True)
class Filters:
    """Which rows of a data set are asked for; empty: any."""

    split: str = ""
    label: str = ""
    phenomenon: str = ""
    contains: str = ""


def options(folder: Path, hub: bool) -> list[Option]:
    """What can be opened here first: built-in, own files, local copies, the hub; then the rest, saying how to get it.

    Args:
        folder: Where own files are kept (`core.data.library`).
        hub: Whether the hub's package is installed.
    """
    scales = [Option(name, {"data.name": BUILT_IN, "data.classes": classes}) for name, classes in SCALES.items()]
    own = [Option(choice.id, chosen_settings(choice.config)) for choice in library.choices(folder)]
    named = [
        Option(source.name, {"data.name": source.name}, _lacking(source, hub))
        for source in SOURCES.values()
        if source.kind != BUILT_IN
    ]
    return [*scales, *own, *sorted(named, key=lambda option: bool(option.lacking))]


def option_of(name: str, known: Sequence[Option], allowed: Allowed) -> Option:
    """The option of that name, or one for the path of a file or folder.

    Args:
        name: As chosen, typed or found in a link.
        known: What `options` gives.
        allowed: Which paths of this machine may be opened.

    Raises:
        InputError: it is neither.
    """
    found = next((option for option in known if option.id == name), None)
    if found is not None:
        return found
    resolve(name, allowed, folders=True)
    return Option(name, {"data.name": name})


def chosen_settings(config: DataConfig) -> dict[str, Any]:
    """The dotted settings of a confirmed file, without those left to inspection."""
    chosen = {f"data.{name}": getattr(config, name) for name in library.CHOSEN}
    return {name: value for name, value in chosen.items() if value}


def _lacking(source: Source, hub: bool) -> str:
    base = os.environ.get(DATA_FOLDER, "")
    if source.task == "pair":
        return "It cannot be trained on: its rows are pairs of texts."
    if base and (Path(base).expanduser() / source.name).is_dir():
        return ""
    copy = f"Put a copy into a folder named {source.name}, and start with `{DATA_FOLDER}` naming the folder above it."
    if source.hub is None:
        return f"No download is known for it. {copy}"
    return "" if hub else f"Install the download: `pip install sentiscope[hub]`. Or: {copy[0].lower()}{copy[1:]}"


_MARKS = {"mark_elongation": "drawn-out words marked", "mark_capitals": "capitals marked"}


def split_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """One row for each split: size, lengths in tokens, and the shares that are unknown, cut or repeated."""
    repeats, rows = card["repeats"], []
    read = repeats["as_read"]
    for name, split in card["splits"].items():
        tokens, from_train = split["tokens"], repeats["from_train"].get(name, {})
        rows.append(
            {
                "split": name,
                "rows": split["rows"],
                "median": tokens["quantiles"]["0.5"],
                "95 %": tokens["quantiles"]["0.95"],
                "longest": tokens["longest"],
                "unknown": tokens["unknown_share"],
                "cut": tokens["cut_texts_share"],
                "repeats": repeats["within"][name],
                "repeats as read": read["within"][name],
                "also in train": from_train.get("rows"),
                "in train as read": read["from_train"].get(name, {}).get("rows"),
                "inside a training text": from_train.get("phrase_share"),
            }
        )
    whole = {"also in train": "Int64", "in train as read": "Int64", "inside a training text": "Float64"}
    return pd.DataFrame(rows).astype(whole)


def as_read_said(card: Mapping[str, Any]) -> str:
    """What the columns of texts that are equal as read mean, with the settings by which they were read."""
    known = card["repeats"]["as_read"]["settings"]
    marks = [word for name, word in _MARKS.items() if known[name]]
    unit = "words and marks" if known["tokenizer"] == "word" else "characters"
    how = f"normaliser {known['normaliser']}{''.join(f', {word}' for word in marks)}; the same {unit} in the same order"
    return f"As read: texts that the tokenizer cannot tell apart ({how})."


def split_words(table: pd.DataFrame) -> pd.DataFrame:
    """`split_table` as a person reads it: nothing where nothing can be."""

    def words(cell: Any, share: bool) -> str:
        if pd.isna(cell):
            return ""
        return percent(float(cell)) if share else count(round(cell))

    shares = ("unknown", "cut", "inside a training text")
    return pd.DataFrame(
        {
            name: column if name == "split" else [words(cell, name in shares) for cell in column]
            for name, column in table.items()
        }
    )


def class_shares(card: Mapping[str, Any]) -> dict[str, dict[str, tuple[int, float]]]:
    """Split → class → rows and share."""
    return {
        name: {label: (found["rows"], found["share"]) for label, found in split["classes"].items()}
        for name, split in card["splits"].items()
    }


def class_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """Rows and share of each class in each split."""
    return pd.DataFrame(
        [
            {"split": split, "class": label, "rows": rows, "share": share}
            for split, found in class_shares(card).items()
            for label, (rows, share) in found.items()
        ]
    )


def length_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """The histogram of every split, the last bin of which holds everything beyond as well."""
    parts = []
    for name, split in card["splits"].items():
        edges, rows = split["tokens"]["histogram"]["edges"], split["tokens"]["histogram"]["rows"]
        parts.append(pd.DataFrame({"split": name, "from": edges[:-1], "below": edges[1:], "rows": rows}))
    return pd.concat(parts, ignore_index=True)


def phenomenon_table(card: Mapping[str, Any], yardstick: Mapping[str, Any] | None) -> pd.DataFrame:
    """Rows of each named phenomenon in each split, and what TF-IDF gets right of it; empty where none is named."""
    counts = {name: split["phenomena"] for name, split in card["splits"].items() if "phenomena" in split}
    if not counts:
        return pd.DataFrame()
    frame = pd.DataFrame(counts).fillna(0).astype("int64").sort_values(next(iter(counts)), ascending=False)
    frame = frame.rename_axis("phenomenon").reset_index()
    if yardstick:
        frame["TF-IDF, test"] = frame["phenomenon"].map(yardstick["phenomena"])
    return frame


def yardstick_table(yardstick: Mapping[str, Any], rows: Mapping[str, int]) -> pd.DataFrame:
    """What TF-IDF with logistic regression reaches on every split but train.

    Of several labels a text it has no accuracy, but F1 at the thresholds tuned on validation, and AUPR.
    """
    tuned = yardstick.get("tuned", {}).get("splits", {})
    table = []
    for name, found in yardstick["splits"].items():
        row = {"split": name, "n": rows.get(name, 0), "accuracy": found.get("accuracy"), "F1, macro": found["f1_macro"]}
        if "hamming_loss" in found:
            del row["accuracy"]
            row |= {"tuned": tuned.get(name, {}).get("f1_macro"), "AUPR": found.get("average_precision")}
        table.append(row)
    return pd.DataFrame(table)


def cardinality_table(card: Mapping[str, Any]) -> pd.DataFrame:
    """How many texts of each split have no, one, two … labels, and the mean; empty where each has one."""
    splits = {name: split["labels"] for name, split in card["splits"].items() if "labels" in split}
    if not splits:
        return pd.DataFrame()
    most = max(int(size) for found in splits.values() for size in found["rows"])
    rows = [
        {"split": name, "labels a text": number(found["mean"], 2)}
        | {f"with {size}": count(found["rows"].get(str(size), 0)) for size in range(most + 1)}
        for name, found in splits.items()
    ]
    return pd.DataFrame(rows)


def measured_table(known: Mapping[str, Any], rows: Mapping[str, int]) -> pd.DataFrame:
    """What models were once measured to reach: a row for each, with the 95 % interval over the sentences of a split.

    Args:
        known: `core.data.card.measured`.
        rows: Of each split.
    """
    found = []
    for name, model in known["models"].items():
        row = {"Model": name, "Seeds": str(model.get("seeds", 1)), "Epochs": str(model.get("epochs", ""))}
        for split, part in model["splits"].items():
            accuracies, n = part["accuracy"], rows[split]
            mean = sum(accuracies) / len(accuracies)
            title = split.capitalize()
            row[title] = plus_minus(mean, *share_interval(mean * n, n))
            if len(accuracies) > 1:
                row[f"{title}, seeds"] = f"{number(min(accuracies))} to {number(max(accuracies))}"
            if part.get("unseen words") is not None:
                row["Unseen words"] = number(part["unseen words"])
        found.append(row)
    table = pd.DataFrame(found).fillna("")  # an empty cell would read "None"
    order = ["Model", "Seeds", "Epochs", "Test", "Test, seeds", "Unseen words", "Challenge", "Challenge, seeds"]
    return table[[name for name in order if name in table]]


def measured_phenomena(known: Mapping[str, Any], split: str = TEST) -> pd.DataFrame:
    """Accuracy by phenomenon, a column for each model that was measured on it; what TF-IDF gets wrong stands first."""
    models = {name: model["splits"].get(split, {}).get("phenomena") for name, model in known["models"].items()}
    table = pd.DataFrame({name: found for name, found in models.items() if found})
    return table.sort_values(table.columns[0]).rename_axis("phenomenon").reset_index()


def matching(dataset: Dataset, filters: Filters) -> pd.DataFrame:
    """The rows that are asked for, with their split and the name of their class.

    The words are looked for as they are, in upper or lower case, never as a pattern.
    """
    parts = [rows.assign(split=name) for name, rows in dataset.splits.items() if filters.split in ("", name)]
    frame = pd.concat(parts, ignore_index=True)
    keep = pd.Series(True, index=frame.index)
    if filters.label in dataset.classes:
        wanted = dataset.classes.index(filters.label)
        several = dataset.task == "multi"
        keep &= frame["label"].map(lambda own: wanted in own) if several else frame["label"] == wanted
    if filters.phenomenon and "phenomenon" in frame:
        keep &= frame["phenomenon"] == filters.phenomenon
    if filters.contains:
        keep &= frame["text"].str.contains(filters.contains, case=False, regex=False)
    found = frame[keep].reset_index(drop=True)
    if dataset.task == "multi":
        found["label"] = spoken(indicators(found["label"].tolist(), len(dataset.classes)), dataset.classes)
    else:
        found["label"] = pd.Series(dataset.classes).iloc[found["label"].to_numpy()].to_numpy()
    first = ["text", "label", "split"]
    return found[[*first, *(name for name in found.columns if name not in first)]]


def phenomena(dataset: Dataset) -> list[str]:
    """The phenomena that the training split names, by alphabet."""
    rows = dataset.splits[TRAIN]
    return sorted(map(str, rows["phenomenon"].dropna().unique())) if "phenomenon" in rows else []


def preparation(text: str, tokenizer: Tokenizer) -> tuple[list[tuple[str, str]], list[Piece]]:
    """Each step that changes a text, as (name, text after it), and all its tokens, those included that are cut off."""
    most = tokenizer.max_length
    encoding = uncut(tokenizer).encode(text)
    pieces = [
        Piece(token, number, number == UNKNOWN, bool(most) and place >= most)
        for place, (token, number) in enumerate(zip(encoding.tokens, encoding.ids, strict=True))
    ]
    return steps(text, tokenizer.config), pieces


def uncut(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer, reading to the end."""
    whole = copy.copy(tokenizer)
    whole.max_length = 0
    return whole
