"""Reading of data files as raw tables, also from gzip files and zip archives; the content tells the format.

Archives of tables or class folders are unpacked within the size limits.
"""

import contextlib
import dataclasses
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypedDict, Unpack

import pandas as pd

from core.data import conll, folders, limits
from core.data.dataset import TRAIN
from core.data.decoding import decode_bytes
from core.data.delimited_text import QUOTE_TEXTS, parse_table
from core.data.excel import read_excel
from core.data.findings import Finding, RawTable, list_finding, name_sheets, refuse_findings, shorten
from core.data.json_table import is_json, read_json
from core.data.parquet import apply_class_names, parse_parquet, read_class_names
from core.data.reading_decisions import describe_encoding, describe_sheet, describe_table
from core.exceptions import DataError
from core.formatting import count, plural

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_FIRST = ("all", "train", "training", "data")
_ARCHIVES = (".zip", ".gz", ".7z", ".rar", ".bz2", ".xz", ".tar", ".tgz")
_MOST_MEMBERS, _DEEPEST = 200_000, 30
_ENCRYPTED = 0x1
_DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError)
_WORKBOOK, _OPEN_DOCUMENT = "[Content_Types].xml", "mimetype"


@dataclass(frozen=True)
class UnpackedTable:
    """A table unpacked from a gzip file or zip archive, as bytes, with the names of all tables in the archive."""

    data: bytes
    name: str
    parts: tuple[str, ...] = ()
    part: str = ""
    findings: tuple[Finding, ...] = ()


def is_archive(data: bytes, file: str) -> bool:
    """Return whether a zip file is an archive of files, not an Excel workbook; judge a damaged file by its name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _WORKBOOK not in archive.namelist()
    except _DAMAGED:
        return file.casefold().endswith(".zip")


def unpack_gzip(data: bytes, file: str) -> UnpackedTable:
    """Unpack a gzip file; refuse it if it is damaged, contains another archive or is too large."""
    name = file[: -len(".gz")] if file.lower().endswith(".gz") else file
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            found = _read_bounded(stream, file, f"gunzip -c {file}")
    except _DAMAGED as error:
        raise DataError(f"this gzip file is damaged or cut short ({error})"[:200], file=file) from None
    if found[257:262] == b"ustar" or name.lower().endswith((".tar", ".tgz")):
        raise DataError("a tar archive packed with gzip; unpack it and give the folder or a file", file=file)
    return UnpackedTable(found, name)


def unpack_zip(data: bytes, file: str, part: str = "") -> UnpackedTable:
    """Unpack one table of a zip archive: the one with the name `part`, else the training table or the first."""
    with _open_archive(data, file) as (archive, members):
        tables = _list_tables(members, file)
        names = tuple(each.filename for each in tables)
        named = (each for each in tables if part in ("", each.filename, PurePosixPath(each.filename).name))
        if (chosen := next(named, None)) is None:
            there = ", ".join(map(shorten, names[:10]))
            raise DataError(f"no table '{shorten(part)}' for data.sheet (in the archive: {there})", file=file)
        with name_sheets(names, chosen.filename):
            if chosen.flag_bits & _ENCRYPTED:
                raise DataError(f"`{shorten(chosen.filename)}` in it has a password; unpack it first", file=file)
            with archive.open(chosen) as stream:
                found = _read_bounded(stream, file, f"unzip -p {file} {chosen.filename}")
    message = f"`{shorten(chosen.filename)}` of the archive is read"
    packed = [each.filename for each in members if each.filename.casefold().endswith(_ARCHIVES)]
    if others := [f"`{shorten(name)}`" for name in dict.fromkeys((*names, *packed)) if name != chosen.filename]:
        message += f"; left out: {', '.join(others[:8])}; data.sheet names another, and the unpacked folder has all"
    note = Finding("archive", "note", len(others), message)
    return UnpackedTable(found, PurePosixPath(chosen.filename).name, names, chosen.filename, (note,))


def read_zipped_classes(data: bytes, file: str, encoding: str = "") -> folders.ClassTexts | None:
    """Read labelled texts from a zip archive with one folder or file per class; return None for other content."""
    with _open_archive(data, file) as (archive, members):
        tables = filter(_is_table, (PurePosixPath(each.filename) for each in members))
        if any(_rank_table(name)[1] < len(_FIRST) for name in tables):
            return None
        root = zipfile.Path(archive)
        found, (folder, names) = folders.find_folders(root), _find_class_files(root)
        if found is None and len(set(names.values())) < 2:
            return None
        if any(each.flag_bits & _ENCRYPTED for each in members):
            raise DataError("its files have a password; unpack it first", file=file)
        if sum(each.file_size for each in members) > limits.get_limits().size * limits.MEGABYTE:
            raise limits.make_error("it unpacks to more", "size", file=file, part="some of its files")
        if found is None:
            return folders.read_class_files(folder, names, file, encoding)
        return folders.read_folders(found, file, encoding)


def _find_class_files(folder: folders.TextFolder) -> tuple[folders.TextFolder, dict[str, str]]:
    """Return the folder in a zip archive that holds its files, and file name → class for files named after classes."""
    while len(inside := folders.list_folders(folder)) == 1 and not any(folders.list_files(folder)):
        (folder,) = inside
    names = {} if inside else folders.name_class_files(folder)
    paths = [PurePosixPath(folders.name_place(folder / name, "")) for name in names]
    plain = all(path.suffix.casefold() == ".txt" and _is_table(path) for path in paths)
    one_stem = len({path.stem for path in paths}) == 1 and not any(map(_is_table, paths))
    split = any(_rank_table(path)[2] != 1 for path in paths)
    return folder, names if (plain or one_stem) and not split else {}


@contextlib.contextmanager
def _open_archive(data: bytes, file: str) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    """Open a zip archive and list its files; refuse too many files and paths that lead out of the archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.filename = file  # the name of `zipfile.Path`
            members = [each for each in archive.infolist() if not each.is_dir() and not _is_hidden(each.filename)]
            if len(members) > _MOST_MEMBERS:
                raise DataError(f"an archive of {count(len(members))} files; unpack it and give the folder", file=file)
            for each in members:
                parts = PurePosixPath(each.filename.replace("\\", "/")).parts
                if {"..", "/"} & set(parts):
                    raise DataError(f"the path `{shorten(each.filename)}` leads out of the archive", file=file)
                if len(parts) > _DEEPEST:
                    raise DataError(f"an archive of {count(len(parts))} folders in each other", file=file)
            yield archive, members
    except DataError:
        raise
    except (*_DAMAGED, RuntimeError) as error:
        raise DataError(f"this zip archive is damaged ({error})"[:200], file=file) from None


