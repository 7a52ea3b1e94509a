"""Reading of JSON as a table: lists, JSON Lines, pandas orients, rows under a key, exports of annotation tools."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from core.data import annotation_exports, limits
from core.data import columns as profiles
from core.data.cells import check_cell
from core.data.decoding import replace_surrogates
from core.data.findings import Finding, RawTable, name_sheets, shorten
from core.data.parquet import apply_class_names, read_viewer_classes
from core.exceptions import DataError
from core.formatting import count, plural

_NAMED_JSON = (".json", ".jsonl", ".ndjson")
_DEEPEST = 4  # Levels of keys that are searched for rows
_MOST_LISTS = 50  # Lists of objects in one file, at most, that the user can choose from
_DISTINCT = 0.5  # Share of distinct texts in each list, from which on a JSON object has a list of texts per class
_WRAPPERS = ("row", "_source", "attributes", "fields")
"""Keys of the inner object with the columns: the hub's viewer, Elasticsearch, JSON:API, Airtable."""
_LABEL_KEYS = ("name", "label", "value", "title")
_BETWEEN, _LINE_END = re.compile(r"[\s,]*"), re.compile(r"[ \t,]*(?:[\r\n{]|\Z)")
_LAST_COMMA = re.compile(r",\s*\]\s*\Z")
_NO_OBJECT = 'every row must be an object such as {"text": "…", "label": "…"}'

Row = dict[str, Any]


@dataclass
class _ReadState:
    """The state of reading a JSON file as a table: the findings so far, and the key under which the rows are."""

    file: str
    part: str  # The key that the user chose
    kind: str = "json"
    where: str = ""
    parts: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)

    def add_finding(self, kind: str, number: int, message: str, level: Any = "note") -> None:
        """Add a finding about the JSON file that is being read."""
        self.findings.append(Finding(kind, level, number, message))

    def describe_place(self) -> str:
        """Return words for a message that name the JSON key of the rows; empty if the file itself is the list."""
        return f" under `{_format_key(self.where)}`" if self.where else ""


def read_json(text: str, file: str, part: str = "") -> RawTable | None:
    """Read a JSON file's rows (of the list at `part`; empty: the longest); None if only the start looks like JSON."""
    reading = _ReadState(file, part)
    if (found := _parse_text(text, reading)) is None:
        return None
    rows = _find_rows(found[0], reading) if reading.kind == "json" else found[0]
    if part and part not in reading.parts:
        keys = ", ".join(map(_format_key, reading.parts))
        there = f"it has {keys}" if keys else "the rows are the file itself"
        raise DataError(f"no list of objects under '{_format_key(part)}' for data.sheet; {there}", file=file)
    with name_sheets(reading.parts, reading.where):
        rows = _to_objects(rows, reading)
        seen = f"a list of {plural(len(rows), 'object')}{reading.describe_place()}"
        rows = _expand_columns(annotation_exports.unpack_export(rows, reading.add_finding, file=file), reading)
        frame, named = apply_class_names(_build_frame(rows, file), read_viewer_classes(found[0]))
    return RawTable(
        frame,
        reading.kind,
        findings=(*reading.findings, *named),
        seen=seen,
        sheets=tuple(map(replace_surrogates, reading.parts)),
        sheet=replace_surrogates(reading.where),
    )


def is_json(text: str, file: str) -> bool:
    """Return whether a file with a JSON name contains JSON after other text, such as `callback(` or a comment."""
    start = r'^\s*[\w.]*\(?[\[{]\s*["\[{]'
    return file.lower().endswith(_NAMED_JSON) and re.search(start, text[:20_000], re.MULTILINE) is not None


def decode_json(text: str, file: str) -> Any:
    """Decode one JSON value; raise JSONDecodeError for text that is not JSON, and DataError for unusable JSON."""
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise DataError(f"is JSON that cannot be read: {error}", file=file) from None


