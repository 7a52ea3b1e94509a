"""One file looked at before use: what it is, which columns matter, what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from core.data import labelled
from core.data.columns import Column, as_words, describe
from core.data.conll import KIND
from core.data.decisions import ReadingDecision
from core.data.delimited import NAMES
from core.data.files import RawTable, TableSettings, read_table, refusing
from core.data.findings import Finding
from core.data.layout import TAGGED, find_layout
from core.data.reading_decisions import describe_columns, describe_rows
from core.data.table import Task
from core.exceptions import DataError, SentiscopeError

PREVIEW_ROWS = 5
PREVIEW_CHARACTERS = 200


@dataclass(frozen=True)
class FileReport:
    """What a person needs to know about a file before training on it."""

    file: str
    kind: str
    """csv, tsv, text, json, jsonl, xlsx, parquet, trees or conll; empty: the table could not be read."""
    encoding: str
    delimiter: str
    """In words, such as `tab`; empty where the kind has none."""
    quoted: bool
    header: bool
    rows: int
    """Rows of the table, before any is left out."""
    columns: tuple[Column, ...]
    text: str
    """Name of the text column; empty: none found."""
    label: str
    """Name of the label column, or those of the 0/1 columns with commas between."""
    task: Task
    classes: dict[str, int]
    """Usable rows of each class, in class order."""
    preview: list[dict[str, str]]
    findings: tuple[Finding, ...]
    problem: str
    """Why the file cannot be used as it is; empty: it can."""
    pair: str = ""
    """Name of the column of second texts; empty: texts are single."""
    decisions: tuple[ReadingDecision, ...] = ()
    """What was decided about the file, each with what else could have been chosen."""
    sheets: tuple[str, ...] = ()
    """The tables of the file, of which one is read: sheets of a workbook, keys of JSON, files of an archive."""
    sheet: str = ""
    """The one that is read; empty: the file is one table."""


@dataclass(frozen=True)
class LabelledFile:
    """The usable rows of a file."""

    rows: pd.DataFrame
    """Columns `text` (str), `label` (str, the class name; a tuple of them in a multi-label file) and the others."""
    classes: tuple[str, ...]
    report: FileReport


def inspect_file(
    path: Path,
    *,
    text: str = "",
    label: str = "",
    pair: str = "",
    separator: str = "",
    **settings: Unpack[TableSettings],
) -> FileReport:
    """Look at a file and tell what was found, also when it cannot be used (see `FileReport.problem`).

    Args:
        path: The file; `~` is the home folder.
        text: Name or 0-based number of the text column; empty: guessed.
        label: Likewise for the label column; `a,b` or `y_*`: 0/1 columns.
        pair: Likewise for the column of second texts; `none`: texts are single; empty: found by name.
        separator: Sign between several labels in one cell; `none`: each cell is one label; empty: found.
        settings: How the file is made a table.

    Raises:
        DataError: if the file cannot be read as a table at all.
    """
    path = path.expanduser()
    try:
        table = read_table(path, **settings)
    except DataError as error:
        if len(error.sheets) < 2:
            raise
        return _of_refused_sheet(path.name, error)
    return _look(path, table, text, label, separator, pair, quoting=settings.get("quoting", ""))[0]


def _of_refused_sheet(file: str, error: DataError) -> FileReport:
    """Return the report of a file of which one table cannot be read, so that another one can be chosen."""
    return FileReport(
        file=file,
        kind="",
        encoding="",
        delimiter="",
        quoted=False,
        header=False,
        rows=0,
        columns=(),
        text="",
        label="",
        task="single",
        classes={},
        preview=[],
        findings=(),
        problem=str(error),
        sheets=error.sheets,
        sheet=error.sheet,
    )


def read_file(
    path: Path,
    *,
    text: str = "",
    label: str = "",
    pair: str = "",
    separator: str = "",
    to_train: bool = True,
    **settings: Unpack[TableSettings],
) -> LabelledFile:
    """The usable rows of a file; arguments as `inspect_file`.

    With `to_train` there must be enough of them, of two classes at least; to evaluate on, one row is enough.

    Raises:
        DataError: if the file cannot be used; the message says why and what to do.
    """
    path = path.expanduser()
    table = read_table(path, **settings)
    report, rows, error = _look(path, table, text, label, separator, pair, to_train, settings.get("quoting", ""))
    if error is not None or rows is None:
        raise error or DataError(report.problem, file=path.name)
    return LabelledFile(rows, tuple(report.classes), report)


def _look(
    path: Path,
    table: RawTable,
    text: str,
    label: str,
    separator: str,
    pair: str,
    to_train: bool = True,
    quoting: str = "",
) -> tuple[FileReport, pd.DataFrame | None, SentiscopeError | None]:
    """The report, and the usable rows or the reason why there are none."""
    columns = describe(table.frame)
    findings, rows, problem, layout = list(table.findings), None, None, None
    decisions = list(table.decisions)
    try:
        names = labelled.label_names(path.parent)
        multi = names is not None and names.task == "multi"
        layout = TAGGED if table.kind == KIND else None
        if layout is None:
            with refusing(table, path.name):
                layout = find_layout(
                    table.frame, text, label, separator, pair=pair, multi=multi, columns=columns, file=path.name
                )
            of_columns, found = describe_columns(table.frame, columns, layout, text, label)
            decisions += of_columns
            findings += found
        rows, found = labelled.clean(table.frame, layout, file=path.name)
        findings += found + labelled.examine(rows, to_train=to_train, column=layout.label)
        labelled.refuse(findings, path.name)
        if table.delimiter and not quoting and layout is not TAGGED:
            labelled.refuse_quoted(rows["label"], path.name)
        rows = rows if layout is TAGGED else _named(rows, path)
    except SentiscopeError as error:
        problem, rows = error, None
    decisions += describe_rows(findings, len(table.frame) if rows is None else len(rows), len(table.frame))
    report = FileReport(
        file=path.name,
        kind=table.kind,
        encoding=table.encoding,
        delimiter=NAMES.get(table.delimiter, table.delimiter) if table.delimiter else "",
        quoted=table.quoted,
        header=table.header,
        rows=len(table.frame),
        columns=tuple(columns),
        text=layout.text if layout else "",
        label=layout.label if layout else "",
        task=layout.task if layout else "single",
        classes={} if rows is None else _counts(rows["label"], path),
        preview=_preview(_spoken(table.frame) if table.kind == KIND else table.frame),
        findings=tuple(findings),
        problem=str(problem or ""),
        pair=layout.pair if layout else "",
        decisions=tuple(decisions),
        sheets=table.sheets,
        sheet=table.sheet,
    )
    return report, rows, problem


def _named(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Labels translated by the `labels.json` beside the file, if it knows all of them."""
    known = labelled.label_names(path.parent)
    if known is None or not labelled.words(rows["label"]) <= set(known.names):
        return rows
    return rows.assign(label=labelled.renamed(rows["label"], known.names))


def _counts(labels: pd.Series, path: Path) -> dict[str, int]:
    """Rows of each class; in the order of `labels.json` where it names them, else sorted."""
    known = labelled.label_names(path.parent)
    counts = labels.explode().value_counts()
    order = [name for name in known.names.values() if name in counts.index] if known else []
    if len(order) < len(counts):
        order = list(labelled.sorted_names(labels))
    return {name: int(counts[name]) for name in order}


def _spoken(frame: pd.DataFrame) -> pd.DataFrame:
    """The first sentences of a file of tagged words, their tags with blanks between."""
    head = frame.head(PREVIEW_ROWS)
    return head.assign(label=[" ".join(tags) for tags in head["label"]])


def _preview(frame: pd.DataFrame) -> list[dict[str, Any]]:
    head = frame.head(PREVIEW_ROWS)
    words = {str(name): as_words(head.iloc[:, number]) for number, name in enumerate(frame.columns)}
    return [
        {
            name: "" if pd.isna(column.iloc[row]) else column.iloc[row][:PREVIEW_CHARACTERS]
            for name, column in words.items()
        }
        for row in range(len(head))
    ]
