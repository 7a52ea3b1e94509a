"""Reading of data files as raw tables; the format is detected from the content."""

import contextlib
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, Unpack

import pandas as pd

from core.data import conll, limits
from core.data.archives import GZIP, ZIP, UnpackedTable, is_archive, read_zipped_classes, unpack_gzip, unpack_zip
from core.data.decoding import decode_bytes
from core.data.delimited_text import QUOTE_TEXTS, parse_table
from core.data.excel import read_excel
from core.data.findings import Finding, RawTable, list_finding, name_sheets, refuse_findings, shorten
from core.data.json_table import is_json, read_json
from core.data.parquet import apply_class_names, parse_parquet, read_class_names
from core.data.reading_decisions import describe_encoding, describe_sheet, describe_table
from core.exceptions import DataError
from core.formatting import count, plural

_PREFIX = "__label__"
_PREFIXED = re.compile(r"\s*((?:__label__[^\s,]+(?:\s+|$))+)(.*)", re.DOTALL)
_AT_END = re.compile(r"(.*\S)\s*@\s*([^\W\d][\w-]{0,39})\s*", re.DOTALL)
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_LEAST = 0.95  # Share of lines with a label form, at least, for a file in this form
_MOST_AT = 20  # Distinct labels after an at sign, at most; more would be names of people
_PACKED = "; unpack it, or pack it with gzip or zip"
FOREIGN = {
    b"BZh9": f"it is packed with bzip2{_PACKED}",
    b"\xfd7zXZ": f"it is packed with xz{_PACKED}",
    b"7z\xbc\xaf\x27\x1c": f"it is a 7-Zip archive{_PACKED}",
    b"Rar!\x1a": f"it is a RAR archive{_PACKED}",
    b"PK\x05\x06": "it is an archive with nothing in it",
    b"version https://git-lfs": "it is a pointer of Git LFS and not the data; get the file with `git lfs pull`",
    b"\xd0\xcf\x11\xe0": "it is an old Excel file; save it as .xlsx or CSV",
    b"%PDF": "it is a PDF; save its table as CSV",
    b"SQLite format 3": "it is an SQLite database; export the table as CSV",
    **dict.fromkeys(
        (b"\x80\x04", b"\x80\x05"),
        "it is a Python pickle, which can run code and is never opened; save the table as Parquet or CSV",
    ),
}  # First bytes of a file that is refused → the reason


class TableSettings(TypedDict, total=False):
    """Settings for reading a data file as a table; settings that are not given are detected from the file."""

    delimiter: str
    encoding: str
    header: str
    quoting: str
    sheet: str


class ReadingSettings(TableSettings, total=False):
    """Settings for reading a data file as labelled rows, such as the names of the text and label columns."""

    text: str
    label: str
    pair: str
    separator: str


def read_table(path: Path, **settings: Unpack[ReadingSettings]) -> RawTable:
    """Read a data file's cells as a table, its format detected from the content; DataError: unknown or damaged."""
    data = limits.read_bytes(path)
    if data.startswith(GZIP):
        table = _read_packed(unpack_gzip(data, path.name), path.name, settings)
    elif data.startswith(ZIP) and is_archive(data, path.name):
        table = _read_zip(data, path.name, settings)
    else:
        table = _parse_bytes(data, path.name, settings)
    decisions = (*describe_sheet(table.sheet, table.sheets, table.frame), *table.decisions)
    return dataclasses.replace(table, decisions=decisions)


def _parse_bytes(data: bytes, file: str, settings: TableSettings) -> RawTable:
    if not data.strip():
        raise DataError("the file is empty", file=file)
    for mark, reason in FOREIGN.items():
        if data.startswith(mark):
            raise DataError(reason, file=file)
    if data.startswith(b"PAR1"):
        frame, named = apply_class_names(parse_parquet(data, file), read_class_names(data))
        return RawTable(frame, "parquet", findings=tuple(named))
    if data.startswith(ZIP):
        return read_excel(data, file, settings.get("sheet", ""), settings.get("header", ""))
    decoded = decode_bytes(data, settings.get("encoding", ""), file=file)
    decisions, found = describe_encoding(decoded)
    table = _parse_text(decoded.text, file, settings)
    return dataclasses.replace(
        table, encoding=decoded.encoding, findings=(*found, *table.findings), decisions=(*decisions, *table.decisions)
    )


