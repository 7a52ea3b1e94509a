"""Folders of labelled texts: one file per split, one file per class, or one folder per class."""

import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

import pandas as pd

from core.data import conll, limits
from core.data.dataset import TEST, TRAIN, VALIDATION, WHOLE
from core.data.decoding import decode_together, replace_surrogates
from core.data.delimited_text import parse_table, split_lines
from core.data.findings import ReadingDecision, shorten
from core.data.labels import sort_names
from core.data.reading_decisions import describe_encodings
from core.exceptions import DataError, try_call
from core.formatting import count, plural

SPLITS = {TRAIN: (TRAIN, "training"), VALIDATION: (VALIDATION, "valid", "val", "dev"), TEST: (TEST, "testing")}
"""Last words of folder names that mean a split, such as in `20news-bydate-train`."""
SPLIT_NAMES = {**SPLITS, WHOLE: (WHOLE,)}  # Names of files, without suffix, that mean a split or all rows
TABLES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".xlsx", ".txt", *conll.SUFFIXES)
"""Suffixes of tables, in order of preference."""
PAPERS = frozenset({"readme", "license", "licence", "notice", "citation"})
_IGNORED = PAPERS | {"labels"}
_UNLABELED = frozenset({"unsup", "unlabeled", "unlabelled"})
_PLAIN = re.compile(r"(\.txt|\.text|\.\d+)?", re.IGNORECASE)  # Suffixes of a file that is one text; `51121` has none
_NUMBERS = re.compile(r"(\d{1,18})")
_MOST_CLASSES = 1_000
_PEEKED = 200  # Files that decide whether a folder holds texts


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the operating system, such as `Thumbs.db`."""
    return name.startswith((".", "__MACOSX")) or name.casefold() in ("thumbs.db", "desktop.ini")


def name_class(name: str) -> str:
    """Return the name of a folder or file as a class name; refuse a name that is not in UTF-8."""
    if (plain := replace_surrogates(name)) != name:
        raise DataError(f"the name '{shorten(plain)}' of a class is not in UTF-8; rename its folder or file")
    return name


TextFolder = Path | zipfile.Path  # A folder on disk, or in a zip archive, whose content is never written to disk


def list_folders(folder: TextFolder) -> list[TextFolder]:
    """Return the subfolders of a folder, sorted by name, without hidden ones."""
    inside: Iterator[TextFolder] = folder.iterdir()
    found = (each for each in inside if not is_hidden(each.name) and _is_folder(each))
    return sorted(found, key=lambda each: each.name)


def list_files(folder: TextFolder) -> Iterator[str]:
    """Yield the names of the files in a folder, without hidden ones."""
    inside: Iterator[TextFolder] = folder.iterdir()
    for number, each in enumerate(inside):
        limits.check_shape(number, 2, file=str(folder))
        if not is_hidden(each.name) and not _is_folder(each):
            yield each.name  # `_read_together` refuses a pipe or a broken link


@dataclass(frozen=True)
class ClassFolders:
    """The folders of texts by split (or `all`) and class, and the names of folders that are left out as unlabelled."""

    splits: dict[str, dict[str, TextFolder]]
    left_out: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()  # Other files and folders, which are not read


@dataclass(frozen=True)
class ClassTexts:
    """The labelled texts of class folders or class files: the rows of each split, with `text` and `label`."""

    splits: dict[str, pd.DataFrame]
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    decisions: tuple[ReadingDecision, ...]


def find_split_files(folder: Path) -> dict[str, list[Path]]:
    """Return the table files of each split in a folder; `all.csv` is ignored if any split has its own file."""
    there = dict[str, list[Path]]()
    for split, stems in SPLIT_NAMES.items():
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in TABLES]
        if found := [path for path in paths if path.is_symlink() or path.is_file()]:
            there[split] = found
    return {split: paths for split, paths in there.items() if split != WHOLE or len(there) == 1}


def read_classes(folder: TextFolder, file: str, encoding: str, least: int) -> ClassTexts:
    """Read a data folder that has one folder per class, or one file for each of at least `least` classes."""
    if by_folder := find_folders(folder):
        return read_folders(by_folder, file, encoding)
    if len(set((names := name_class_files(folder)).values())) >= least:
        return read_class_files(folder, names, file, encoding)
    if any(PurePosixPath(name).stem.casefold() not in _IGNORED for name in list_files(folder)):
        texts = "no text files named after classes (positive.txt and negative.txt) in this folder"
        raise DataError(f"no train file (train.csv, .tsv, .jsonl, .parquet …) and {texts}", file=file)
    there = ", ".join(f"`{shorten(each.name)}`" for each in list_folders(folder)[:6])
    raise DataError(f"there is no data file in this folder{there and f'; in it: {there}'}", file=file)


def name_class_files(folder: TextFolder) -> dict[str, str]:
    """Return file name → class for text files named after their classes; empty if the folder has other files too."""
    every = sorted(map(PurePosixPath, list_files(folder)), key=str)
    paths = [path for path in every if path.stem.casefold() not in _IGNORED]
    one_stem = len(paths) > 1 and len({path.stem for path in paths}) == 1
    if not one_stem and any(path.suffix in TABLES and path.suffix != ".txt" for path in paths):
        return {}
    names = {path.name: name_class(path.suffix.lstrip(".") if one_stem else path.stem) for path in paths}
    return {} if all(any(map(find_split, re.split(r"[-_. ]", name))) for name in names.values()) else names


def read_class_files(folder: TextFolder, names: dict[str, str], file: str, encoding: str = "") -> ClassTexts:
    """Read files that hold the texts of one class each, one text per line; `names` maps file names to classes."""
    data = _read_together(((folder, name) for name in names), file)
    decoded = dict(zip(names, decode_together(data, encoding, folder=file), strict=True))
    rows = list[tuple[str, str]]()
    for name, each in decoded.items():
        if parse_table(each.text, file=name).delimiter == "\t":
            raise DataError("has several columns, so it is not a list of texts of one class", file=f"{file}/{name}")
        lines = [line.rstrip("\r\n") for line in split_lines(each.text) if line.strip()]
        limits.check_shape(len(lines), 1, file=name)
        rows += [(line, names[name]) for line in lines]
    decisions, of_encoding = describe_encodings(decoded)
    note = "one class per file: " + ", ".join(f"{name} = {label}" for name, label in names.items())
    frame = pd.DataFrame(rows, columns=["text", "label"], dtype="str")
    return ClassTexts({WHOLE: frame}, sort_names(frame["label"]), (note, *of_encoding), decisions)


def find_folders(folder: TextFolder) -> ClassFolders | None:
    """Find the folders named after classes in a data folder; return None if there are fewer than two."""
    inside = list_folders(folder)
    nested = len(inside) == 1 and not _is_text_folder(inside[0])
    if nested and all(PurePosixPath(name).stem.casefold() in PAPERS for name in list_files(folder)):
        return find_folders(inside[0])  # such as an unpacked archive
    named = {split: each for each in inside if (split := find_split(each.name))}
    by_split = {split: _list_classes(named[split]) for split in SPLITS if split in named}
    by_split = {split: classes for split, classes in by_split.items() if classes}
    if by_split and len({name for classes in by_split.values() for name in classes}) > 1:
        left = [(split, each) for split in named.values() for each in list_folders(split) if _is_unlabeled(each)]
        names = tuple(f"{split.name}/{each.name}" for split, each in left)
        return ClassFolders(by_split, names, _find_beside(folder, named.values()))
    if len(classes := _list_classes(folder)) < 2:
        return None
    aside = [each for each in inside if _is_unlabeled(each)]
    beside = _find_beside(folder, (*classes.values(), *aside))
    return ClassFolders({WHOLE: classes}, tuple(each.name for each in aside), beside)


def _find_beside(folder: TextFolder, read: Iterable[TextFolder]) -> tuple[str, ...]:
    taken = {str(each) for each in read}
    files = (name for name in list_files(folder) if PurePosixPath(name).stem.casefold() not in _IGNORED)
    return (*sorted(files), *(f"{each.name}/" for each in list_folders(folder) if str(each) not in taken))


def find_class_texts(folder: Path) -> list[Path]:
    """Return all text files of a data folder with one folder per class; empty if it has another layout."""
    try:
        found = None if find_split_files(folder) else find_folders(folder)
        every = [each for classes in found.splits.values() for each in classes.values()] if found else []
        return [Path(str(each)) / name for each in every for name in list_files(each)]
    except (DataError, OSError):
        return []


def read_folders(found: ClassFolders, file: str, encoding: str = "") -> ClassTexts:
    """Read the texts of class folders, one text per file, in the order of the file names."""
    rows = [
        (split, label, folder, name)
        for split, classes in found.splits.items()
        for label, folder in classes.items()
        for name in sorted(list_files(folder), key=_to_natural_key)
    ]
    limits.check_shape(len(rows), 2, file=file)
    texts = _read_together(((folder, name) for _, _, folder, name in rows), file)
    decoded = dict(zip(texts, decode_together(texts, encoding, folder=file), strict=True))
    words, most = [each.text.strip() or None for each in decoded.values()], limits.get_limits().characters
    for name, each in decoded.items():
        if len(each.text) > most:
            raise limits.make_error(f"a text has {count(len(each.text))} characters", "characters", file=name)
    decisions, of_encoding = describe_encodings(decoded)
    frame = pd.DataFrame({"split": [each[0] for each in rows], "text": words, "label": [each[1] for each in rows]})
    classes = tuple(sorted({name for classes in found.splits.values() for name in classes}))
    notes = [f"one class per folder, one text per file: {', '.join(map(shorten, classes[:20]))}", *of_encoding]
    if blank := int(frame["text"].isna().sum()):
        notes.append(f"{plural(blank, 'file')} without a text left out")
    notes += [f"`{shorten(name)}` has no label and is left out" for name in found.left_out]
    if found.beside:
        names = ", ".join(f"`{shorten(name)}`" for name in found.beside[:6])
        notes.append(f"left out beside the folders of the classes: {names}")
    frame = frame.dropna(subset=["text"])
    if frame.empty:
        raise DataError(f"{plural(len(rows), 'file')} in the folders of its classes, and all are empty", file=file)
    splits = {
        split: part[["text", "label"]].reset_index(drop=True).astype("str")
        for split in found.splits
        if len(part := frame[frame["split"] == split])
    }
    return ClassTexts(splits, classes, tuple(notes), decisions)


def _read_together(files: Iterable[tuple[TextFolder, str]], file: str) -> dict[str, bytes]:
    texts, left = dict[str, bytes](), limits.get_limits().size * limits.MEGABYTE
    for folder, name in files:
        data = (folder / name).read_bytes() if isinstance(folder, zipfile.Path) else limits.read_bytes(folder / name)
        texts[name_place(folder / name, file)] = data
        if (left := left - len(data)) < 0:
            raise limits.make_error("its files have more together", "size", file=file)
    return texts


def find_split(name: str) -> str:
    """Return the split that a folder name means, such as validation for `dev`, or an empty string."""
    last = re.split(r"[-_. ]", name.casefold())[-1]
    return next((split for split, names in SPLITS.items() if last in names), "")


def _is_unlabeled(folder: TextFolder) -> bool:
    return folder.name.casefold() in _UNLABELED and _is_text_folder(folder)


def _list_classes(folder: TextFolder) -> dict[str, TextFolder]:
    found = [each for each in list_folders(folder) if not _is_unlabeled(each) and _is_text_folder(each)]
    if len(found) > _MOST_CLASSES:
        raise DataError(f"{count(len(found))} folders of texts, too many to be classes", file=None)
    return {name_class(each.name): each for each in found}


def _is_text_folder(folder: TextFolder) -> bool:
    """Return whether a folder holds only text files, and at least one that is not a README or licence."""
    files = [PurePosixPath(name) for name in islice(list_files(folder), _PEEKED)]
    papers = all(path.stem.casefold() in PAPERS for path in files)
    return not papers and all(_PLAIN.fullmatch(path.suffix) for path in files)


def _is_folder(entry: TextFolder) -> bool:
    return try_call(OSError, False, entry.is_dir)  # OSError: a link to itself


def name_place(path: TextFolder, file: str) -> str:
    """Return the path of a file inside of a data folder, or inside of an archive."""
    return path.at if isinstance(path, zipfile.Path) else str(path.relative_to(file))


def _to_natural_key(name: str) -> list[tuple[int, int | str]]:
    return [(0, int(part)) if part.isdigit() else (1, part) for part in _NUMBERS.split(name) if part]
