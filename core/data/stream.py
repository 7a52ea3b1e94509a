"""Streaming of a file's rows for a single pass (Excel and JSON are read completely), and authors' own layouts."""

import codecs
import dataclasses
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Unpack

import pandas as pd
import pyarrow as pa

from core.data import limits
from core.data.cells import NESTED, as_word, as_words
from core.data.columns import ALONE, choose_text, summarize_columns
from core.data.decoding import DecodedText, decode_bytes, decode_line
from core.data.delimited_text import parse_rows, parse_table, split_lines
from core.data.findings import shorten
from core.data.parquet import read_batches
from core.data.reading_decisions import describe_table
from core.data.sources.source import OWN_LAYOUT, PublishedLayout
from core.data.table_reader import FOREIGN, GZIP, ZIP, TableSettings, read_label_lines, read_table
from core.exceptions import DataError, try_call
from core.formatting import count, join_names, plural

AT_ONCE = 4_096
SAMPLE = 2 * limits.MEGABYTE  # Bytes from which delimiter, header and text column are detected
SAMPLE_ROWS = 2_000
_BLOCK = limits.MEGABYTE
_WHOLE_NUMBERS = 2**63
_KINDS = {
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
}  # Types of JSON columns that are kept; all other columns become strings

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Rows:
    """A stream of batches of a file's rows; no text is missing, and `notes` list what was guessed about the file."""

    text: str
    schema: pa.Schema
    batches: Batches
    notes: tuple[str, ...] = ()


def stream_rows(path: Path, *, text: str = "", lines: bool = False, **settings: Unpack[TableSettings]) -> Rows:
    """Return a stream of all rows of a data file with all columns, in order; the file may be unlabelled.

    `text` is the name or 0-based number of the text column; empty: guessed by name, else the longest distinct texts.
    With `lines`, every line is a text, even an empty one. Raises a DataError if the file cannot be read; the stream
    raises one at a row without a text or of another width.
    """
    stream = limits.open_file(path)
    delimiter, encoding = settings.get("delimiter", ""), settings.get("encoding", "")
    head = stream.read(SAMPLE)
    if lines:
        read, schema = _DecodedFile(stream, head, encoding, path.name), pa.schema({"text": pa.string()})
        texts = ([re.sub(r"[\r\n]+\Z", "", line)] for line in read.read_lines())
        return Rows("text", schema, _build_batches(texts, schema, "text", path.name), read.notes)
    if head.startswith(b"PAR1"):
        schema, batches = read_batches(stream, path.name)
        return _stream_batches(schema, batches, text, path.name)
    packed = not head.strip() or head.startswith((GZIP, ZIP, *FOREIGN))
    decoded = None if packed else _DecodedFile(stream, head, encoding, path.name)
    sample = decoded.read_sample() if decoded else ""
    plain = delimiter or not (sample.lstrip()[:1] in tuple("[{<_") or read_label_lines(sample, path.name))
    if decoded is None or not plain:
        frame = read_table(path, **settings).frame.astype(object)
        columns = [frame.iloc[:, place].where(frame.iloc[:, place].notna(), None) for place in range(frame.shape[1])]
        fields = [_infer_field(str(name), cells) for name, cells in zip(frame.columns, columns, strict=True)]
        return _make_stream(frame, fields, zip(*columns, strict=True), text, path.name)
    asked = (delimiter, settings.get("header", ""), settings.get("quoting", ""))
    rows = _stream_delimited(decoded, sample, text, asked)
    return dataclasses.replace(rows, notes=(*decoded.notes, *rows.notes))


class _DecodedFile:
    """The decoded text of a file, which can be read from the beginning repeatedly, one reading at a time."""

    def __init__(self, stream: BinaryIO, head: bytes, asked: str, file: str) -> None:
        self.stream, self.file = stream, file
        self.encoding, self.notes = _find_encoding(stream, head, asked, file)
        self.errors = "strict" if asked else "replace"

    def read_lines(self) -> Iterator[str]:
        """Yield the decoded lines of a file with their line ends (CR, LF or both)."""
        raw = io.FileIO(self.stream.fileno(), closefd=False)  # keep the file open after this reading
        raw.seek(0)
        if "+" in self.encoding:
            for line in io.BufferedReader(raw):
                yield from split_lines(decode_line(line, self.encoding).replace("\0", ""))
            return
        text = io.TextIOWrapper(io.BufferedReader(raw), self.encoding, self.errors, newline="")
        try:
            yield from filter(None, [next(text, "").removeprefix("\ufeff")])
            yield from (line.removeprefix("\ufeff").replace("\0", "") for line in text)
        except UnicodeDecodeError:
            raise DataError(f"cannot be read as {self.encoding}; leave data.encoding out", file=self.file) from None

    def read_sample(self) -> str:
        """Return whole lines from the beginning of a file, up to the sample size."""
        parts, size = [], 0
        for line in self.read_lines():
            parts.append(line)
            if (size := size + len(line)) > SAMPLE:
                break
        return "".join(parts)