@contextlib.contextmanager
def guard_table(table: RawTable, file: str) -> Iterator[None]:
    """Add a description of a file's content to errors about its table; refuse a table with a single column."""
    refuse_findings(table.findings, file)
    columns = table.frame.columns
    what = table.seen or f"a table of {plural(len(table.frame), 'row')}"
    if len(columns) == 1 and (table.kind != "text" or table.header):
        raise DataError(f"{what} with the one column '{shorten(str(columns[0]))}' and no labels", file=file)
    try:
        yield
    except DataError as error:
        if not table.seen or error.row is not None:
            raise
        message = str(error).removeprefix(f"{file}, field '{error.field}': ").removeprefix(f"{file}: ")
        raise DataError(f"{what}: {message}", file=file, field=error.field) from None


def _read_packed(packed: UnpackedTable, file: str, settings: TableSettings) -> RawTable:
    """Read the table in a gzip file or zip archive; for a zip archive, `sheet` names one of its files."""
    inside = f"{file}: {packed.name}" if packed.part else file
    if packed.data.startswith(GZIP) or (packed.data.startswith(ZIP) and is_archive(packed.data, packed.name)):
        raise DataError(f"an archive inside an archive (`{shorten(packed.name)}`); unpack it first", file=file)
    with name_sheets(packed.parts, packed.part):
        table = _parse_bytes(packed.data, inside, {**settings, "sheet": ""} if packed.part else settings)
    if not packed.part:
        return table
    found = (*packed.findings, *table.findings)
    return dataclasses.replace(table, findings=found, sheets=packed.parts, sheet=packed.part)


def _read_zip(data: bytes, file: str, settings: TableSettings) -> RawTable:
    """Read a zip archive as a table: one split of its class folders or files (train first), or its one table."""
    texts, part = read_zipped_classes(data, file, settings.get("encoding", "")), settings.get("sheet", "")
    if texts is None:
        return _read_packed(unpack_zip(data, file, part), file, settings)
    splits = list(texts.splits)
    if part and part not in splits:
        raise DataError(f"no split '{shorten(part)}' for data.sheet (in the archive: {', '.join(splits)})", file=file)
    chosen = part or splits[0]
    frame = texts.splits[chosen].astype(object)
    others = ", ".join(f"`{split}`" for split in splits if split != chosen)
    left = f"left out: {others}; data.sheet names another, and the unpacked folder has all"
    notes = [*texts.notes, *([f"the texts in `{chosen}` are read; {left}"] if others else [])]
    encoding = next((each.chosen for each in texts.decisions), "")
    findings = tuple(Finding("class-folders", "note", len(frame), each) for each in notes)
    table = RawTable(frame, "text", encoding, header=False, findings=findings, decisions=texts.decisions)
    return dataclasses.replace(table, sheets=tuple(splits), sheet=chosen) if others else table


