"""Export and import of annotations (codes and notes) as CSV, Parquet or Label Studio files, and of the codebook.

A table has a row for each sentence and author, with stable keys, and every column of the prediction table; the import
reads only `key`, `author`, `codes`, `note` and `time`. An apostrophe before cells that a spreadsheet would compute is
removed by the import, so that a round trip changes nothing. `time` is the last change of a row: rows that were changed
here after the export are not overwritten.
"""

import csv
import datetime
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd

from core.data import sandbox
from core.data.decoding import decode_bytes
from core.error_analysis.annotation_store import (
    SEPARATOR,
    Change,
    clean_author,
    clean_code_name,
    clean_text,
    match_name,
    name_author,
)
from core.error_analysis.codebook import KEYS, Codes
from core.error_analysis.predictions_table import PredictionTable
from core.error_analysis.row_annotations import Annotations
from core.exceptions import DataError, InputError, try_call
from core.formatting import format_csv, plural, strip_apostrophe
from core.paths import resolve_path

CODED = ("author", "codes", "note", "time")
"""Columns of an annotation, beside those of its sentence."""
MOST_BYTES = 200 * 1024**2


def describe_interface(classes: Iterable[str], codes: Iterable[str]) -> str:
    """Return the labelling interface (XML) of a Label Studio project that shows an exported file."""
    labels, choices = ("".join(f"<Choice value={quoteattr(name)}/>" for name in names) for names in (classes, codes))
    return (
        f'<View><Text name="text" value="$text"/><Choices name="label" toName="text">{labels}</Choices>'
        f'<Choices name="codes" toName="text" choice="multiple">{choices}</Choices>'
        '<TextArea name="note" toName="text"/><TextArea name="author" toName="text"/></View>'
    )


def encode_annotations(frame: pd.DataFrame, name: str, run: str) -> bytes:
    """Encode annotated sentences in the format that the file name's ending says; InputError: no such format."""
    suffix = Path(name).suffix.lower()
    if suffix not in ENCODERS:
        raise InputError(f"{name}: a name that ends in {', '.join(ENCODERS)} says the format")
    return ENCODERS[suffix](frame, run)


def _encode_tasks(frame: pd.DataFrame, run: str) -> bytes:
    """Encode sentences as tasks of Label Studio: one for each sentence, with an annotation of each author."""
    tasks = []
    for key, rows in frame.groupby("key", sort=False):
        own = rows.drop(columns=list(CODED)).iloc[0]
        data = {
            name: None if pd.api.types.is_scalar(value) and pd.isna(value) else value for name, value in own.items()
        }
        guess: dict[str, Any] = {"model_version": run, "result": [_make_result("label", [str(data["predicted"])])]}
        if isinstance(data.get("p_predicted"), float):
            guess["score"] = data["p_predicted"]
        said = [_make_annotation(row) for row in rows[list(CODED)].to_dict("records") if row["time"]]
        tasks.append({"data": {**data, "key": key}, "predictions": [guess], "annotations": said})
    found = json.dumps(tasks, ensure_ascii=False, indent=1, default=lambda each: getattr(each, "item", each.__str__)())
    return found.encode()


def _make_result(name: str, choices: Sequence[str], kind: str = "choices") -> dict[str, Any]:
    value = {"choices" if kind == "choices" else "text": list(choices)}
    return {"from_name": name, "to_name": "text", "type": kind, "value": value}


def _make_annotation(row: Mapping[Any, str]) -> dict[str, Any]:
    codes = [code.strip() for code in row["codes"].split(SEPARATOR) if code.strip()]
    texts = {name: row[name] for name in ("note", "author") if row[name]}
    said = [_make_result("codes", codes)] if codes else []
    return {
        "result": [*said, *(_make_result(name, [text], "textarea") for name, text in texts.items())],
        "updated_at": row["time"],
    }


ENCODERS = {
    ".csv": lambda frame, run: format_csv(frame).encode(),
    ".parquet": lambda frame, run: frame.to_parquet(index=False),
    ".json": _encode_tasks,
}
"""Ending of a file's name → the function that encodes annotated sentences."""