def _find_encoding(stream: BinaryIO, head: bytes, asked: str, file: str) -> tuple[str, tuple[str, ...]]:
    """Find the encoding of a file from its beginning or, if that is UTF-8, around the first invalid bytes."""
    # The sample may end inside a character.
    whole = head[: head.rfind(b"\n") + 1] or head
    wide = whole.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if asked or wide or try_call(UnicodeDecodeError, None, whole.decode) is None:
        return _report_encoding(decode_bytes(whole, asked, file=file))
    decode_bytes(whole, file=file)  # refuses binary data
    stream.seek(0)
    decoder, before, plain = codecs.getincrementaldecoder("utf-8")(), b"", True
    while block := stream.read(_BLOCK):
        try:
            decoder.decode(block)
        except UnicodeDecodeError:
            found = decode_bytes(before + block, file=file)
            if not plain and found.others and "+" not in found.encoding:  # the part before is UTF-8
                found = dataclasses.replace(found, encoding=f"utf-8+{found.encoding}")
            return _report_encoding(found)
        before, plain = block, plain and block.isascii()
    return "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else "utf-8", ()


def _report_encoding(decoded: DecodedText) -> tuple[str, tuple[str, ...]]:
    if not decoded.others or decoded.named:
        return decoded.encoding, ()
    return decoded.encoding, (f"the encoding is a guess: {decoded.encoding}; it could be {decoded.others[0]}",)


def _stream_delimited(decoded: _DecodedFile, sample: str, text: str, asked: tuple[str, str, str]) -> Rows:
    like = parse_table(sample, *asked, file=decoded.file)
    if len(like.rows) == 1 < len(like.columns) and not (like.head.named or asked[1] or text):
        raise DataError(ALONE, file=decoded.file)
    frame = pd.DataFrame(like.rows[:SAMPLE_ROWS], columns=list(like.columns), dtype=object)
    fields = [pa.field(name, pa.string()) for name in like.columns]
    rows = ([cell or None for cell in row] for row in parse_rows(decoded.read_lines(), like, file=decoded.file))
    notes = tuple(each.message for each in describe_table(like)[1] if each.kind == "joined-rows")
    return _make_stream(frame.replace("", None), fields, rows, text, decoded.file, notes)


def _make_stream(
    sample: pd.DataFrame, fields: list[pa.Field], rows: Iterable[Any], text: str, file: str, notes: tuple[str, ...] = ()
) -> Rows:
    """Return the stream of rows, with the text column chosen in a sample and converted to strings."""
    column = choose_text(summarize_columns(sample), text, file=file)
    schema = pa.schema([pa.field(each.name, pa.string()) if each.name == column else each for each in fields])
    return Rows(column, schema, _build_batches(rows, schema, column, file), notes)


def _infer_field(name: str, cells: pd.Series) -> pa.Field:
    """Return a column's name and type: that of its cells if all have a simple one, JSON for lists and objects."""
    types = frozenset(map(type, cells)) - {type(None)}
    large = int in types and any(isinstance(cell, int) and abs(cell) >= _WHOLE_NUMBERS for cell in cells)
    nested = NESTED if types and types <= {list, dict} else None
    return pa.field(name, pa.string() if large else _KINDS.get(types, pa.string()), True, nested)


def _build_batches(rows: Iterable[Sequence[Any]], schema: pa.Schema, text: str, file: str) -> Batches:
    place, taken, rows = schema.get_field_index(text), 0, iter(rows)
    while block := list(islice(rows, AT_ONCE)):
        columns = list(zip(*block, strict=True))
        if None in columns[place]:
            raise DataError("the text is missing", file=file, row=taken + columns[place].index(None) + 1, field=text)
        taken += len(block)
        limits.check_shape(taken, len(schema), file=file)
        yield pa.RecordBatch.from_arrays(list(map(_build_array, columns, schema.types)), schema=schema)


def _build_array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(column, kind)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        if not pa.types.is_string(kind):
            raise
        return pa.array(map(_to_word, column), kind)


def _to_word(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, (list, dict)) else as_word(cell)


def _stream_batches(schema: pa.Schema, batches: Batches, text: str, file: str) -> Rows:
    first = next(batches, None)
    frame = pd.DataFrame() if first is None else first.slice(0, SAMPLE_ROWS).to_pandas()
    if frame.empty:
        raise DataError("the table holds no rows", file=file)
    column = choose_text(summarize_columns(frame), text, file=file)
    place = schema.get_field_index(column)
    typed = schema.set(place, pa.field(column, pa.string()))
    return Rows(column, typed, _convert_texts(chain([first], batches), typed, place, file))


