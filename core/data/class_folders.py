"""Folders of texts: a folder for each class with a file for each text, perhaps below a folder for each split."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.data import limits
from core.data.decisions import ReadingDecision
from core.data.decode import decode_together
from core.data.findings import plural, shown
from core.data.reading_decisions import describe_encodings
from core.data.table import TEST, TRAIN, VALIDATION, WHOLE
from core.exceptions import DataError
from core.numbers import count

SPLITS = {
    TRAIN: (TRAIN, "training"),
    VALIDATION: (VALIDATION, "valid", "val", "dev"),
    TEST: (TEST, "testing"),
}
"""Names of folders that mean a split; something may stand before them: `20news-bydate-train`."""
PAPERS = frozenset({"readme", "license", "licence", "notice", "citation"})
_UNLABELLED = frozenset({"unsup", "unlabeled", "unlabelled"})
_PLAIN = re.compile(r"(\.txt|\.text|\.\d+)?", re.IGNORECASE)
"""Endings of a file that is one text; names such as `51121` have none."""
_NUMBERS = re.compile(r"(\d{1,18})")
_MOST_CLASSES = 1_000
_PEEKED = 200
"""Files of a folder by which it is known to hold texts."""


@dataclass(frozen=True)
class ClassFolders:
    """Where the texts of each class lie."""

    splits: dict[str, dict[str, Path]]
    """Split (or `all`) → class → its folder."""
    left_out: tuple[str, ...] = ()
    """Folders of texts without a label."""


def find(folder: Path) -> ClassFolders | None:
    """Find the class folders in a folder; return None if it has fewer than two."""
    inside = _folders(folder)
    if len(inside) == 1 and not _texts(inside[0]) and all(path.stem.casefold() in PAPERS for path in _files(folder)):
        return find(inside[0])  # what an archive was unpacked to
    named = {split: path for path in inside if (split := _split(path.name))}
    by_split = {split: _classes(named[split]) for split in SPLITS if split in named}
    by_split = {split: classes for split, classes in by_split.items() if classes}
    if by_split and len({name for classes in by_split.values() for name in classes}) > 1:
        left = [str(each.relative_to(folder)) for path in named.values() for each in _folders(path) if _aside(each)]
        return ClassFolders(by_split, tuple(left))
    classes = _classes(folder)
    if len(classes) < 2:
        return None
    return ClassFolders({WHOLE: classes}, tuple(each.name for each in inside if _aside(each)))


def read(
    found: ClassFolders, folder: Path, encoding: str = ""
) -> tuple[dict[str, pd.DataFrame], tuple[str, ...], tuple[str, ...], tuple[ReadingDecision, ...]]:
    """Read the texts of class folders.

    Args:
        found: Where they lie.
        folder: The folder of all for messages.
        encoding: Of every file; empty: found in all of them together.

    Returns:
        Rows of each split, `text` and `label`, in the order of their names; the classes, sorted; notes; decisions.

    Raises:
        DataError: a file cannot be opened or read as text, or they are more than allowed (`limits`).
    """
    rows = [
        (split, name, path)
        for split, classes in found.splits.items()
        for name, place in classes.items()
        for path in sorted(_files(place), key=_natural)
    ]
    limits.check_shape(len(rows), 2, file=str(folder))
    texts = read_together([path for _, _, path in rows], folder)
    decoded = dict(zip(texts, decode_together(texts, encoding, folder=str(folder)), strict=True))
    words = [each.text.strip() or None for each in decoded.values()]
    decisions, of_encoding = describe_encodings(decoded)
    frame = pd.DataFrame({"split": [each[0] for each in rows], "text": words, "label": [each[1] for each in rows]})
    notes = [_said(found), *of_encoding]
    if blank := int(frame["text"].isna().sum()):
        notes.append(f"{plural(blank, 'file')} without a text left out")
    notes += [f"`{shown(name)}` has no label and is left out" for name in found.left_out]
    frame = frame.dropna(subset=["text"])
    splits = {
        split: part[["text", "label"]].reset_index(drop=True).astype("str")
        for split in found.splits
        if len(part := frame[frame["split"] == split])
    }
    classes = tuple(sorted({name for classes in found.splits.values() for name in classes}))
    return splits, classes, tuple(notes), decisions


def read_together(paths: Sequence[Path], folder: Path) -> dict[str, bytes]:
    """Read files of a folder: name → bytes.

    Raises:
        DataError: one cannot be opened, or all together are larger than one file may be.
    """
    texts, left = dict[str, bytes](), limits.current().size * limits.MEGABYTE
    for path in paths:
        data = limits.read_bytes(path)
        texts[str(path.relative_to(folder))] = data
        left -= len(data)
        if left < 0:
            raise limits.refusal("its files have more together", "size", file=str(folder))
    return texts


def seen(folder: Path) -> str:
    """Say which folders are in a folder that cannot be read; empty: none."""
    inside = _folders(folder)
    return f"; in it: {', '.join(f'`{shown(each.name)}`' for each in inside[:6])}" if inside else ""


def _said(found: ClassFolders) -> str:
    names = sorted({name for classes in found.splits.values() for name in classes})
    return f"one class per folder, one text per file: {', '.join(map(shown, names[:20]))}"


def _split(name: str) -> str:
    """Return the split that a folder is named after; empty: none."""
    last = re.split(r"[-_. ]", name.casefold())[-1]
    return next((split for split, names in SPLITS.items() if last in names), "")


def _aside(folder: Path) -> bool:
    return folder.name.casefold() in _UNLABELLED and _texts(folder)


def _classes(folder: Path) -> dict[str, Path]:
    """Return the folder of each class, of all folders that hold texts."""
    found = [path for path in _folders(folder) if not _aside(path) and _texts(path)]
    if len(found) > _MOST_CLASSES:
        raise DataError(f"{count(len(found))} folders of texts, too many to be classes", file=str(folder))
    return {path.name: path for path in found}


def _folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(each.path) for each in entries if each.is_dir() and not each.name.startswith((".", "__")))


def _files(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for number, each in enumerate(entries):
            limits.check_shape(number, 2, file=str(folder))
            if not each.name.startswith(".") and each.is_file():
                yield Path(each.path)


def _texts(folder: Path) -> bool:
    """Return whether every file of a folder is a text."""
    files = [path for path, _ in zip(_files(folder), range(_PEEKED), strict=False)]
    return bool(files) and all(_PLAIN.fullmatch(path.suffix) for path in files)


def _natural(path: Path) -> list[tuple[int, int | str]]:
    parts = _NUMBERS.split(path.name)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]
