"""What a folder of labelled texts holds: a file for each split, a file for each class, or a folder for each class."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from core.data import class_folders, limits
from core.data.archives import TABLES
from core.data.class_folders import ClassTexts, DiskFolder, class_named
from core.data.decode import decode_together
from core.data.delimited import parse, split_lines
from core.data.labels import sorted_names
from core.data.reading_decisions import describe_encodings
from core.data.table import WHOLE
from core.exceptions import DataError

SPLIT_NAMES = {**class_folders.SPLITS, WHOLE: (WHOLE,)}
"""File names (without suffix) that mean a split, or all rows where there are no others."""

_PLAIN = frozenset({".txt", ".text", ""})
_IGNORED = class_folders.PAPERS | {"labels"}


def split_files(folder: Path) -> dict[str, Path]:
    """Return split → its file, for those that are there; all rows of `all.csv` where there is no other."""
    found = {}
    for split, stems in SPLIT_NAMES.items():
        paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in TABLES)
        if path := next((path for path in paths if path.is_symlink() or path.is_file()), None):
            found[split] = path
    return {split: path for split, path in found.items() if split != WHOLE or len(found) == 1}


def read_classes(folder: Path, encoding: str, least: int) -> ClassTexts:
    """Read a folder of texts for each class, or a file for each of at least so many classes.

    Raises:
        DataError: it has neither, or a file cannot be read as texts of one class.
    """
    if by_folder := class_folders.find(DiskFolder(folder)):
        return class_folders.read(by_folder, str(folder), encoding)
    paths = [
        path
        for path in sorted(folder.iterdir())
        if not path.is_dir() and not path.name.startswith(".") and path.stem.casefold() not in _IGNORED
    ]
    one_stem = len(paths) > 1 and len({path.stem for path in paths}) == 1
    names = {path: class_named(path.suffix.lstrip(".") if one_stem else path.stem) for path in paths}
    plain = one_stem or all(path.suffix.casefold() in _PLAIN or path.suffix not in TABLES for path in paths)
    if not paths:
        raise DataError(f"there is no data file in this folder{class_folders.list_folders(folder)}", file=str(folder))
    if len(set(names.values())) < least or not plain:
        raise DataError(
            "no train file (train.csv, .tsv, .jsonl, .parquet …) and no text files named after classes "
            "(positive.txt and negative.txt) in this folder",
            file=str(folder),
        )
    data = class_folders.read_together([(DiskFolder(folder), path.name) for path in paths], str(folder))
    decoded = dict(zip(data, decode_together(data, encoding, folder=str(folder)), strict=True))
    parts = [_read_class(decoded[path.name].text, path, name) for path, name in names.items()]
    decisions, of_encoding = describe_encodings(decoded)
    note = "one class per file: " + ", ".join(f"{path.name} = {name}" for path, name in names.items())
    rows = pd.concat(parts, ignore_index=True)
    return ClassTexts({WHOLE: rows}, sorted_names(rows["label"]), (note, *of_encoding), decisions)


def _read_class(text: str, path: Path, name: str) -> pd.DataFrame:
    if parse(text, file=path.name).delimiter == "\t":
        raise DataError("has several columns, so it is not a list of texts of one class", file=str(path))
    lines = [line.rstrip("\r\n") for line in split_lines(text) if line.strip()]
    limits.check_shape(len(lines), 1, file=path.name)
    return pd.DataFrame({"text": lines, "label": [name] * len(lines)}, dtype="str")