def read_annotations(file: Path) -> list[dict[str, str]]:
    """Read the rows of a Parquet or Label Studio file as column → text; DataError names a wrong row and its field."""
    if file.suffix.lower() == ".parquet":
        frame = sandbox.read_cells(file).fillna("")
        return [{str(name): str(cell) for name, cell in row.items()} for row in frame.to_dict("records")]
    try:
        tasks = json.loads(resolve_path(str(file), limit=MOST_BYTES).read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON: {str(error)[:100]}", file=file.name) from None
    if not isinstance(tasks, list):
        raise DataError("it has to be a list of tasks, as Label Studio exports it (JSON)", file=file.name)
    return [row for number, task in enumerate(tasks, 1) for row in _read_task(task, number, file.name)]


def _read_task(task: Any, number: int, file: str) -> Iterator[dict[str, str]]:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("key"), str):
        said = "the task has no text under data.key; export annotations from here first and import that file there"
        raise DataError(said, file=file, row=number, field="data.key")
    given = task.get("annotations", [])
    if not isinstance(given, list):
        raise DataError("it has to be a list", file=file, row=number, field="annotations")
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("result"), list):
            raise DataError("an annotation needs a list under result", file=file, row=number, field="annotations")
        if each.get("was_cancelled"):
            continue
        texts: dict[str, list[str]] = {}
        for result in each["result"]:
            value = result.get("value") if isinstance(result, dict) else None
            found = value.get("choices", value.get("text", [])) if isinstance(value, dict) else []
            found = [found] if isinstance(found, str) else found
            if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
                raise DataError("choices and texts have to be texts", file=file, row=number, field="annotations")
            texts.setdefault(str(result.get("from_name")), []).extend(found)
        who = each.get("completed_by")
        known = who.get("email", "") if isinstance(who, dict) else ""
        yield {
            "key": data["key"],
            "author": " ".join(texts.get("author", [])) or str(known),
            "codes": f"{SEPARATOR} ".join(texts.get("codes", [])),
            "note": "\n".join(texts.get("note", [])),
            "time": str(each.get("updated_at") or ""),
        }


JOINED = 100_000  # characters of a note: an unnamed visitor's notes are joined when the visitor takes a name
BOOK = ("code", "place", "definition", "example")
_SHOWN = 5  # bad rows listed in an error
_DELIMITERS = (",", ";", "\t")  # delimiters that spreadsheets write


class _RowAnnotation(NamedTuple):
    """The codes and note that a CSV file has for one sentence and author."""

    codes: tuple[str, ...]
    note: str


def format_annotations(
    table: PredictionTable, chosen: Sequence[bool], codes: Codes, coded: Annotations, name: str = "annotations.csv"
) -> bytes:
    """Return chosen sentences with their annotations as a file: a row per annotator, or one row if not annotated."""
    times, lines, beside = codes.ledger.read_times(codes.data), list[int](), list[tuple[str, ...]]()
    keys = table.frame["key"].tolist()
    for row in np.flatnonzero(np.asarray(chosen, bool)).tolist():
        given, notes = coded.given.get(keys[row], {}), coded.notes.get(keys[row], {})
        names = sorted({*given, *notes})
        lines += [row] * max(1, len(names))
        beside += [
            (name, f"{SEPARATOR} ".join(given.get(name, ())), notes.get(name, ""), times.get((keys[row], name), ""))
            for name in names
        ] or [("",) * len(CODED)]
    frame = table.frame.iloc[lines].reset_index(drop=True)
    clash = {name: f"data:{name}" for name in CODED if name in frame}
    said = pd.DataFrame(beside, columns=list(CODED), dtype=object)
    return encode_annotations(pd.concat([frame.rename(columns=clash), said], axis=1), name, table.record.run)


def format_codebook(codes: Codes) -> str:
    """Return the annotation codes of a data set, with digit keys, definitions and examples, as CSV."""
    rows = [(code.name, code.place, code.definition, code.example) for code in codes.list_codes()]
    return format_csv(pd.DataFrame(rows, columns=list(BOOK)))


def import_file(codes: Codes, table: PredictionTable, file: Path, author: str = "") -> dict[str, Any]:
    """Import annotations, or a codebook from CSV; return the numbers of rows and codes, and the names of new codes."""
    header = [] if file.suffix.lower() in (".json", ".parquet") else _read_csv(file, ())[0]
    if header and "codes" not in header and BOOK[0] in header:
        return {"rows": 0, **import_codebook(codes, file, author)}
    return {"codes": 0, **import_annotations(codes, table, file, author=author)}


