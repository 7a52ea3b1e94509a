"""Reading of data sets in their authors' file layout, in batches, so that memory does not grow with the rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path

import pyarrow as pa

from core.data import limits
from core.data.findings import plural, shorten
from core.data.sources.source import OWN_LAYOUT, PublishedLayout
from core.data.stream import AT_ONCE
from core.exceptions import DataError
from core.formatting import count, join_names

Row = tuple[str | None, ...]
"""A text, its class name, further columns."""
_SAME_LINES = "each line of one belongs to the same line of the other"
DELIMITERS = {"comma": ",", "tab": "\t"}


@dataclass
class PublishedSplit:
    """A split of a published data set while it is read; its notes and row count are final after the last batch."""

    name: str
    layout: PublishedLayout
    files: tuple[Path, ...]
    rows: int = 0
    left_out: int = 0

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of a published split: text, label (class name) and further columns, all strings."""
        return pa.schema({name: pa.large_string() for name in ("text", "label", *self.layout.kept)})

    def read_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a published split in batches of some thousand; refuse a file in another layout."""
        rows = _read_lines(self) if self.layout.form == "lines" else _read_table(self)
        while block := list(islice(rows, AT_ONCE)):
            limits.check_shape(self.rows + len(block), len(self.layout.columns) or 2, file=self.files[0].name)
            kept = [row for row in block if row[0] and not row[0].isspace()]
            self.rows, self.left_out = self.rows + len(kept), self.left_out + len(block) - len(kept)
            columns = zip(*kept, strict=True) if kept else repeat((), len(self.schema))
            cells = [pa.array(column, pa.large_string()) for column in columns]
            yield pa.RecordBatch.from_arrays(cells, schema=self.schema)
        if not self.rows:
            raise DataError(f"has no row with a text; {describe_expected(self.layout)}", file=self.files[0].name)

    def list_notes(self) -> list[str]:
        """Report rows of a published split that were left out, and a row count that differs from the published one."""
        notes = [f"{self.name}: {plural(self.left_out, 'row')} without a text left out"] if self.left_out else []
        published, rows = self.layout.rows.get(self.name), self.rows + self.left_out
        if published and published != rows:
            notes.append(f"{self.name}: {plural(rows, 'row')}, and {count(published)} are published")
        return notes


def find_splits(folder: Path, layout: PublishedLayout) -> list[PublishedSplit]:
    """Return the splits of a data set in its published layout from a folder; refuse a folder with missing files."""
    if lacking := layout.list_missing(folder):
        raise DataError(
            f"{join_names(lacking)} {'is' if len(lacking) == 1 else 'are'} not there; {describe_expected(layout)}",
            file=str(folder),
        )
    return [
        PublishedSplit(name, layout, tuple(folder / file for file in files))
        for name, files in layout.find_splits(folder).items()
    ]


def describe_expected(layout: PublishedLayout) -> str:
    """Describe the files that the folder of a published data set should hold, and the alternative layout."""
    return (
        f"as published ({layout.where}) it holds {layout.describe_layout()}. Files in another layout, such as train.csv"
        f" with column names, can be read if {OWN_LAYOUT} is in the same folder"
    )


def _read_table(split: PublishedSplit) -> Iterator[Row]:
    layout, path = split.layout, split.files[0]
    rows = csv.reader(_read_text(path, layout.encoding, newline=""), delimiter=DELIMITERS[layout.form])
    names = _check_header(next(rows, []), layout, path) if layout.header else layout.columns
    wanted = [layout.text, layout.label, *layout.kept]
    places = [names.index(name) if name in names else None for name in wanted]
    longest = limits.get_limits().characters
    for number, row in enumerate(filter(None, rows), 1):
        if len(row) != len(names):
            problem = f"has {plural(len(row), 'field')} where {len(names)} are published; {describe_expected(layout)}"
            raise DataError(problem, file=path.name, row=number)
        if layout.form == "tab" and any("\t" in cell and "\n" in cell for cell in row):
            problem = "a quotation mark opens a cell that goes on over tabs and lines; close it or double it"
            raise DataError(problem, file=path.name, row=number)
        text, label, *more = (None if place is None else row[place] or None for place in places)
        if text and len(text) > longest:
            problem = f"a cell has {count(len(text))} characters"
            raise limits.make_error(problem, "characters", file=path.name, row=number)
        text = text.replace("\\n", "\n") if text and layout.escaped else text
        yield text, _name_class(label, split, path, number), *more


def _check_header(cells: list[str], layout: PublishedLayout, path: Path) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    absent = [name for name in (layout.text, layout.label) if name not in names]
    if absent:
        problem = f"the first row has no column '{absent[0]}' but {shorten(', '.join(names)) or 'nothing'}"
        raise DataError(f"{problem}; {describe_expected(layout)}", file=path.name)
    return names


def _name_class(label: str | None, split: PublishedSplit, path: Path, row: int) -> str:
    layout = split.layout
    name = layout.labels.get((label or "").strip())
    if name is None:
        what = f"the label '{shorten(label)}' is" if label else "an empty label is"
        problem = f"{what} none of {', '.join(layout.labels)}; {describe_expected(layout)}"
        raise DataError(problem, file=path.name, row=row, field=layout.label or None)
    return name


def _read_lines(split: PublishedSplit) -> Iterator[Row]:
    layout, (texts, labels) = split.layout, split.files
    lines = (_read_text(path, layout.encoding, newline="\n") for path in (texts, labels))
    first, second = ((line.removesuffix("\n").removesuffix("\r") for line in each) for each in lines)
    for number, text in enumerate(first, 1):
        label = next(second, None)
        if label is None:
            if not text.strip() and not any(map(str.strip, first)):
                break  # blank lines at the end
            problem = f"has a label for {plural(number - 1, 'text')} and {texts.name} has more"
            raise DataError(f"{problem}; {_SAME_LINES}", file=labels.name)
        yield text, _name_class(label, split, labels, number)
    if any(second):
        raise DataError(f"has more labels than {texts.name} has texts; {_SAME_LINES}", file=labels.name)


def _read_text(path: Path, encoding: str, newline: str) -> Iterator[str]:
    without_mark = "utf-8-sig" if encoding == "utf-8" else encoding
    with io.TextIOWrapper(limits.open_file(path), without_mark, newline=newline) as lines:
        try:
            yield from lines
        except UnicodeDecodeError:
            row = _find_wrong_line(path, encoding)
            raise DataError(f"is not {encoding.upper()}: see line {count(row)}", file=path.name) from None


def _find_wrong_line(path: Path, encoding: str) -> int:
    with limits.open_file(path) as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError:
                return number
    return 0