def _parse_text(text: str, file: str, settings: TableSettings) -> RawTable:
    delimiter, header = settings.get("delimiter", ""), settings.get("header", "")
    if delimiter == conll.KIND or (not delimiter and conll.is_conll(text, file)):
        frame, found_tags = conll.read_conll(text, file)
        return RawTable(frame, conll.KIND, header=False, findings=tuple(found_tags))
    start, sheet = text.lstrip()[:1], settings.get("sheet", "")
    maybe_json = not delimiter and (start in "[{" or is_json(text, file))
    if maybe_json and (found := read_json(text, file, sheet)) is not None:
        return found
    if start == "<":
        _refuse_markup(text, file)
    if not delimiter and not header and (lines := read_label_lines(text, file)) is not None:
        return lines
    parsed = parse_table(text, delimiter, header, settings.get("quoting", ""), file=file)
    every = len(parsed.rows) + len(parsed.ragged)
    if len(parsed.ragged) > 0.2 * every:
        problem = f"{count(len(parsed.ragged))} of {count(every)} rows have another number of fields than the rest"
        raise DataError(f"{problem}; {QUOTE_TEXTS}", file=file, row=parsed.ragged[0])
    cells = [[cell or None for cell in row] for row in parsed.rows]
    frame = pd.DataFrame(cells, columns=list(parsed.columns), dtype=object)
    decisions, findings = describe_table(parsed, settings.get("quoting", ""))
    kind = {"\t": "tsv", "": "text"}.get(parsed.delimiter, "csv")
    table = RawTable(frame, kind, "", parsed.delimiter, parsed.quoted, parsed.head.named, tuple(findings))
    return dataclasses.replace(table, decisions=tuple(decisions))


def _refuse_markup(text: str, file: str) -> None:
    start = text.lstrip()[:200].casefold()
    if start.startswith(("<!doctype html", "<html", "<table", "<meta", "<head", "<style")):
        rows = len(re.findall("<tr[ >]", text, re.IGNORECASE))
        what = f"an HTML page with a table of {plural(rows, 'row')}" if rows else "an HTML page"
        raise DataError(f"it is {what}; open it in a spreadsheet program and save the table as .xlsx or CSV", file=file)
    tag = re.match(r"<([a-z]\w*)", start)
    if start.startswith("<?xml") or (tag and text[-1_000:].rstrip().casefold().endswith(f"</{tag[1]}>")):
        raise DataError("it is an XML document; save its texts and labels as CSV", file=file)


def read_label_lines(text: str, file: str) -> RawTable | None:
    """Read text lines that contain their own labels, such as `__label__NAME`; None if the lines have no such form."""
    if _PREFIX not in text[:10_000] and "@" not in text[:10_000]:
        return None
    first = [line for line in _LINE_ENDS.split(text[:400_000]) if line.strip()][:500]
    if sum(line.lstrip().startswith(_PREFIX) for line in first) >= _LEAST * len(first):
        if sum(_PREFIXED.fullmatch(line) is not None for line in first) < _LEAST * len(first):
            return None
        form, pattern = f"{_PREFIX}NAME in front of the text", _PREFIXED
    elif _has_end_labels(first):
        form, pattern = "@NAME behind the text", _AT_END
    else:
        return None
    rows = list[tuple[str, list[str]]]()
    for number, line in enumerate(filter(str.strip, _LINE_ENDS.split(text)), 1):
        limits.check_shape(number, 2, file=file)
        if len(line) > limits.get_limits().characters:
            raise limits.make_error("a line is longer", "characters", file=file, row=number)
        if (found := pattern.fullmatch(line)) is None:
            rows.append((line.strip(), []))
        elif pattern is _PREFIXED:
            rows.append((found[2].strip(), [label.removeprefix(_PREFIX) for label in found[1].split()]))
        else:
            rows.append((found[1], [found[2]]))
    several = any(len(labels) > 1 for _, labels in rows)
    cells = [(words, (labels if several else labels[0]) if labels else None) for words, labels in rows]
    without = sum(not labels for _, labels in rows)
    message = f"{plural(without, 'line')} without a label in that form"
    findings = [
        Finding("label-lines", "note", len(rows) - without, f"the label of each line is read as {form}"),
        *list_finding("lines-without-label", "warning", without, message),
    ]
    frame = pd.DataFrame(cells, columns=["text", "label"], dtype=object)
    return RawTable(frame, "text", header=False, findings=tuple(findings))


def _has_end_labels(lines: list[str]) -> bool:
    found = [match[2] for line in lines if (match := _AT_END.fullmatch(line))]
    counts = Counter(found)
    return (
        len(found) >= 4
        and len(found) >= _LEAST * len(lines)
        and 2 <= len(counts) <= min(_MOST_AT, len(found) // 3)
        and min(counts.values()) > 1
    )