def import_codebook(codes: Codes, file: Path, author: str = "") -> dict[str, Any]:
    """Import a codebook from CSV, adding and updating codes; InputError, without any change, if a row is bad."""
    rows, bad, names = _read_rows(file, BOOK[:1]), list[DataError](), set[str]()
    given = []
    for number, row in enumerate(rows, 1):
        try:
            given.append(_parse_entry(row, names, number, file))
        except DataError as error:
            bad.append(error)
    _refuse_rows(bad)
    said = f"{plural(len(given), 'code')} from {file.name}"
    with codes.ledger.begin_change(codes.data, clean_author(author), said) as change:
        added = [name for name, place, about, such in given if codes.import_code(change, name, about, such, place)]
    return {"codes": len(given), "added": added}


def import_annotations(codes: Codes, table: PredictionTable, file: Path, *, author: str = "") -> dict[str, Any]:
    """Import codes and notes from a file that was exported here, all or nothing; an InputError names each bad row.

    Codes that the codebook lacks are added; other columns are ignored. With a column `time`, rows that were changed
    here later are refused; without it the file wins. `author` makes the change and owns rows without an author.
    """
    rows, keys = _read_rows(file, ("key", "codes")), set(table.frame["key"])
    wanted: dict[tuple[str, str], _RowAnnotation] = {}
    times: dict[tuple[str, str], tuple[int, str]] = {}
    bad: list[DataError] = []
    for number, cells in enumerate(rows, 1):
        try:
            name, row = _parse_annotation(cells, keys, author, number, file, table)
            if row is None:
                continue
            if wanted.setdefault(name, row) != row:
                raise DataError("this sentence and author are given twice", file=file.name, row=number, field="key")
            if "time" in cells:
                times[name] = number, _get_time(cells["time"], number, file)
        except DataError as error:
            bad.append(error)
    _refuse_rows(bad)
    fresh: dict[str, None] = {}
    for code in sorted({code for row in wanted.values() for code in row.codes}):
        fresh.setdefault(match_name(code, fresh) or code)
    known = [code.name for code in codes.list_codes()]
    said = f"{plural(len(wanted), 'row')} from {file.name}"
    with codes.ledger.begin_change(codes.data, clean_author(author), said) as change:
        names = codes.add_names(change, fresh)
        for name, row in wanted.items():
            wanted[name] = row._replace(codes=tuple(sorted({names[match_name(each, fresh)] for each in row.codes})))
        _refuse_rows(_list_newer(change, codes, wanted, times, file))
        for (key, who), row in wanted.items():
            codes.set_codes(change, key, who, row.codes, table.record.run)
            codes.set_note(change, key, who, row.note, table.record.run)
    return {"rows": len(wanted), "added": [name for name in names.values() if name not in known]}


def _list_newer(
    change: Change,
    codes: Codes,
    wanted: Mapping[tuple[str, str], _RowAnnotation],
    times: Mapping[tuple[str, str], tuple[int, str]],
    file: Path,
) -> list[DataError]:
    """List errors for CSV rows whose annotations were changed after the export and now differ from the file."""
    if not times:
        return []
    there: dict[tuple[str, str], list[str]] = {}
    for row in change.read_rows("codings", data=codes.data):
        there.setdefault((row["key"], row["author"]), []).append(row["code"])
    notes = {(row["key"], row["author"]): row["text"] for row in change.read_rows("notes", data=codes.data)}
    touched, found = change.read_times(codes.data), []
    for name, (number, time) in times.items():
        now = _RowAnnotation(tuple(sorted(there.get(name, ()))), notes.get(name, ""))
        # An empty time: the sentence had no annotation when the file was written.
        newer = touched.get(name, "") > time if time else now != _RowAnnotation((), "")
        if newer and now != wanted[name]:
            said = f"{name_author(name[1])} has changed this sentence here after the file was written"
            way = "take codes out anew, or delete the column 'time' to let the file win"
            found.append(DataError(f"{said}; {way}", file=file.name, row=number, field="time"))
    return found


def _get_time(text: str, number: int, file: Path) -> str:
    """Parse the last-change time of an annotation in a CSV file into UTC ISO 8601; empty if it was never changed."""
    if not text.strip():
        return ""
    try:
        found = datetime.datetime.fromisoformat(text.strip())
        zone = datetime.UTC
        aware = found if found.tzinfo else found.replace(tzinfo=zone)
        return aware.astimezone(zone).isoformat(timespec="seconds")
    except (ValueError, OverflowError):  # overflow: the first day of year 1 in a time zone ahead of UTC
        said = f"{text!r:.40} is no time as it went out; leave this column alone, or delete it to let the file win"
        raise DataError(said, file=file.name, row=number, field="time") from None


