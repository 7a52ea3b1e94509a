"""What was coded as a table for other programs, and back: a row for each sentence and author, by stable keys.

Out goes every column of the table of predictions, the data's own among them; in comes by `key`, `author`, `codes` and
`note` alone. What a spreadsheet would compute is guarded by an apostrophe, which is taken off again, so that going out
and in leaves everything as it is.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.cells import csv_text, unguarded
from core.data.findings import plural
from core.exceptions import DataError, InputError
from core.failures.codes import KEYS, SEPARATOR, Codes, author_name, code_name, sound_text
from core.failures.table import Table
from core.paths import resolve

CODED = ("author", "codes", "note", "time")
BOOK = ("code", "place", "definition", "example")
_MOST_BYTES = 200 * 1024**2
_SHOWN = 5
"""Bad rows that are named."""


def written(table: Table, chosen: Sequence[bool], codes: Codes, author: str | None = None) -> str:
    """CSV of the rows of a selection: of a row that several authors coded one line each, of others one without."""
    coded, lines, beside = codes.coded(author), list[int](), list[tuple[str, ...]]()
    keys = table.frame["key"].tolist()
    for row in np.flatnonzero(np.asarray(chosen, bool)).tolist():
        given, notes = coded.given.get(keys[row], {}), coded.notes.get(keys[row], {})
        names = sorted({*given, *notes})
        lines += [row] * max(1, len(names))
        beside += [
            (name, f"{SEPARATOR} ".join(given.get(name, ())), notes.get(name, ""), coded.times[keys[row], name])
            for name in names
        ] or [("",) * len(CODED)]
    frame = table.frame.iloc[lines].reset_index(drop=True)
    clash = {name: f"data:{name}" for name in CODED if name in frame}
    return csv_text(frame.rename(columns=clash).assign(**dict(zip(CODED, _columns(beside), strict=True))))


def book_written(codes: Codes) -> str:
    """CSV of the codebook."""
    rows = [(code.name, code.place, code.definition, code.example) for code in codes.book()]
    return csv_text(pd.DataFrame(rows, columns=list(BOOK)))


def read_book(codes: Codes, file: Path, author: str = "") -> int:
    """Take codes from a file: new ones are added, known ones take its definition and example; how many.

    Raises:
        InputError: it cannot be read, or rows of it cannot be used; nothing is changed then.
    """
    rows, bad, names = _rows(file, BOOK[:1]), list[DataError](), set[str]()
    given = []
    for number, row in enumerate(rows, 1):
        try:
            given.append(_entry(row, names, number, file))
        except DataError as error:
            bad.append(error)
    _refuse(bad)
    known = {code.name: code for code in codes.book()}
    taken = {code.place for code in known.values()}
    for name, place, definition, example in given:
        if name in known:
            codes.edit(name, definition=definition, example=example, author=author)
        else:
            codes.add(name, definition, example, 0 if place in taken else place, author)
            taken.add(place)
    return len(given)


def read_back(codes: Codes, table: Table, file: Path, *, author: str = "") -> dict[str, Any]:
    """Take codes and notes from a file: of each row and author that it names they are as it says.

    Args:
        codes: where they go; codes that the codebook lacks are added.
        table: whose rows the keys name.
        file: CSV as `written` gives it; further columns are passed over.
        author: whose change it is in the history, and of rows that name no author.

    Returns:
        `rows` that were taken, and codes that were `added`.

    Raises:
        InputError: it cannot be read, or rows of it cannot be used; each is named, and nothing is changed.
    """
    rows, keys = _rows(file, ("key", "codes")), set(table.frame["key"])
    wanted: dict[tuple[str, str], tuple[list[str], str]] = {}
    bad: list[DataError] = []
    for number, row in enumerate(rows, 1):
        try:
            name, said = _coded(row, keys, author, number, file, table)
            if said is None:
                continue
            if wanted.setdefault(name, said) != said:
                raise DataError("this sentence and author stand there twice", file=file.name, row=number, field="key")
        except DataError as error:
            bad.append(error)
    _refuse(bad)
    known = {code.name for code in codes.book()}
    fresh = sorted({code for given, _ in wanted.values() for code in given} - known)
    with codes.ledger.changing(
        codes.data, author_name(author), f"{plural(len(wanted), 'row')} from {file.name}"
    ) as change:
        codes.add_names(change, fresh)
        for (key, who), (given, note) in wanted.items():
            codes.set_codes(change, key, who, given, table.record.run)
            codes.set_note(change, key, who, note, table.record.run)
    return {"rows": len(wanted), "added": fresh}


def _coded(
    row: Mapping[str, str], keys: set[str], author: str, number: int, file: Path, table: Table
) -> tuple[tuple[str, str], tuple[list[str], str] | None]:
    """(key, author) of a line and what it says; None: nothing, as of a row that nobody has coded."""
    where: dict[str, Any] = {"file": file.name, "row": number}
    key = row["key"].strip()
    if key not in keys:
        hint = "; a spreadsheet may have made a number of it: read that column as text" if _number(key) else ""
        of = f"{table.record.run}, {table.split}"
        raise DataError(f"no sentence of {of} has the key {key!r:.40}{hint}", **where, field="key")
    given = [part.strip() for part in row["codes"].split(SEPARATOR)]
    try:
        codes = sorted({code_name(part) for part in given if part})
    except InputError as error:
        raise DataError(str(error), **where, field="codes") from None
    try:
        who, note = author_name(row.get("author") or author), sound_text(row.get("note") or "")
    except InputError as error:
        field = "author" if "author" in str(error)[:6] else "note"
        raise DataError(str(error), **where, field=field) from None
    # A line without an author, code and note stands for a row that nobody has coded.
    nothing = not (codes or note or row.get("author"))
    return (key, who), None if nothing else (codes, note)


def _entry(row: Mapping[str, str], names: set[str], number: int, file: Path) -> tuple[str, int, str, str]:
    where: dict[str, Any] = {"file": file.name, "row": number}
    try:
        name = code_name(row["code"])
    except InputError as error:
        raise DataError(str(error), **where, field="code") from None
    if name in names:
        raise DataError(f"the code {name!r} stands there twice", **where, field="code")
    names.add(name)
    place = (row.get("place") or "0").strip()
    if place not in map(str, (0, *KEYS)):
        raise DataError(f"{place!r:.20}: a digit from 1 to 9, or 0 for none", **where, field="place")
    texts = []
    for field in BOOK[2:]:
        try:
            texts.append(sound_text(row.get(field) or ""))
        except InputError as error:
            raise DataError(str(error), **where, field=field) from None
    return name, int(place), texts[0], texts[1]


def _rows(file: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a file, guards taken off.

    Raises:
        DataError: it is no CSV in UTF-8, or a column is not there.
    """
    path = resolve(str(file), limit=_MOST_BYTES)
    csv.field_size_limit(_MOST_BYTES)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = [unguarded(name) for name in next(reader, [])]
            lines = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"no CSV in UTF-8: {error}", file=file.name) from None
    if absent := [name for name in needed if name not in header]:
        there = ", ".join(header[:20]) or "no column"
        raise DataError(f"there is no such column; it has {there}", file=file.name, field=absent[0])
    found = []
    for number, line in enumerate(lines, 1):
        if line and len(line) != len(header):
            said = f"it has {plural(len(line), 'field')}, the header {len(header)}"
            raise DataError(said, file=file.name, row=number)
        if line:
            found.append(dict(zip(header, map(unguarded, line), strict=True)))
    return found


def _refuse(bad: Sequence[DataError]) -> None:
    if bad:
        more = f"; and {plural(len(bad) - _SHOWN, 'further row')}" if len(bad) > _SHOWN else ""
        raise InputError(f"nothing was taken: {'; '.join(map(str, bad[:_SHOWN]))}{more}")


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _columns(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in CODED]
