"""Reading of labelled files and folders: the table, its columns, its labels, and the cleaning of its rows."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import pandas as pd

from core.data import columns as profiles
from core.data import conll
from core.data.cells import as_words, clean_label
from core.data.dataset import TRAIN, WHOLE, Task
from core.data.delimited_text import NAMES
from core.data.findings import Finding, RawTable, ReadingDecision, join_decisions, refuse_findings, shorten
from core.data.folders import SPLIT_NAMES, find_split_files, read_classes
from core.data.labels import WITHHELD, LabelNames, find_form, list_labels, read_label_names, rename_labels, sort_names
from core.data.reading_decisions import describe_columns, describe_rows
from core.data.row_cleaning import clean_rows, examine_rows, find_alike, refuse_quoted
from core.data.table_reader import ReadingSettings, guard_table, read_table
from core.exceptions import DataError, SentiscopeError
from core.formatting import plural

PREVIEW_ROWS = 5
PREVIEW_CHARACTERS = 200


@dataclass(frozen=True)
class FileReport:
    """A report on a data file before training: how it was read, its columns and classes, findings and decisions."""

    file: str
    kind: str = ""
    encoding: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = False
    rows: int = 0  # Rows of the table before cleaning
    columns: tuple[profiles.ColumnProfile, ...] = ()
    text: str = ""
    label: str = ""
    task: Task = "single"
    classes: dict[str, int] = field(default_factory=dict)  # Usable rows by class, in class order
    preview: list[dict[str, str]] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    problem: str = ""  # Why the file cannot be used unchanged; empty: it can
    pair: str = ""
    decisions: tuple[ReadingDecision, ...] = ()
    sheets: tuple[str, ...] = ()
    sheet: str = ""


@dataclass(frozen=True)
class LabeledSplits:
    """Cleaned labelled rows by split (or `all`), with labels as words, and the class names in order."""

    splits: dict[str, pd.DataFrame]  # Columns `text` (str), `label` (class name, or a tuple) and the others
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()
    task: Task = "single"
    decisions: tuple[ReadingDecision, ...] = ()
    report: FileReport | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """Return the labelled rows of a data set that is a single file."""
        return self.splits[WHOLE]


def inspect_file(path: Path, **settings: Unpack[ReadingSettings]) -> FileReport:
    """Report on a data file, even if it cannot be used for training; refuse a file that is not a table."""
    try:
        return _inspect_table(path.expanduser(), settings)[0]
    except DataError as error:
        if len(error.sheets) < 2:
            raise
        # The user can choose another table of the file.
        return FileReport(path.name, problem=str(error), sheets=error.sheets, sheet=error.sheet)


def read_file(path: Path, *, to_train: bool = True, **settings: Unpack[ReadingSettings]) -> LabeledSplits:
    """Read the usable labelled rows of a data file; `to_train` requires enough rows of at least two classes."""
    report, rows, problem = _inspect_table(path.expanduser(), settings, to_train)
    if rows is None:
        raise problem or DataError(report.problem, file=report.file)
    notes = tuple(finding.message for finding in report.findings)
    return LabeledSplits({WHOLE: rows}, tuple(report.classes), notes, report.task, report.decisions, report)


def read_folder(folder: Path, *, to_train: bool = True, **settings: Unpack[ReadingSettings]) -> LabeledSplits:
    """Read the labelled rows of each split from a data folder.

    It has files named after splits (`train.parquet`, `dev.tsv`, perhaps `labels.json`), one `all.csv`, or a text file
    or folder per class (`rt-polarity.pos`, `train/pos/1.txt`). A split without labels is left out. `to_train` requires
    training rows; without it one split is enough, and rows stay if their label is withheld or not in `labels.json`.
    """
    names, files = read_label_names(folder), find_split_files(folder)
    if not files:
        texts = read_classes(folder, str(folder), settings.get("encoding", ""), 2 if to_train else 1)
        cleaned = {
            split: clean_rows(rows, profiles.CLASS_TEXTS, file=str(folder)) for split, rows in texts.splits.items()
        }
        notes = [*texts.notes, *(each.message for _, found in cleaned.values() for each in found)]
        splits = {split: rows for split, (rows, _) in cleaned.items()}
        classes = tuple(dict.fromkeys(filter(None, map(clean_label, texts.classes))))
        notes += [each.message for each in find_alike(classes)]
        return LabeledSplits(splits, classes, tuple(notes), decisions=texts.decisions)
    if to_train and not {TRAIN, WHOLE} & set(files):
        there = ", ".join(paths[0].name for paths in files.values())
        raise DataError(f"found {there} but no train file", file=str(folder))
    decisions = dict[str, list[ReadingDecision]]()
    splits, notes = dict[str, pd.DataFrame](), list[str]()
    layout, several = None, bool(names and names.task == "multi")
    for split in sorted(files, key=list(SPLIT_NAMES).index):
        path, *others = files[split]
        file, table = path.name, read_table(path, **settings)
        notes += [f"`{shorten(each.name)}` is left out, since `{file}` is the {split} split" for each in others]
        tagged = table.kind == conll.KIND
        if layout and to_train and _is_unlabeled(table, layout):
            rows_aside = f"its {plural(len(table.frame), 'row')} are set aside"
            notes.append(f"{file}: no column '{shorten(layout.label)}', so {rows_aside}")
            continue
        if layout and (layout is profiles.TAGGED) != tagged:
            raise DataError("one split has a tag for each word and another has none", file=str(folder))
        columns, asked = profiles.summarize_columns(table.frame), settings
        if layout is None or not (tagged or set(layout.taken) <= set(map(str, table.frame.columns))):
            layout = _find_layout(table, columns, settings, several, file, layout)
            # Further splits must have the columns of train, and the same form of labels.
            settings = {**settings, "text": layout.text, "label": layout.label, "pair": layout.pair or profiles.SINGLE}
            several = layout.task == "multi"
        of_columns, _ = describe_columns(table.frame, columns, layout, asked)
        rows, found = clean_rows(table.frame, layout, file=file)
        if table.delimiter and not settings.get("quoting"):
            refuse_quoted(rows["label"], file)
        found = [*table.findings, *found]
        decisions[file] = [*table.decisions, *of_columns, *describe_rows(found, len(rows), len(table.frame))]
        if to_train and list_labels(rows["label"]) == {WITHHELD}:
            notes.append(f"{file}: {plural(len(rows), 'row')} with the label {WITHHELD} (withheld) left out")
            continue
        splits[split] = rows
        notes += [f"{file}: {finding.message}" for finding in found]
    assert layout is not None
    labels = {name for rows in splits.values() for name in list_labels(rows["label"])}
    notes += [each.message for each in find_alike(labels)]
    known = None if layout.form in ("columns", "tags") else names  # names of 0/1 columns, and tags, are the class names
    named = name_classes(splits, known, str(folder), notes, layout.task, to_train=to_train)
    return dataclasses.replace(named, decisions=join_decisions(decisions))


def name_classes(
    splits: dict[str, pd.DataFrame],
    known: LabelNames | None,
    file: str,
    notes: Sequence[str] = (),
    task: Task = "single",
    *,
    to_train: bool = True,
) -> LabeledSplits:
    """Replace labels by the class names in `labels.json` (`known`); without it, the labels are the class names."""
    labels = pd.concat([rows["label"] for rows in splits.values()], ignore_index=True)
    if known is None:
        return LabeledSplits(splits, sort_names(labels), tuple(notes), task)
    names = known.names
    if (strange := sorted(list_labels(labels) - set(names) - set(names.values()))) and to_train:
        raise DataError(f"label '{shorten(strange[0])}' is not among {', '.join(names)} of labels.json", file=file)
    translated = {split: rows.assign(label=rename_labels(rows["label"], names)) for split, rows in splits.items()}
    return LabeledSplits(translated, tuple(dict.fromkeys(names.values())), tuple(notes), task)


def _inspect_table(
    path: Path, settings: ReadingSettings, to_train: bool = True
) -> tuple[FileReport, pd.DataFrame | None, SentiscopeError | None]:
    file, table = path.name, read_table(path, **settings)
    columns, layout, rows, problem = profiles.summarize_columns(table.frame), None, None, None
    findings, decisions, classes = list(table.findings), list(table.decisions), dict[str, int]()
    try:
        names = read_label_names(path.parent)
        layout = _find_layout(table, columns, settings, bool(names and names.task == "multi"), file)
        of_columns, found = describe_columns(table.frame, columns, layout, settings)
        decisions += of_columns
        findings += found
        rows, found = clean_rows(table.frame, layout, file=file)
        findings += [*found, *examine_rows(rows, to_train=to_train, column=layout.label)]
        refuse_findings(findings, file)
        if table.delimiter and not settings.get("quoting"):
            refuse_quoted(rows["label"], file)
        if names and layout is not profiles.TAGGED and list_labels(rows["label"]) <= set(names.names):
            rows = rows.assign(label=rename_labels(rows["label"], names.names))
        counts = rows["label"].explode().value_counts()
        order = [name for name in names.names.values() if name in counts.index] if names else []
        order = order if len(order) == len(counts) else [*sort_names(rows["label"])]
        classes = {name: int(counts[name]) for name in order}
    except SentiscopeError as error:
        problem, rows = error, None
    decisions += describe_rows(findings, len(table.frame) if rows is None else len(rows), len(table.frame))
    report = FileReport(
        file=file,
        **{name: getattr(table, name) for name in ("kind", "encoding", "quoted", "header", "sheets", "sheet")},
        **{name: getattr(layout or profiles.Layout("", ()), name) for name in ("text", "label", "task", "pair")},
        delimiter=NAMES.get(table.delimiter, table.delimiter) if table.delimiter else "",
        rows=len(table.frame),
        columns=tuple(columns),
        classes=classes,
        preview=_show_preview(table),
        findings=tuple(findings),
        problem=str(problem or ""),
        decisions=tuple(decisions),
    )
    return report, rows, problem


def _find_layout(
    table: RawTable,
    columns: Sequence[profiles.ColumnProfile],
    settings: ReadingSettings,
    several: bool,
    file: str,
    first: profiles.Layout | None = None,
) -> profiles.Layout:
    """Choose a table's text and label columns, and detect how labels are written; reuse the first split's separator."""
    if table.kind == conll.KIND:
        return profiles.TAGGED
    text, label, pair = settings.get("text", ""), settings.get("label", ""), settings.get("pair", "")
    with guard_table(table, file):
        layout = profiles.choose_columns(table.frame, columns, text=text, label=label, pair=pair, file=file)
        layout = find_form(table.frame, layout, settings.get("separator", ""), several=several, file=file)
    if first and first.form == "separated" and layout.form in ("one", "separated"):
        return dataclasses.replace(layout, form="separated", mark=first.mark)
    return layout


def _is_unlabeled(table: RawTable, layout: profiles.Layout) -> bool:
    """Return whether a table has the text column of the training table's layout, but no label column."""
    names = set(map(str, table.frame.columns))
    labeled = names & set(layout.labels) or any(map(profiles.is_label_name, names))
    return table.header and layout.text in names and not labeled


def _show_preview(table: RawTable) -> list[dict[str, str]]:
    head = table.frame.head(PREVIEW_ROWS)
    if table.kind == conll.KIND:
        head = head.assign(label=head["label"].map(" ".join))
    cells = head.apply(as_words).fillna("").map(lambda cell: cell[:PREVIEW_CHARACTERS])
    return [dict(zip(map(str, head.columns), row, strict=True)) for row in cells.to_numpy()]