def _parse_annotation(
    row: Mapping[str, str], keys: set[str], author: str, number: int, file: Path, table: PredictionTable
) -> tuple[tuple[str, str], _RowAnnotation | None]:
    """Parse a CSV line into (sentence key, author) and codes with note; None for a line without annotations."""
    where: dict[str, Any] = {"file": file.name, "row": number}
    key = row["key"].strip()
    if key not in keys:
        is_number = try_call(ValueError, None, float, key) is not None
        hint = "; a spreadsheet may have made a number of it: read that column as text" if is_number else ""
        of = f"{table.record.run}, {table.split}"
        raise DataError(f"no sentence of {of} has the key {key!r:.40}{hint}", **where, field="key")
    given = [part.strip() for part in row["codes"].split(SEPARATOR)]
    codes = tuple(sorted({_clean_cell(clean_code_name, part, where, "codes") for part in given if part}))
    who = _clean_cell(clean_author, row.get("author") or author, where, "author")
    note = _clean_cell(partial(clean_text, longest=JOINED), row.get("note") or "", where, "note")
    nothing = not (codes or note or row.get("author"))
    return (key, who), None if nothing else _RowAnnotation(codes, note)


def _clean_cell(clean: Callable[[str], str], text: str, where: Mapping[str, Any], field: str) -> str:
    """Normalise a CSV cell by a function of `core.error_analysis.annotation_store`; DataError if it is invalid."""
    try:
        return clean(text)
    except InputError as error:
        raise DataError(str(error), **where, field=field) from None


def _parse_entry(row: Mapping[str, str], names: set[str], number: int, file: Path) -> tuple[str, int, str, str]:
    where: dict[str, Any] = {"file": file.name, "row": number}
    name = _clean_cell(clean_code_name, row["code"], where, "code")
    if match_name(name, names):
        raise DataError(f"the code {name!r} is given twice", **where, field="code")
    names.add(name)
    place = (row.get("place") or "0").strip()
    if place not in map(str, (0, *KEYS)):
        raise DataError(f"{place!r:.20}: a digit from 1 to 9, or 0 for none", **where, field="place")
    definition, example = (_clean_cell(clean_text, row.get(field) or "", where, field) for field in BOOK[2:])
    return name, int(place), definition, example


def _read_rows(file: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Return a file's rows as column → value, without apostrophes added against formulas; DataError if invalid."""
    if file.suffix.lower() in (".json", ".parquet"):
        found = read_annotations(file)
        if found and (absent := [name for name in needed if name not in found[0]]):
            raise DataError("there is no such column", file=file.name, field=absent[0])
        return found
    header, lines = _read_csv(file, needed)
    if absent := [name for name in needed if name not in header]:
        there = ", ".join(header[:20]) or "no column"
        raise DataError(f"there is no such column; it has {there}", file=file.name, field=absent[0])
    found = []
    for number, line in enumerate(lines, 1):
        if line and len(line) != len(header):
            said = f"it has {plural(len(line), 'field')}, the header {len(header)}"
            raise DataError(said, file=file.name, row=number)
        if line:
            found.append(dict(zip(header, map(strip_apostrophe, line), strict=True)))
    return found


def _read_csv(file: Path, needed: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of a CSV file, guessing its delimiter from the header; DataError if it is no CSV."""
    text = decode_bytes(resolve_path(str(file), limit=MOST_BYTES).read_bytes(), file=file.name).text
    csv.field_size_limit(MOST_BYTES)
    readers = {each: csv.reader(io.StringIO(text, newline=""), delimiter=each) for each in _DELIMITERS}
    headers = {
        each: [*map(strip_apostrophe, try_call(csv.Error, [], next, rows, []))] for each, rows in readers.items()
    }
    chosen = max(_DELIMITERS, key=lambda each: (set(needed) <= set(headers[each]), len(headers[each])))
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=chosen, strict=True))
    except csv.Error as error:
        raise DataError(f"no CSV: {error}", file=file.name) from None
    return headers[chosen], lines[1:]


def _refuse_rows(bad: Sequence[DataError]) -> None:
    if bad:
        more = f"; and {plural(len(bad) - _SHOWN, 'further row')}" if len(bad) > _SHOWN else ""
        raise InputError(f"nothing was imported: {'; '.join(map(str, bad[:_SHOWN]))}{more}")