def _build_object(pairs: list[tuple[str, Any]]) -> Row:
    """Build a JSON object from its pairs; refuse a repeated key, as Python's decoder would silently keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object has the key '{_format_key(twice)}' twice, and one of the two values would be lost")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_build_object)


def has_text(row: Any) -> bool:
    """Return whether a JSON object has a text under a usual column name, such as `text` or `review`."""
    texts = (key for key, value in row.items() if isinstance(value, str)) if isinstance(row, dict) else ()
    return any(_fold_key(key) in profiles.TEXT_NAMES for key in texts)


def _parse_text(text: str, reading: _ReadState) -> tuple[Any] | None:
    """Return the value or rows of a JSON text, in a 1-tuple as the value may be null; None if it is not JSON."""
    for whole in (text, _LAST_COMMA.sub("]", text)):
        try:
            return (decode_json(whole, reading.file),)
        except json.JSONDecodeError as error:
            wrong = error
    if (rows := _parse_sequence(text, reading)) is not None:
        reading.kind = "jsonl"
        return (rows,)
    if reading.file.lower().endswith(_NAMED_JSON):
        # As `row` it would look like a row of the table.
        where = f"line {count(wrong.lineno)}, character {count(wrong.colno)}"
        raise DataError(f"is not valid JSON: {wrong.msg} ({where})", file=reading.file)
    return None


def _parse_sequence(text: str, reading: _ReadState) -> list[Any] | None:
    """Parse a sequence of JSON values, such as JSON Lines; None if the first one does not end a line."""
    place, rows = 0, list[Any]()
    while (place := _BETWEEN.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        limits.check_shape(len(rows) + 1, 1, file=reading.file)
        try:
            row, place = DECODER.raw_decode(text, place)
        except (RecursionError, ValueError) as error:
            if not rows and isinstance(error, (json.JSONDecodeError, RecursionError)):
                return None
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(f"this line is not valid JSON: {why}", file=reading.file, row=len(rows) + 1) from None
        if not rows and not _LINE_END.match(text, place):
            return None
        rows.append(row)
    return rows


def _find_rows(whole: Any, reading: _ReadState) -> Any:
    for _ in range(_DEEPEST):
        if not isinstance(whole, dict):
            return whole
        for form in (_read_split_orient, _read_lists, _read_nested, _choose_list):
            if (rows := form(whole, reading)) is not None:
                return rows
        inside = [(key, value) for key, value in whole.items() if isinstance(value, (dict, list)) and value]
        if len(inside) != 1:
            return [whole]
        reading.where = ".".join(filter(None, (reading.where, inside[0][0])))
        whole = inside[0][1]
    return whole


def _read_split_orient(whole: Row, reading: _ReadState) -> list[Row] | None:
    """Read JSON rows in the `split` orient of pandas, `{"columns": […], "data": [[…]]}`; None in another form."""
    names, rows = whole.get("columns"), whole.get("data")
    if not (isinstance(names, list) and isinstance(rows, list) and rows and isinstance(rows[0], list)):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        raise DataError("the lists under `data` differ in length from that under `columns`", file=reading.file)
    keys = profiles.make_unique(map(str, names))
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _read_lists(whole: Row, reading: _ReadState) -> list[Row] | None:
    """Read JSON cells by column, `{"text": […], "label": […]}`, or texts by class, `{"good": […], "bad": […]}`."""
    if not whole or not all(isinstance(each, list) for each in whole.values()):
        return None
    if any(isinstance(part, dict) for each in whole.values() for part in each[:1]):
        return None
    if _is_by_class(whole):
        names = ", ".join(map(_format_key, whole))
        message = f"the keys {names:.200} are read as classes, and the list of each as its texts"
        reading.add_finding("classes-as-keys", len(whole), message, "warning")
        return [{"text": text, "label": name} for name, texts in whole.items() for text in texts]
    sizes = {key: len(each) for key, each in whole.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"`{_format_key(key)}` {count(size)}" for key, size in list(sizes.items())[:5])
        raise DataError(f"lists of different lengths are no columns of one table: {found}", file=reading.file)
    return [dict(zip(whole, cells, strict=True)) for cells in zip(*whole.values(), strict=True)]


def _is_by_class(whole: Row) -> bool:
    """Return whether each key of a JSON object is a class with a list of its texts, rather than a column."""
    if len(whole) < 2 or any(_fold_key(key) in profiles.KNOWN_NAMES for key in whole):
        return False
    if not all(each and all(isinstance(text, str) for text in each) for each in whole.values()):
        return False
    if len({len(each) for each in whole.values()}) > 1:
        return True
    return all(len(set(each)) > _DISTINCT * len(each) for each in whole.values())


def _read_nested(whole: Row, reading: _ReadState) -> list[Row] | None:
    """Read JSON columns, or rows, by key: `{"text": {"0": …}}`, or `{"0": {"text": …}}`."""
    if not whole or not all(isinstance(each, dict) and each for each in whole.values()):
        return None
    first = next(iter(whole.values()))
    by_row, by_column = has_text(first), any(_fold_key(key) in profiles.KNOWN_NAMES for key in whole)
    if not by_row and any(isinstance(part, (dict, list)) for each in whole.values() for part in each.values()):
        return None
    if not by_row and (by_column or len(whole) < len(first)):
        keys = list(dict.fromkeys(key for each in whole.values() for key in each))
        limits.check_shape(len(keys), len(whole), file=reading.file)
        return [{name: cells.get(key) for name, cells in whole.items()} for key in keys]
    numbered = all(key.isdigit() for key in whole)
    return [each if numbered else {"key": key, **each} for key, each in whole.items()]


def _choose_list(whole: Row, reading: _ReadState) -> list[Any] | None:
    """Choose the list of rows in a JSON object: the requested one, or the longest one whose objects have a text."""
    if not (found := dict(_find_lists(whole, reading.where))):
        return None
    if has_text(whole) and not any(has_text(rows[0]) for rows in found.values()):
        return [whole]  # one row with a list in it, such as spans
    if "row_idx" in next((rows[0] for rows in found.values() if rows[0].get("row_idx") is not None), ()):
        found.pop("features", None)  # the schema in an answer of the hub's viewer
    reading.parts = tuple(found)
    firsts = {path: (rows[0], *rows[0].values()) for path, rows in found.items()}
    most = max(found, key=lambda path: (any(map(has_text, firsts[path])), len(found[path])))
    reading.where = reading.part if reading.part in found else most
    others = [f"`{_format_key(path)}` ({count(len(rows))})" for path, rows in found.items() if path != reading.where]
    if others:
        message = f"the {plural(len(found[reading.where]), 'object')}{reading.describe_place()} are read; left out: "
        reading.add_finding("sheets", len(others), f"{message}{', '.join(others[:8])}; data.sheet names another list")
    return found[reading.where]


def _find_lists(whole: Row, above: str, deep: int = _DEEPEST) -> Iterator[tuple[str, list[Any]]]:
    number = 0
    for key, value in whole.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, list) and value and isinstance(value[0], dict):
            number += 1
            yield path, value
        elif isinstance(value, dict) and deep > 1:
            yield from _find_lists(value, path, deep - 1)
        if number >= _MOST_LISTS:
            return


def _to_objects(rows: Any, reading: _ReadState) -> list[Row]:
    """Convert JSON rows to objects; if the rows are lists, the first one may name the columns."""
    file = reading.file
    if not isinstance(rows, list):
        raise DataError(f"{_name_type(rows)} is no table of texts and labels", file=file)
    if rows and all(isinstance(row, list) for row in rows):
        return _from_lists(rows, reading)
    if rows and not isinstance(rows[0], dict):
        found = f"a list of {plural(len(rows), _name_type(rows[0]).partition(' ')[2])}{reading.describe_place()}"
        raise DataError(f"{found}; {_NO_OBJECT}", file=file)
    if wrong := next((number for number, row in enumerate(rows, 1) if not isinstance(row, dict)), None):
        raise DataError(_NO_OBJECT, file=file, row=wrong)
    return rows


def _from_lists(rows: list[list[Any]], reading: _ReadState) -> list[Row]:
    width = max(map(len, rows))
    limits.check_shape(len(rows), width, file=reading.file)
    if not width or min(map(len, rows)) < width:
        found = f"a list of {plural(len(rows), 'list')}{reading.describe_place()}"
        raise DataError(f"{found} of different lengths", file=reading.file)
    words = [["" if cell is None else str(cell)[:1_000] for cell in row] for row in rows[: profiles.HEADER_ROWS]]
    header = profiles.has_header(words)
    names = profiles.make_column_names(words[0]) if header else tuple(map(str, range(width)))
    return [dict(zip(names, row, strict=True)) for row in rows[header:]]


def _name_type(value: Any) -> str:
    names = {str: "a string", bool: "a number", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "an empty value")


def _format_key(key: object) -> str:
    return shorten(replace_surrogates(str(key)))


def _fold_key(key: str) -> str:
    return key.strip().casefold()


def _list_keys(rows: list[Row]) -> tuple[set[str], dict[str, dict[str, None]]]:
    """Return all keys of JSON rows, and the inner keys of those keys that hold only objects."""
    wide = (key for row in rows for key, value in row.items() if isinstance(value, dict))
    inner: dict[str, dict[str, None]] = {key: {} for key in wide}
    if not inner:
        return set(), {}
    most = limits.get_limits().columns
    for row in rows:
        for key in list(inner):
            value = row.get(key)
            if isinstance(value, dict) and len(inner[key]) <= most:
                inner[key].update(dict.fromkeys(value))
            elif value is not None and not isinstance(value, dict):
                del inner[key]
    return {key for row in rows for key in row}, inner


def _expand_columns(rows: list[Row], reading: _ReadState) -> list[Row]:
    """Move nested JSON columns up one level, such as `text` in `{"review": {"text": …}, "label": …}`."""
    keys, wide = _list_keys(rows)
    taken, renamed = keys - set(wide), dict[str, dict[str, str]]()
    for key, names in wide.items():
        # An object that holds columns of the table, rather than one cell.
        wraps = key in _WRAPPERS or any(_fold_key(name) in profiles.KNOWN_NAMES for name in names)
        if not wraps and _fold_key(key) not in profiles.LABEL_NAMES:
            continue
        of_label = _find_label_key(key, rows)
        if _fold_key(key) in profiles.LABEL_NAMES and not of_label:
            continue
        limits.check_shape(len(rows), len(names), file=reading.file)
        renamed[key] = {}
        for name in names:
            column = key if name == of_label else name if name not in taken and not of_label else f"{key}.{name}"
            taken.add(column)
            renamed[key][name] = column
    if not renamed:
        return rows
    for key, columns in renamed.items():
        names_read = ", ".join(map(_format_key, columns.values()))
        message = f"the objects under `{_format_key(key)}` are read as the columns {names_read}"
        reading.add_finding("nested-columns", len(columns), message)
    return [_expand_row(row, renamed) for row in rows]


def _find_label_key(key: str, rows: list[Row]) -> str:
    """Return the key of the class name in JSON labels such as `{"name": "positive", "id": 1}`; empty: there is none."""
    if _fold_key(key) not in profiles.LABEL_NAMES:
        return ""
    objects: Sequence[Row] = [value for row in rows if isinstance(value := row.get(key), dict)]
    return next((name for name in _LABEL_KEYS if all(isinstance(each.get(name), str) for each in objects)), "")


def _expand_row(row: Row, renamed: dict[str, dict[str, str]]) -> Row:
    out: Row = {}
    for key, value in row.items():
        if key not in renamed:
            out[key] = value
        elif value is not None:
            out.update({renamed[key][name]: each for name, each in value.items()})
    return out


def _build_frame(rows: list[Row], file: str) -> pd.DataFrame:
    keys: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        keys.update(dict.fromkeys(row))
        if len(keys) > limits.get_limits().columns:
            found = f"the rows have {count(len(keys))} different keys"
            raise limits.make_error(found, "columns", file=file, row=number)
    if not keys:
        raise DataError("the list holds no rows", file=file)
    limits.check_shape(len(rows), len(keys), file=file)
    most = limits.get_limits().characters
    cells = [
        [check_cell(row.get(key), most, file=file, row=number, field=str(key)) for key in keys]
        for number, row in enumerate(rows, 1)
    ]
    names = profiles.make_unique(replace_surrogates(str(key)) for key in keys)
    return pd.DataFrame(cells, columns=list(names), dtype=object)