def _read_bounded(stream: IO[bytes] | gzip.GzipFile, file: str, shell: str) -> bytes:
    """Read unpacked data to the stream's end; if they are too large, raise an error that says how to cut the file."""
    most = limits.get_limits().size * limits.MEGABYTE
    blocks, size = list[bytes](), 0
    while block := stream.read(limits.MEGABYTE):  # in blocks, as the whole could fill the memory
        size += len(block)
        if size > most:
            how = f"its first lines: {shell} | head -n 100000 > part.csv"
            raise limits.make_error("it unpacks to more", "size", file=file, part=how)
        blocks.append(block)
    return b"".join(blocks)


def _is_hidden(name: str) -> bool:
    return any(folders.is_hidden(part) and part != ".." for part in PurePosixPath(name).parts)


def _list_tables(members: list[zipfile.ZipInfo], file: str) -> list[zipfile.ZipInfo]:
    if not members:
        raise DataError("the archive is empty", file=file)
    names = [PurePosixPath(each.filename) for each in members]
    if any(each.filename == _OPEN_DOCUMENT for each in members):
        raise DataError("an OpenDocument file; save its table as .xlsx or CSV", file=file)
    above = Counter(name.parent.name for name in names if name.suffix.casefold() in (".txt", "") and name.parent.name)
    if len(above) > 1 and (number := sum(above.values())) > len(members) // 2:
        inside = f"{count(number)} text files in the folders {', '.join(map(shorten, list(above)[:6]))}"
        raise DataError(f"an archive of {inside}; unpack it and give the folder", file=file)
    if not (found := [(member, name) for member, name in zip(members, names, strict=True) if _is_table(name)]):
        inside = ", ".join(f"`{shorten(str(name))}`" for name in names[:4])
        raise DataError(f"an archive without a table that can be read; in it: {inside}", file=file)
    found.sort(key=lambda each: _rank_table(each[1]))
    plain = [name for _, name in found if name.suffix.casefold() == ".txt"]
    if len(plain) == len(found) > 1 and not any(_rank_table(name)[1:] < (len(_FIRST), 1) for name in plain):
        inside = f"{count(len(plain))} text files ({', '.join(f'`{shorten(str(name))}`' for name in plain[:4])})"
        raise DataError(f"an archive of {inside}; unpack it and give the folder", file=file)
    return [member for member, _ in found]


def _is_table(name: PurePosixPath) -> bool:
    papers = name.stem.casefold().startswith(("readme", "license", "licence"))
    return name.suffix.casefold() in (*folders.TABLES, ".gz") and not papers


def _rank_table(name: PurePosixPath) -> tuple[int, int, int]:
    """Return a sort key for the tables of an archive: training tables first, sample submissions last."""
    stem = name.stem.casefold().removesuffix(".csv")
    words = [word for part in (stem, *name.parent.parts) for word in re.split(r"[-_. ]", part)]
    splits = {folders.find_split(word) for word in words} - {""}
    rank = 1 if not splits else 0 if TRAIN in splits else 2
    return (stem.startswith("sample"), _FIRST.index(stem) if stem in _FIRST else len(_FIRST), rank)


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
