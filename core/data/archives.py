"""Unpacking of gzip files and zip archives of tables or class folders, within the size limits."""

import contextlib
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from core.data import folders, limits
from core.data.dataset import TRAIN
from core.data.findings import Finding, name_sheets, shorten
from core.exceptions import DataError
from core.formatting import count

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_FIRST = ("all", "train", "training", "data")
_PACKED = (".zip", ".gz", ".7z", ".rar", ".bz2", ".xz", ".tar", ".tgz")
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
    packed = [each.filename for each in members if each.filename.casefold().endswith(_PACKED)]
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
