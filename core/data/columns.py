"""Columns of a table: the header that names them, and the choice of the text and label columns."""

import difflib
import fnmatch
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from core.data.cells import as_words
from core.data.dataset import Task
from core.data.findings import shorten
from core.exceptions import DataError
from core.formatting import plural

TEXT_NAMES = (
    "text sentence review document tweet content comment message body utterance phrase headline cleaned clean_text "
    "reviewtext review_text review_body tweet_text"
).split()
LABEL_NAMES = (
    "label sentiment polarity class classes category target emotion airline_sentiment rating overall stars score "
    "labels y gold_label is_duplicate intent annotation accept"
).split()
PAIR_NAMES = (
    *(("sentence1", "sentence2"), ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b")),
    *(("premise", "hypothesis"), ("question1", "question2"), ("question_1", "question_2")),
    *(("text1", "text2"), ("text_1", "text_2"), ("text_a", "text_b")),
)  # Usual names of the two text columns of pairs
KNOWN_NAMES = frozenset((*TEXT_NAMES, *LABEL_NAMES, *(name for pair in PAIR_NAMES for name in pair)))

SINGLE = "none"
PREFIX = "y_"
BITS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
_FLAGS = frozenset("true false True False TRUE FALSE yes no Yes No y n Y N t f 0 1".split())
_MOST_RATINGS = 11  # Distinct values of a rating, at most: 0 to 10
_LONG = 20  # Characters; a column with longer cells than these and than the text is not guessed to be the label
MOST_GUESSED = 50  # A column with more distinct values is not guessed to be the label
ALONE = "holds a single row; if that is a header, the rows below it are missing"


@dataclass(frozen=True)
class ColumnProfile:
    """A profile of one table column (distinct values, missing values, mean length …), for guessing its role."""

    name: str
    distinct: int
    missing: int
    mean_length: float  # Mean number of characters, without missing values
    numeric: bool
    nested: bool
    flag: bool = False  # Whether its two values mean yes and no
    unbroken: bool = False  # Whether its values are ASCII without blanks, such as URLs and keys


@dataclass(frozen=True)
class Layout:
    """The text and label columns of a table and the way its labels are written, shared by all splits of a data set."""

    text: str
    labels: tuple[str, ...]  # One column, or several 0/1 columns
    form: Literal["one", "list", "separated", "columns", "tags"] = "one"
    """one: one label per cell · list, separated: several per cell · columns: a 0/1 column per label · tags: one label
    per word of the text."""
    mark: str = ""  # The sign that separates labels; empty: no cell has more than one
    pair: str = ""  # The column of second texts; empty: single texts
    listed: bool = False  # For the form `one`: whether each cell is a list of one label

    @property
    def task(self) -> Task:
        """Return the task that the label columns imply: one label per text, several per text, or one per word."""
        return {"one": "single", "tags": "tokens"}.get(self.form, "multi")  # type: ignore[return-value]

    @property
    def label(self) -> str:
        """Return the names of the label columns, joined by commas as in the setting `data.label`."""
        return ",".join(self.labels)

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the columns of a file that hold texts and labels."""
        return (self.text, *filter(None, [self.pair]), *self.labels)


TAGGED = Layout("text", ("label",), "tags")  # The layout of CoNLL files
CLASS_TEXTS = Layout("text", ("label",))  # The layout of class folders and class files


def summarize_columns(frame: pd.DataFrame) -> list[ColumnProfile]:
    """Return a profile of each column of a table, in the order of the columns."""
    found = list[ColumnProfile]()
    for number, name in enumerate(frame.columns):
        values = frame.iloc[:, number]
        present = values.dropna()
        nested = bool(len(present)) and not pd.api.types.is_scalar(present.iloc[0])
        words = as_words(present)
        distinct = int(words.nunique())
        numeric = pd.api.types.is_numeric_dtype(values.dtype) or (_is_numeric(words.head(100)) and _is_numeric(words))
        mean = float(words.str.len().mean()) if len(present) else 0.0
        flag = distinct == 2 and set(words.unique()[:2]) <= _FLAGS
        unbroken = bool(len(words)) and bool(words.head(100).str.fullmatch("[!-~]*").all())
        missing = int(values.isna().sum())
        found.append(ColumnProfile(str(name), distinct, missing, mean, numeric, nested, flag, unbroken))
    return found


def choose_columns(
    frame: pd.DataFrame,
    columns: Sequence[ColumnProfile],
    *,
    text: str = "",
    label: str = "",
    pair: str = "",
    file: str = "",
) -> Layout:
    """Choose the text and label columns of a table by their names or 0-based numbers; empty: guessed.

    Without a usual name, texts are the longest distinct values and labels the fewest values. `label` may be `a,b,c` or
    `y_*`: 0/1 columns; `pair` is the column of second texts, or `none` for single texts.
    """
    text, second = _choose_pair(columns, text, pair, file)
    columns = [column for column in columns if column.name != second]
    if bits := _choose_bits(frame, columns, label, file):
        if not (others := [column for column in columns if column.name not in bits]):
            raise _make_refusal("text", columns, file)
        return Layout(choose_text(others, text, file=file), bits, "columns", pair=second)
    rows = len(frame)
    if len(columns) == 1 and not (text and label):
        problem = (
            f"{plural(rows, 'row')} with one column and no labels; if each file holds the texts of one class, put "
        )
        problem += "them in one folder as CLASS.txt (or NAME.CLASS) and give the folder, else name the delimiter with "
        raise DataError(f"{problem}data.delimiter", file=file)
    if rows == 1 and not label and columns[0].name == "0":  # the columns are numbered, so there is no header
        raise DataError(ALONE, file=file)
    text_column = _find_named(columns, text, "text", file) if text else None
    label_column = _find_named(columns, label, "label", file) if label else None
    text_column = text_column or _guess_text([each for each in columns if each is not label_column])
    if text_column is None:
        raise _make_refusal("text", columns, file)
    not_text = [each for each in columns if each is not text_column]
    label_column = label_column or _guess_label(not_text, rows, text_column)
    if label_column is None:
        raise _make_refusal("label", columns, file)
    if text_column is label_column:
        raise DataError(f"'{text_column.name}' cannot be both the text and the label", file=file)
    return Layout(text_column.name, (label_column.name,), pair=second)


def choose_text(columns: Sequence[ColumnProfile], text: str = "", *, file: str = "") -> str:
    """Return the name of the text column of an unlabelled table; arguments and errors are those of `choose_columns`."""
    if found := _find_named(columns, text, "text", file) if text else _guess_text(columns):
        return found.name
    raise _make_refusal("text", columns, file)


def find_text_pair(names: Sequence[str], text: str = "", pair: str = "", *, file: str = "") -> tuple[str, str]:
    """Return the columns of first and second texts in a table of text pairs, named by the user or by usual names."""
    columns = [ColumnProfile(name, 1, 0, 1.0, numeric=False, nested=False) for name in names]
    first, second = _choose_pair(columns, text, pair, file)
    if not second:
        raise DataError(f"no column of second texts; name it with data.pair ({_list_names(columns)})", file=file)
    return first, second


def is_label_name(name: str) -> bool:
    """Return whether a column name is a usual one for labels, such as `label` or `sentiment`."""
    return name.strip().casefold() in LABEL_NAMES


def rank_label_columns(columns: Sequence[ColumnProfile], rows: int) -> list[ColumnProfile]:
    """Return the table columns whose content could be labels; columns with the fewest values come first."""
    few = [c for c in columns if not c.nested and 2 <= c.distinct <= min(MOST_GUESSED, max(2, rows // 3))]
    return sorted(few, key=lambda column: column.distinct)


def rank_text_columns(columns: Sequence[ColumnProfile]) -> list[ColumnProfile]:
    """Return the table columns whose content could be texts: prose before URLs, the longest and most varied first."""
    words = [column for column in columns if column.distinct and not column.numeric and not column.nested]
    return sorted(words, key=lambda column: (column.unbroken, -column.mean_length * column.distinct))


def find_bits(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Return the names of those columns of a table that hold only 0 and 1."""
    return [name for name in names if _is_bits(frame[name])]


def _choose_pair(columns: Sequence[ColumnProfile], text: str, pair: str, file: str) -> tuple[str, str]:
    """Return the first and second text column of a table; the second is empty if each row has a single text."""
    if pair == SINGLE:
        return text, ""
    names = {column.name.strip().casefold(): column.name for column in columns if column.distinct}
    known = [(names[first], names[second]) for first, second in PAIR_NAMES if first in names and second in names]
    if pair:
        second = _find_named(columns, pair, "pair", file).name
        usual = {after: before for before, after in known}.get(second, "")
        first = _find_named(columns, text, "text", file).name if text else usual
        if first == second:
            raise DataError(f"'{first}' cannot be both texts of a pair", file=file)
        if len(columns) == 1:
            raise DataError(f"'{second}' is the only column, and the second text of a pair needs a first", file=file)
        return first, second
    return next(((first, second) for first, second in known if text in ("", first)), (text, ""))


def _choose_bits(frame: pd.DataFrame, columns: Sequence[ColumnProfile], label: str, file: str) -> tuple[str, ...]:
    """Return the 0/1 label columns, named by the user or by their prefix `y_`; empty if labels are in one column."""
    names = [column.name for column in columns]
    if label in names or (label and "," not in label and "*" not in label):
        return ()
    if not label:
        prefixed = [] if any(map(is_label_name, names)) else [name for name in names if name.startswith(PREFIX)]
        found = find_bits(frame, prefixed)
        return tuple(found) if len(found) > 1 else ()
    wanted: list[str] = []
    for part in (each.strip() for each in label.split(",")):
        matched = [name for name in names if fnmatch.fnmatchcase(name, part)] if "*" in part else [part]
        if not set(matched) & set(names):
            raise DataError(f"no column '{part}' for data.label (columns: {', '.join(names[:30])})", file=file)
        wanted += [name for name in matched if name not in wanted]
    if len(wanted) < 2:
        raise DataError(f"data.label={label}: one column only ({wanted[0]}); name two or more 0/1 columns", file=file)
    if strange := [name for name in wanted if not _is_bits(frame[name])]:
        message = f"data.label={label}: several columns must hold nothing but 0 and 1"
        raise DataError(message, file=file, field=strange[0])
    return tuple(wanted)


def _is_bits(values: pd.Series) -> bool:
    present = values.dropna()
    if not len(present) or not pd.api.types.is_scalar(present.iloc[0]):
        return False
    return set(as_words(present).str.strip().str.lower().unique()) <= {*BITS, ""}


def _is_numeric(words: pd.Series) -> bool:
    return bool(len(words)) and bool(pd.to_numeric(words, errors="coerce").notna().all())


def _find_named(columns: Sequence[ColumnProfile], wanted: str, role: str, file: str) -> ColumnProfile:
    if named := next((column for column in columns if column.name == wanted), None):
        return named
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and int(wanted) < len(columns):
        return columns[int(wanted)]
    near = difflib.get_close_matches(wanted, [column.name for column in columns], n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise DataError(f"no column '{wanted}' for data.{role}{hint} ({_list_names(columns)})", file=file)


def _make_refusal(role: str, columns: Sequence[ColumnProfile], file: str) -> DataError:
    what = "a label" if role == "label" else role
    return DataError(f"no column looks like {what}; name it with data.{role} ({_list_names(columns)})", file=file)


def _list_names(columns: Sequence[ColumnProfile]) -> str:
    return "columns: " + ", ".join(shorten(column.name) for column in columns[:30])


def _find_by_name(columns: Sequence[ColumnProfile], names: Sequence[str]) -> ColumnProfile | None:
    known = {column.name.strip().casefold(): column for column in reversed(columns) if column.distinct}
    return next((known[name] for name in names if name in known), None)


def _guess_text(columns: Sequence[ColumnProfile]) -> ColumnProfile | None:
    words = rank_text_columns(columns)
    return _find_by_name(words, TEXT_NAMES) or next(iter(words), None)


def _guess_label(columns: Sequence[ColumnProfile], rows: int, text: ColumnProfile) -> ColumnProfile | None:
    if by_name := _find_by_name(columns, LABEL_NAMES):
        return by_name
    # A column with longer cells than the text is half of a sentence with an unquoted delimiter.
    few = [each for each in rank_label_columns(columns, rows) if each.mean_length < max(_LONG, text.mean_length)]
    ratings = [column for column in few if column.numeric and 3 <= column.distinct <= _MOST_RATINGS]
    return next(iter(ratings if few and few[0].flag and ratings else few), None)


HEADER_ROWS = 2_001  # Rows that decide whether the first one names the columns
_MOST_TITLES = 20  # Title rows above the header, at most
_HEADER_WORDS = KNOWN_NAMES.union(
    "date user query author index id tweet_id review_id document_id sentence_id split summary title".split()
)
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
_RULE = re.compile(r"\s*(:?-{2,}:?)?\s*")  # A cell in the line below the header of a Markdown table
_IMPORT = '{"ImportId"'  # Prefix of the cells in a second header row of survey exports
ROW_NAMES = "row"
_MOST_BLANKS = 2  # Blanks in a row name, at most; a cell with more is half of a text with an unquoted delimiter


@dataclass(frozen=True)
class TableHead:
    """The rows of a table above its first data row: titles, the header and further header rows."""

    columns: tuple[str, ...]
    named: bool
    titles: int = 0
    further: int = 0  # Rows below the header that belong to it
    cells: tuple[str, ...] = ()

    @property
    def begin(self) -> int:
        """Return the number of rows of a table before its first data row."""
        return self.titles + self.named + self.further


def find_head(rows: Sequence[Sequence[str]], width: int, asked: str = "") -> TableHead:
    """Find the header of a table, and the rows around it that are no data; `asked` is yes, no or empty."""
    none = TableHead(tuple(map(str, range(width))), named=False)
    if asked == "no" or not rows:
        return none
    if asked == "yes":
        cells = _fit_row(rows[0], rows[1:], width) or [*rows[0], *[""] * width][:width]
        return TableHead(make_column_names(cells), named=True, cells=tuple(rows[0]))
    for at, row in enumerate(rows[: _MOST_TITLES + 1]):
        usual = is_usual(row)
        rest = [each for each in rows[at + 1 :] if len(each) == width and not (usual and list(each) == list(row))]
        if (names := _fit_row(row, rest, width)) is not None and has_header([names, *rest]):
            return TableHead(make_column_names(names), True, at, _count_further(rows[at + 1 : at + 4]), tuple(row))
        if not _is_title(row, width):
            break
    titles = next((at for at, row in enumerate(rows) if not (_is_title(row, width) and len(row) < width)), 0)
    return TableHead(none.columns, named=False, titles=titles) if titles <= _MOST_TITLES else none


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: a usual name, words above numbers or short ones above words."""
    if len(rows) < 2:
        return False
    first, rest = rows[0], rows[1:HEADER_ROWS]
    columns = [[cell.strip() for cell in column] for column in zip(*rest, strict=True)]
    cells = [cell.strip() for cell in first]
    if any(cell.casefold() in _HEADER_WORDS and cell not in columns[n] for n, cell in enumerate(cells)):
        return True
    filled = [n for n, column in enumerate(columns) if any(column)]
    numeric = [n for n in filled if all(_NUMBER.fullmatch(value) for value in columns[n])]
    named = [cells[n] for n in filled if cells[n] or n not in numeric]
    if any(_NUMBER.fullmatch(cell) or len(cell) > 40 or not cell for cell in named) or len(set(named)) < len(named):
        return False
    if not named or numeric:
        return bool(named)
    few = [n for n in filled if len(columns[n]) >= 20 and len(set(columns[n])) <= len(columns[n]) // 4]
    return bool(few) and all(cells[n] not in columns[n] for n in few)


def is_repeated_header(row: Sequence[object], head: TableHead) -> bool:
    """Return whether a row repeats the header of its table, as in concatenated files."""
    return bool(head.cells) and row[0] == head.cells[0] and tuple(row) == head.cells


def is_usual(cells: Iterable[str]) -> bool:
    """Return whether one of a row's cells is a usual column name, such as `text` or `label`."""
    return any(cell.strip().casefold() in _HEADER_WORDS for cell in cells)


def make_column_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Make distinct column names of a header's cells: blank ones become `column N`, repeated ones get a number."""
    return make_unique(cell.strip() or f"column {number}" for number, cell in enumerate(cells))


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return column names with a number added to each repeated one, so that all are distinct."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        found[next(each for each in itertools.chain([name], numbered) if each not in found)] = None
    return tuple(found)


def _fit_row(row: Sequence[str], rest: Sequence[Sequence[str]], width: int) -> list[str] | None:
    cells = list(row)
    if len(cells) > width:
        return cells[:width] if not any(cell.strip() for cell in cells[width:]) else None
    if not (missing := width - len(cells)):
        return cells
    regular = [each for each in rest if len(each) == width]
    if not regular or len(cells) < 1 or not all(cell.strip() for cell in cells):
        return None
    if not any(cell.strip() for each in regular for cell in each[len(cells) :]):
        return cells + [""] * missing
    firsts = [each[0].strip() for each in regular]
    cut = sum(first.count(" ") > _MOST_BLANKS or first.startswith('"') for first in firsts) > len(firsts) // 2
    if missing == 1 and len(cells) > 1 and len(set(firsts)) == len(firsts) and not cut:
        return [ROW_NAMES, *cells]
    return None


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(bool(cell.strip()) for cell in row)
    return width > 1 and (filled <= 1 or (len(row) != width and row[0].lstrip().startswith(("#", "//"))))


def _count_further(below: Sequence[Sequence[str]]) -> int:
    """Count the rows right below the column names that are no data yet, such as the import codes of a survey export."""
    for number, row in enumerate(below, 1):
        is_rule = any(map(str.strip, row)) and all(map(_RULE.fullmatch, row))
        if is_rule or any(cell.lstrip().startswith(_IMPORT) for cell in row):
            return number
    return 0
