"""A folder as a data set: a file for each split, a file for each class, or a folder of texts for each class."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import pandas as pd

from core.data import class_folders, conll, labelled, limits
from core.data.archives import TABLES
from core.data.class_folders import ClassTexts, DiskFolder
from core.data.columns import LABEL_NAMES, SINGLE, describe
from core.data.decisions import ReadingDecision, join_decisions
from core.data.decode import decode_together
from core.data.delimited import parse
from core.data.files import RawTable, TableSettings, read_table, refusing
from core.data.findings import plural, shown
from core.data.layout import TAGGED, Layout, find_layout
from core.data.reading_decisions import describe_columns, describe_encodings, describe_rows
from core.data.table import TRAIN, WHOLE, Task
from core.exceptions import DataError

SPLIT_NAMES = {**class_folders.SPLITS, WHOLE: (WHOLE,)}
"""File names (without suffix) that mean a split, or all rows where there are no others."""

_PLAIN = frozenset({".txt", ".text", ""})
_IGNORED = class_folders.PAPERS | {"labels"}


@dataclass(frozen=True)
class WordLabelled:
    """Cleaned rows by split (or `all` of them), labels still words, and the class names in order."""

    splits: dict[str, pd.DataFrame]
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()
    task: Task = "single"
    decisions: tuple[ReadingDecision, ...] = ()
    """Of the file, or of all files of a folder."""


def read_folder(
    folder: Path,
    *,
    text: str = "",
    label: str = "",
    pair: str = "",
    separator: str = "",
    to_train: bool = True,
    **settings: Unpack[TableSettings],
) -> WordLabelled:
    """The splits of a folder; settings of columns and of tables as for a single file.

    A folder holds files named after splits, such as `train.parquet` and `dev.tsv`, and perhaps `labels.json`; or a
    single `all.csv`; or plain text files, one for each class, such as `rt-polarity.pos` and `rt-polarity.neg`; or a
    folder for each class with a file for each text, perhaps inside folders named after splits: `train/pos/1.txt`.

    A split without a label column, as the test of a competition is, is set aside.

    With `to_train` there must be rows to train on; without it any split will do, rows whose label is withheld stay, and
    so do labels that `labels.json` does not know.

    Raises:
        DataError: if neither is found, or a file cannot be used.
    """
    names = labelled.label_names(folder)
    files = split_files(folder)
    if not files:
        texts = _texts_of_classes(folder, settings.get("encoding", ""), 2 if to_train else 1)
        return WordLabelled(texts.splits, texts.classes, texts.notes, decisions=texts.decisions)
    if to_train and not {TRAIN, WHOLE} & set(files):
        raise DataError(f"found {', '.join(p.name for p in files.values())} but no train file", file=str(folder))
    splits, notes = dict[str, pd.DataFrame](), list[str]()
    multi, layout, decisions = names is not None and names.task == "multi", None, dict[str, list[ReadingDecision]]()
    for split in sorted(files, key=list(SPLIT_NAMES).index):
        file = files[split].name
        asked = text, label
        table = read_table(files[split], **settings)
        if table.kind == conll.KIND:
            layout = layout or TAGGED
        elif layout and to_train and lacks_labels(table, layout):
            aside = f"no column '{shown(layout.label)}', so its {plural(len(table.frame), 'row')} are set aside"
            notes.append(f"{file}: {aside}")
            continue
        elif layout is None or not layout.fits(table.frame):
            with refusing(table, file):
                found_layout = find_layout(table.frame, text, label, separator, pair=pair, multi=multi, file=file)
            layout = _again(layout, found_layout)
            # The further splits must have the columns of train, and as many labels per text.
            text, label, multi = layout.text, layout.label, layout.task == "multi"
            pair = layout.pair or SINGLE
        if (layout is TAGGED) != (table.kind == conll.KIND):
            raise DataError("one split has a tag for each word and another has none", file=str(folder))
        rows, found = labelled.clean(table.frame, layout, file=file)
        decisions[file] = [
            *_described(table, layout, *asked),
            *describe_rows([*table.findings, *found], len(rows), len(table.frame)),
        ]
        if to_train and labelled.words(rows["label"]) == {labelled.WITHHELD}:
            notes.append(f"{file}: {plural(len(rows), 'row')} with the label {labelled.WITHHELD} (withheld) left out")
            continue
        splits[split] = rows
        notes += [f"{file}: {finding.message}" for finding in [*table.findings, *found]]
    if layout is None:
        return named(splits, names, str(folder), tuple(notes), to_train=to_train)
    known = None if layout.form in ("columns", "tags") else names  # such columns, and tags, bring their names
    found_all = named(splits, known, str(folder), tuple(notes), layout.task, to_train=to_train)
    return dataclasses.replace(found_all, decisions=join_decisions(decisions))


def _described(table: RawTable, layout: Layout, text: str, label: str) -> tuple[ReadingDecision, ...]:
    """Return what was decided about a file of a folder; `text` and `label` may name its columns."""
    if layout is TAGGED:
        return table.decisions
    of_columns, _ = describe_columns(table.frame, describe(table.frame), layout, text, label)
    return (*table.decisions, *of_columns)


def lacks_labels(table: RawTable, layout: Layout) -> bool:
    """Return whether a table has the text column of a layout and no label column of any name."""
    names = set(map(str, table.frame.columns))
    others = {name.strip().casefold() for name in names}
    return table.header and layout.text in names and not names & set(layout.labels) and not others & set(LABEL_NAMES)


def _again(first: Layout | None, found: Layout) -> Layout:
    """The sign between labels is that of train, also where another split has fewer of them."""
    if first is None or first.form != "separated" or found.form not in ("one", "separated"):
        return found
    return dataclasses.replace(found, form="separated", mark=first.mark)


def split_files(folder: Path) -> dict[str, Path]:
    """Split → its file, for those that are there; all rows of `all.csv` where there is no other."""
    found = {}
    for split, stems in SPLIT_NAMES.items():
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in TABLES]
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            found[split] = path
    return {split: path for split, path in found.items() if split != WHOLE or len(found) == 1}


def named(
    splits: dict[str, pd.DataFrame],
    known: labelled.LabelNames | None,
    file: str,
    notes: tuple[str, ...] = (),
    task: Task = "single",
    *,
    to_train: bool = True,
) -> WordLabelled:
    """Label words translated to class names, in the order of `known`; without it the words are the classes."""
    labels = pd.concat([rows["label"] for rows in splits.values()], ignore_index=True)
    if known is None:
        return WordLabelled(splits, labelled.sorted_names(labels), notes, task)
    names = known.names
    strange = sorted(labelled.words(labels) - set(names) - set(names.values()))
    if strange and to_train:
        raise DataError(f"label '{shown(strange[0])}' is not among {', '.join(names)} of labels.json", file=file)
    translated = {split: rows.assign(label=labelled.renamed(rows["label"], names)) for split, rows in splits.items()}
    return WordLabelled(translated, tuple(dict.fromkeys(names.values())), notes, task)


def _texts_of_classes(folder: Path, encoding: str, least: int) -> ClassTexts:
    """Read a folder of texts for each class, or a file for each of at least so many classes."""
    by_folder = class_folders.find(DiskFolder(folder))
    return class_folders.read(by_folder, str(folder), encoding) if by_folder else _by_class(folder, encoding, least)


def _by_class(folder: Path, encoding: str, least: int) -> ClassTexts:
    paths = [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(".") and path.stem.casefold() not in _IGNORED
    ]
    one_stem = len(paths) > 1 and len({path.stem for path in paths}) == 1
    names = {(path.suffix.lstrip(".") if one_stem else path.stem): path for path in paths}
    plain = one_stem or all(path.suffix.casefold() in _PLAIN or path.suffix not in TABLES for path in paths)
    if not paths:
        raise DataError(f"there is no data file in this folder{class_folders.list_folders(folder)}", file=str(folder))
    if len(names) < least or not plain:
        raise DataError(
            "no train file (train.csv, .tsv, .jsonl, .parquet …) and no text files named after classes "
            "(positive.txt and negative.txt) in this folder",
            file=str(folder),
        )
    data = class_folders.read_together([(DiskFolder(folder), path.name) for path in paths], str(folder))
    decoded = dict(zip(data, decode_together(data, encoding, folder=str(folder)), strict=True))
    parts = [_one_class(decoded[path.name].text, path, name) for name, path in names.items()]
    decisions, of_encoding = describe_encodings(decoded)
    note = "one class per file: " + ", ".join(f"{path.name} = {name}" for name, path in names.items())
    rows = pd.concat(parts, ignore_index=True)
    return ClassTexts({WHOLE: rows}, labelled.sorted_names(rows["label"]), (note, *of_encoding), decisions)


def _one_class(text: str, path: Path, name: str) -> pd.DataFrame:
    if parse(text, file=path.name).delimiter == "\t":
        raise DataError("has several columns, so it is not a list of texts of one class", file=str(path))
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    limits.check_shape(len(lines), 1, file=path.name)
    return pd.DataFrame({"text": lines, "label": [name] * len(lines)}, dtype="str")