def _convert_texts(batches: Iterable[pa.RecordBatch], schema: pa.Schema, place: int, file: str) -> Batches:
    taken = 0
    for batch in batches:
        texts = batch.column(place)
        if texts.null_count:
            row = taken + texts.is_null().to_numpy(zero_copy_only=False).argmax() + 1
            raise DataError("the text is missing", file=file, row=int(row), field=schema.names[place])
        taken += batch.num_rows
        words = pa.array(as_words(texts.to_pandas()).tolist(), pa.string())
        cells = [words if number == place else column for number, column in enumerate(batch.columns)]
        yield pa.RecordBatch.from_arrays(cells, schema=schema)


_DELIMITERS = {"comma": ",", "tab": "\t"}


def read_published(folder: Path, layout: PublishedLayout) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Read the splits of a data set in its published layout, with notes on their rows; refuse another layout."""
    if lacking := layout.list_missing(folder):
        verb = "is" if len(lacking) == 1 else "are"
        raise DataError(f"{join_names(lacking)} {verb} not there; {describe_expected(layout)}", file=str(folder))
    splits, notes = dict[str, pd.DataFrame](), list[str]()
    for name, files in layout.find_splits(folder).items():
        paths = [folder / file for file in files]
        rows = _read_line_files(paths, layout) if layout.form == "lines" else _read_table(paths[0], layout)
        limits.check_shape(len(rows), rows.shape[1], file=paths[0].name)
        words = rows["label"].fillna("").str.strip()
        if (strange := ~words.isin(list(layout.labels))).any():
            word, row = words[strange].iloc[0], int(strange.to_numpy().argmax()) + 1
            what = f"the label '{shorten(word)}' is" if word else "an empty label is"
            problem = f"{what} none of {', '.join(layout.labels)}; {describe_expected(layout)}"
            raise DataError(problem, file=paths[-1].name, row=row, field=layout.label or None)
        kept = rows[rows["text"].fillna("").str.strip() != ""].assign(label=words.map(layout.labels))
        if kept.empty:
            raise DataError(f"has no row with a text; {describe_expected(layout)}", file=paths[0].name)
        if left_out := len(rows) - len(kept):
            notes.append(f"{name}: {plural(left_out, 'row')} without a text left out")
        if (published := layout.rows.get(name, len(rows))) != len(rows):
            notes.append(f"{name}: {plural(len(rows), 'row')}, and {count(published)} are published")
        splits[name] = kept.reset_index(drop=True)
    return splits, notes


def describe_expected(layout: PublishedLayout) -> str:
    """Describe the files that the folder of a published data set should hold, and the alternative layout."""
    return (
        f"as published ({layout.where}) it holds {layout.describe_layout()}. Files in another layout, such as train.csv"
        f" with column names, can be read if {OWN_LAYOUT} is in the same folder"
    )


def _read_table(path: Path, layout: PublishedLayout) -> pd.DataFrame:
    data, names = _read_encoded(path, layout), None if layout.header else list(layout.columns)
    how: Any = {"sep": _DELIMITERS[layout.form], "encoding": layout.encoding, "names": names, "index_col": False}
    try:
        rows = pd.read_csv(io.BytesIO(data), dtype="str", keep_default_na=False, **how)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{str(error).strip()}; {describe_expected(layout)}", file=path.name) from None
    rows.columns = rows.columns.str.strip()
    if absent := [name for name in (layout.text, layout.label) if name not in rows]:
        problem = f"the first row has no column '{absent[0]}' but {shorten(', '.join(rows.columns)) or 'nothing'}"
        raise DataError(f"{problem}; {describe_expected(layout)}", file=path.name)
    kept = [layout.text, layout.label, *layout.kept]
    rows = rows.reindex(columns=kept).set_axis(["text", "label", *layout.kept], axis=1).astype("str")
    if layout.form == "tab" and (open_cells := rows["text"].str.contains("\t")).any():
        problem = "a quotation mark opens a cell that goes on over tabs and lines; close it or double it"
        raise DataError(problem, file=path.name, row=int(open_cells.to_numpy().argmax()) + 1)
    if (longest := rows["text"].str.len().max()) > limits.get_limits().characters:
        raise limits.make_error(f"a cell has {count(int(longest))} characters", "characters", file=path.name)
    return rows.assign(text=rows["text"].str.replace("\\n", "\n", regex=False)) if layout.escaped else rows


def _read_line_files(paths: Sequence[Path], layout: PublishedLayout) -> pd.DataFrame:
    texts, labels = paths
    data = (_read_encoded(path, layout).decode(layout.encoding) for path in (texts, labels))
    first, second = (each.replace("\r\n", "\n").rstrip("\n").split("\n") for each in data)
    if len(first) != len(second):
        problem = f"has a label for {plural(len(second), 'text')} and {texts.name} has {count(len(first))}"
        raise DataError(f"{problem}; each line of one belongs to the same line of the other", file=labels.name)
    return pd.DataFrame({"text": first, "label": second}, dtype="str")


def _read_encoded(path: Path, layout: PublishedLayout) -> bytes:
    data = limits.read_bytes(path).removeprefix(codecs.BOM_UTF8)
    try:
        data.decode(layout.encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"is not {layout.encoding.upper()}: see line {count(row)}", file=path.name) from None
    return data
