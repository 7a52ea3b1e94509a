"""Tables of every kind in our own words, whole, odd or damaged, read as an upload is."""

import csv
import dataclasses
import functools
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from fuzzing import mutated

from core.data import sandbox
from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.load import load_dataset
from core.exceptions import SentiscopeError

WORDS = (
    *("tea", "good", "bad", "café", "맑은 날", "雨", "ছবি", "don't", '"so"', "a,b", "a;b", "it\nbroke", "😀", "<b>"),
    "=1+1",
)
LABELS = (
    *("good", "bad", "0", "1", "4", "-1", "²", "٣", "item 10", "item 2", "a;b", "['x', 'y']", "[[", "nan", ""),
    "1e999",
)
NAMES = (
    *("text", "label", "sentence", "y_a", "y_b", "id", "", " ", "0", "²", "text ", "labels", "\0", "data:row", "tags"),
    "日本",
)
ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 10**400, 1.5, float("inf"), float("nan"), "", " ", "\ud800", "x" * 5_000),
    *("9" * 5_000, [], [1, "a"], ["\udc00"], {}, {"a": [{}]}, [[[[]]]], [None], "[" * 3_000, '["a", "b"]', "1e5", "²"),
    "\u2028",
)
TOKENS = (
    *(b"\0", b'"', b'""', b"\r", b"\n", b"\t", b",", b"[", b"[[[[[[[[", b"{", b"}", b"]", b"\\u", b"\\ud800"),
    *(b"\xff", b"\x80"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"PK\x03\x04", b"PAR1", b"(3 (2 ", b"9" * 5_000, b"NaN", b"1e999"),
    *(b'\\"', b"\x1a", b"|||", b"__label__a ", b"@good\n", b'{"choices":["a"]}', b'"data":{"text":"a"},', b'"row":{'),
    *(b'"annotations":[{"result":[{"type":"choices","value":', b'"answer":"accept","accept":', b"<f>A1</f>"),
    *(b'<mergeCell ref="A1:B9"/>', b"#N/A", b'"text":{', b"\x1f\x8b"),
    *(b"<!DOCTYPE", b"&a;", b"<c r='XFD1'/>", b"<row r='99999999999'>", b"</row>", b't="s"', b"<v>-1</v>", b"]]>"),
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp949", "gb18030", "shift_jis")
READ_AS = {
    "text": ("", "text", "0", "²", "nothing", "99999999999999999999"),
    "label": ("", "label", "1", "y_*", "y_a,y_b", "*", "[", ",", "text"),
    "pair": ("", "none", "text", "0", "1", "\0"),
    "separator": ("", "none", ";", ",", " ", "\0"),
    "delimiter": ("", "tab", ",", "::", '"', "\n", "\0", "\r", "é"),
    "encoding": ("", "utf-8", "utf-16", "cp949", "zlib", "latin-1", "\0", "idna"),
    "header": ("", "yes", "no"),
    "sheet": ("", "Sheet", "data", "\0"),
}


def make_loaders(random: random.Random, folder: Path) -> Callable[[], object]:
    """A file and how it is to be read: here, at times in the other process, at times on to a data set."""
    kind = random.choice(tuple(_WRITERS))
    data = _WRITERS[kind](random, _rows(random))
    if random.random() < 0.7:
        parts = kind == "xlsx" and random.random() < 0.7
        data = _parts_mutated(random, data) if parts else mutated(random, data, TOKENS)
    path = folder / f"a.{kind}"
    path.write_bytes(data)
    reading = {name: random.choice(values) if random.random() < 0.05 else "" for name, values in READ_AS.items()}
    (folder / "reading.json").write_text(json.dumps(reading))
    return functools.partial(random.choices((_here, _both, _loaded), (16, 2, 2))[0], path, reading)


def _here(path: Path, reading: dict[str, str]) -> None:
    inspect_file(path, **reading)
    file = read_file(path, **reading)
    labels = file.rows["label"].explode() if file.task != "single" else file.rows["label"]
    assert file.rows["text"].str.strip().ne("").all() and set(labels.dropna()) == set(file.classes)


def _both(path: Path, reading: dict[str, str]) -> None:
    """What is said here is said there."""
    said = []
    for look in (lambda: inspect_file(path, **reading), lambda: sandbox.inspect_file(path, reading)):
        try:
            said.append(json.dumps(dataclasses.asdict(look())).replace("\\ufffd", "?"))
        except SentiscopeError as error:
            said.append(str(error))
    assert said[0].encode("utf-8", "replace") == said[1].encode("utf-8", "replace"), said


def _loaded(path: Path, reading: dict[str, str]) -> None:
    load_dataset(DataConfig(name=str(path), **reading))  # type: ignore[arg-type]


def _rows(random: random.Random) -> list[dict[str, Any]]:
    names = ["text", "label"] if random.random() < 0.6 else random.sample(NAMES, random.randrange(1, 6))
    labels = random.sample(LABELS, random.choice((1, 2, 2, 3, 3, 8)))
    rows = []
    for number in range(random.choice((0, 5, 30, 30, 60, 60, 200))):
        row: dict[str, Any] = {name: " ".join(random.choices(WORDS, k=random.randrange(1, 8))) for name in names}
        row[names[0]] += f" {number}"
        row[names[-1]] = random.choice(labels)
        if random.random() < 0.1:
            row[random.choice(names)] = random.choice(ODD)
        if random.random() < 0.02:
            row[random.choice(NAMES)] = random.choice(ODD)
        rows.append(row)
    return rows


def _delimited(mark: str, random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    out, names = io.StringIO(newline=""), list({name: None for row in rows for name in row})
    table = csv.writer(out, delimiter=mark, lineterminator=random.choice(("\n", "\r\n", "\r")))
    if random.random() < 0.8:
        table.writerow(map(_plain, names))
    table.writerows([_plain(row.get(name)) for name in names] for row in rows)
    return out.getvalue().encode(random.choice(ENCODINGS), "replace")


def _plain(value: Any) -> str:
    return "" if value is None else str(value).encode("utf-8", "replace").decode()


def _jsonl(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=random.random() < 0.5) for row in rows)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _json(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    columns = {name: [row.get(name) for row in rows] for row in rows[:1] for name in row}
    by_key = {name: dict(enumerate(cells)) for name, cells in columns.items()}
    split = {"columns": list(columns), "data": [list(row.values()) for row in rows]}
    viewer = {"rows": [{"row_idx": n, "row": row, "truncated_cells": []} for n, row in enumerate(rows)]}
    choice = [{"result": [{"type": "choices", "value": {"choices": [random.choice(LABELS)]}}]}]
    tasks = [{"data": row, "annotations": choice} for row in rows]
    plain = (rows, rows, rows, columns, {"rows": rows}, [rows], rows[0] if rows else None)
    whole: Any = random.choice((*plain, by_key, dict(enumerate(rows)), split, viewer, tasks, {"a": {"b": columns}}))
    return json.dumps(whole, indent=random.choice((None, 1))).encode()


def _lines(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    form = random.choice(("__label__{1} {0}", "{0}@{1}"))
    cells = ([*map(_plain, row.values()), "a", "b"] for row in rows)
    return "\n".join(form.format(*each) for each in cells).encode()


def _zip(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for name in random.sample(("train.csv", "test.csv", "a/b.json", "pos/1.txt", "neg/1.txt", "x.bin"), 3):
            archive.writestr(name, random.choice((_jsonl, _json, _lines))(random, rows))
    return out.getvalue()


def _trees(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    lines = [f"({number % 5} (2 {random.choice(WORDS)}) (3 {random.choice(WORDS)}))" for number in range(len(rows))]
    return "\n".join(lines).encode()


def _xlsx(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    names = list(rows[0]) if rows else ["text", "label"]
    for cells in [names, *([row.get(name) for name in names] for row in rows)]:
        book.active.append([_excel(cell) for cell in cells])
    book.save(out)
    return out.getvalue()


def _excel(value: Any) -> Any:
    if isinstance(value, (bool, int)) or value is None:
        return value if value is None or abs(value) < 10**15 else str(value)
    return "".join(sign for sign in _plain(value) if sign >= " ")[:30_000]


def _parquet(random: random.Random, rows: list[dict[str, Any]]) -> bytes:
    columns: dict[str, pa.Array] = {}
    for name in {name: None for row in rows for name in row} or {"text": None}:
        values = [row.get(name) for row in rows]
        try:
            columns[name.replace("\0", "0")] = pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):
            words = pa.array([_plain(value) for value in values], pa.string())
            columns[name.replace("\0", "0")] = words.dictionary_encode() if random.random() < 0.5 else words
    out = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), out, compression=random.choice(("none", "snappy", "zstd")))
    except pa.ArrowException:  # an object without fields cannot be stored
        return _parquet(random, [{"text": "good"}])
    return out.getvalue()


def _parts_mutated(random: random.Random, data: bytes) -> bytes:
    """The XML inside changed, the archive around it sound."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = random.choice(("xl/worksheets/sheet1.xml", random.choice(old.namelist())))
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, mutated(random, part, TOKENS) if name == chosen else part)
    return out.getvalue()


_WRITERS: dict[str, Callable[[random.Random, list[dict[str, Any]]], bytes]] = {
    "csv": functools.partial(_delimited, ","),
    "tsv": functools.partial(_delimited, "\t"),
    "jsonl": _jsonl,
    "json": _json,
    "xlsx": _xlsx,
    "parquet": _parquet,
    "txt": _trees,
    "text": _lines,
    "gz": lambda random, rows: gzip.compress(random.choice((_jsonl, _json, _lines))(random, rows), mtime=0),
    "zip": _zip,
}
