"""Parsing of delimited text (CSV, TSV …) into rows; delimiter, quoting and header are found by inspection."""

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from core.data import limits
from core.data.columns import HEADER_ROWS, TableHead, find_head, is_repeated_header, is_usual
from core.data.config import QuotingKind
from core.exceptions import DataError
from core.formatting import count

DELIMITERS = ("\t", ",", ";", "|", "|||", "::")
NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "blank", "": "none"}
QUOTE_TEXTS = "put texts that hold the delimiter into double quotes, or name another one with data.delimiter"
QUOTINGS = tuple(filter(None, get_args(QuotingKind)))

_LEAST_REGULAR = 0.9  # Share of rows with the same number of fields that a delimiter must give, at least
_SAMPLE = 400_000  # Characters in which delimiter and quoting are detected
_LEAST_ENCLOSED = 0.2  # Cells per row in single or curly quotes, at least, for such a quoting
_UNSTRICT = 0.1  # Penalty, in stray quotes per row, for a quoting that leaves a quote out of place
_SEP = re.compile(r'\s*"?sep=([^\r\n"\'])"?[ \t]*(?:\r\n|\r|\n)', re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ESCAPED = re.compile(r'\\(["\\])')
_ENCLOSED = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "«": "»"}

csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True)
class Quoting:
    """The quoting style of the fields of a delimited text, such as doubled or escaped quotes."""

    kind: str = "none"
    blank: bool = False


@dataclass(frozen=True)
class ParsedTable:
    """The rows of a parsed delimited text without its header, with the delimiter and quoting that were used."""

    columns: tuple[str, ...]
    rows: list[list[str]]
    delimiter: str
    quoting: Quoting
    head: TableHead
    ragged: tuple[int, ...] = ()  # 1-based numbers of rows left out because they have too many or too few fields
    repeated: int = 0  # Rows left out because they repeat the header
    other_quotings: tuple[str, ...] = ()
    other_delimiters: tuple[str, ...] = ()
    joined: tuple[int, ...] = ()  # 1-based numbers of rows that may be several rows joined by an unmatched quote
    separator_line: bool = False  # Whether the file's first line names the delimiter, such as `sep=;`

    @property
    def quoted(self) -> bool:
        """Return whether quotes enclose the cells of a delimited text, rather than being ordinary characters."""
        return self.quoting.kind != "none"


def parse_table(text: str, delimiter: str = "", header: str = "", quoting: str = "", *, file: str = "") -> ParsedTable:
    """Parse a delimited text (CSV, TSV …) into rows and columns; detect delimiter, header or quoting if not given.

    `delimiter` is one or more characters, or `tab`; `header` (`yes` or `no`) says whether the first row names the
    columns; `quoting` is one of `QUOTINGS`. Raises a DataError if the delimiter does not divide the lines, or the table
    is larger than allowed (`limits`).
    """
    named = _SEP.match(text)
    text = (text[named.end() :] if named else text).rstrip("\x1a")
    wanted = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}.get(delimiter, delimiter)
    if wanted in ("\r", "\n", '"', "'"):
        raise DataError(f"{wanted!r} is not a delimiter: line ends divide rows, and quotes enclose cells", file=file)
    ranked = [named[1]] if named else _rank_delimiters(text)
    chosen = wanted or (ranked[0] if ranked else "," * _is_one_column(text))
    dialect, others = _find_quoting(text, chosen, quoting)
    rows, dialect = _choose_rows(text, chosen, dialect, others if not quoting else [], file)
    width, _ = _measure_shape(rows)
    limits.check_shape(len(rows), width, file=file)
    if wanted and width < 2:
        hint = f"; the file seems to use {_name_delimiter(ranked[0])}" if ranked else ""
        problem = f"the delimiter {_name_delimiter(wanted)} does not divide its lines into columns"
        raise DataError(problem + hint, file=file)
    head = find_head(rows[: HEADER_ROWS + 20], width, header)
    if not (head.named or header) and rows and 1 < len(rows[0]) != width and is_usual(rows[0]):
        fields = f"{count(len(rows[0]))} fields and most rows {count(width)}"
        raise DataError(f"the header has {fields}; {QUOTE_TEXTS}", file=file)
    below = rows[head.begin :]
    ragged = tuple(number for number, row in enumerate(below, 1) if len(row) != width)
    kept = [row for row in below if len(row) == width] if ragged else below
    data = [row for row in kept if not is_repeated_header(row, head)] if head.named else kept
    return ParsedTable(
        head.columns,
        data,
        chosen,
        dialect,
        head,
        ragged,
        len(kept) - len(data),
        tuple(dict.fromkeys(each.kind for each in others if each.kind != dialect.kind)),
        tuple(each for each in ranked if each != chosen),
        tuple(n + 1 - head.begin for n in _find_joined(text, rows, chosen, dialect) if n >= head.begin),
        named is not None,
    )


def parse_rows(lines: Iterable[str], like: ParsedTable, *, file: str = "") -> Iterator[list[str]]:
    """Yield rows below a table's header, with delimiter and quoting already known; refuse rows of another width."""
    lines = iter(lines)
    if like.separator_line:
        next(lines, "")
    rows = _check_rows(_split_rows(lines, like.delimiter, like.quoting), file)
    for number, row in enumerate(rows, 1 - like.head.begin):
        if number < 1 or is_repeated_header(row, like.head):
            continue
        if len(row) != len(like.columns):
            problem = f"has {count(len(row))} fields and the others {count(len(like.columns))}"
            raise DataError(f"{problem}; {QUOTE_TEXTS}", file=file, row=number)
        yield row


def _name_delimiter(delimiter: str) -> str:
    return NAMES.get(delimiter, f"'{delimiter}'")


def _rank_delimiters(text: str) -> list[str]:
    """Return the delimiters that give most rows of a text the same number of fields, best first."""
    # Of 19 files, this is right on 18, csv.Sniffer on 9 and clevercsv on 11; the latter two also split plain sentences.
    sample = text[:_SAMPLE]
    if _is_blank_separated(sample):
        return [" "]
    found: dict[str, float] = {}
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        for kind in ("double", "none") if len(delimiter) == 1 else ("none",):
            rows = list(_split_rows(split_lines(sample), delimiter, Quoting(kind)))
            width, share = _measure_shape(rows[:-1] if len(text) > _SAMPLE else rows)
            if width > 1 and share >= _LEAST_REGULAR:
                found[delimiter] = max(share, found.get(delimiter, 0.0))
    ranked = sorted(found, key=lambda each: -found[each]) or _guess_from_header(sample)
    # `a|||b` is also regular under `|`, with empty fields between.
    if ranked[:1] == ["|"] and _measure_shape(_split_rows(split_lines(sample), "|||", Quoting()))[0] > 1:
        ranked = ["|||", *(each for each in ranked if each != "|||")]
    return ranked


def _guess_from_header(sample: str) -> list[str]:
    first = next(split_lines(sample), "").strip()
    for delimiter in DELIMITERS[:4]:
        cells = [cell.strip().strip("\"'") for cell in first.split(delimiter)]
        rows = _split_rows(split_lines(sample), delimiter, Quoting("double"))
        if len(cells) > 1 and is_usual(cells) and _measure_shape(rows)[1] > 0.5:
            return [delimiter]
    return []


def _is_one_column(text: str) -> bool:
    """Return whether a text is a CSV file of one column, in which quotes enclose a comma, a quote or a line break."""
    try:
        rows = list(_split_rows(split_lines(text), ",", Quoting("double"), strict=True)) if '"' in text else []
    except csv.Error:
        return False
    return all(len(row) == 1 for row in rows) and any(re.search('[,"\r\n]', row[0]) for row in rows)


def _is_blank_separated(sample: str) -> bool:
    """Return whether blanks separate the quoted cells of a text, as R writes tables; the header may lack one cell."""
    if not re.match('"[^"\r\n]*" "', sample):
        return False
    try:
        width, share = _measure_shape(list(_split_rows(split_lines(sample), " ", Quoting("double"), strict=True))[1:])
    except csv.Error:
        return False
    return width > 1 and share >= _LEAST_REGULAR


def _find_quoting(text: str, delimiter: str, asked: str) -> tuple[Quoting, list[Quoting]]:
    """Return the quoting with the most regular rows, and others: as regular ones or, if asked, those to be detected."""
    if len(delimiter) != 1:
        return Quoting(), []
    sample = text[:_SAMPLE]
    tried, cut = _list_quotings(sample, delimiter, asked), len(text) > _SAMPLE
    scores = {each: _score_quoting(sample, delimiter, each, cut=cut) for each in tried}
    best, *others = sorted(tried, key=lambda each: scores[each], reverse=True)
    if asked:
        found, others = _find_quoting(text, delimiter, "")
        return best, [found, *others]
    return best, [each for each in others if scores[each][0] >= scores[best][0]]


def _list_quotings(sample: str, delimiter: str, asked: str) -> list[Quoting]:
    mark = re.escape(delimiter)
    blank = [False, True] if re.search(rf"{mark} +[\"'“]", sample) else [False]
    if asked:
        return [Quoting(asked, each) for each in blank] if asked != "none" else [Quoting()]
    signs = {"double": '"', "backslash": r'\\"', "single": rf"(?:^|{mark}) *'", "curly": rf"(?:^|{mark}) *[“„]"}
    kinds = [kind for kind, sign in signs.items() if re.search(sign, sample, re.MULTILINE)]
    return [Quoting(), *(Quoting(kind, each) for kind in kinds for each in blank)]


def _score_quoting(sample: str, delimiter: str, quoting: Quoting, *, cut: bool) -> tuple[float, float]:
    """Score a quoting style: the share of rows with the usual number of cells, and minus the stray quotes per row."""
    try:
        rows, strict = list(_split_rows(split_lines(sample), delimiter, quoting, strict=True)), True
    except csv.Error:
        rows, strict = list(_split_rows(split_lines(sample), delimiter, quoting)), False
    rows = rows[:-1] if cut else rows
    total = max(1, len(rows))
    share = round(_measure_shape(rows)[1] - sum(map(_is_cut, rows)) / total, 3)
    stray = _count_stray(rows) / total
    if quoting.kind in ("single", "curly"):
        plain = _count_stray(_split_rows(split_lines(sample), delimiter, Quoting())) / total
        if not strict or (plain - stray < _LEAST_ENCLOSED and share < 1):
            return 0.0, -stray
        if plain - stray < _LEAST_ENCLOSED:
            stray = plain + _UNSTRICT
    return share, -stray - (0.0 if strict else _UNSTRICT)


def _count_stray(rows: Iterable[list[str]]) -> int:
    """Count the parsed cells that are still in quotes or have an escaped quote: signs of a wrong quoting."""
    cells = (cell.strip() for row in rows for cell in row)
    return sum((len(cell) > 1 and _ENCLOSED.get(cell[0]) == cell[-1]) or '\\"' in cell for cell in cells)


def _is_cut(row: list[str]) -> bool:
    """Return whether a row was split inside quotes: one cell begins with a quote, and a later one ends with it."""
    halves = [cell.strip() for cell in row if cell.count('"') == 1]
    return len(halves) > 1 and halves[0][0] == '"' == halves[-1][-1]


def _choose_rows(
    text: str, delimiter: str, dialect: Quoting, others: list[Quoting], file: str
) -> tuple[list[list[str]], Quoting]:
    """Parse all rows of a text with the quoting found on a sample, or with another that fits the whole text better."""

    def parse_with(quoting: Quoting, strict: bool = False) -> Iterator[list[str]]:
        return _check_rows(_split_rows(split_lines(text), delimiter, quoting, strict), file)

    if len(text) > _SAMPLE and others:
        with contextlib.suppress(csv.Error):
            rows = list(parse_with(dialect, strict=True))
            if _measure_shape(rows)[1] == 1:
                return rows, dialect
            del rows
        shares = {each: _measure_shape(parse_with(each))[1] for each in (dialect, *others)}
        dialect = max(shares, key=lambda each: shares[each])
    return list(parse_with(dialect)), dialect


def _find_joined(text: str, rows: list[list[str]], delimiter: str, quoting: Quoting) -> list[int]:
    """Return the 0-based rows that an unmatched quote may have joined: a cell has a line break and a delimiter."""
    if quoting.kind == "none" or text.count("\n") < len(rows):
        return []
    found = [n for n, row in enumerate(rows) if any("\n" in cell and delimiter in cell for cell in row)]
    try:
        _measure_shape(_split_rows(split_lines(text), delimiter, quoting, strict=True) if found else ())
    except csv.Error:
        return found
    return []


def _check_rows(rows: Iterable[list[str]], file: str) -> Iterator[list[str]]:
    """Yield parsed table rows unchanged; refuse too many rows or cells, and cells that are too long."""
    allowed, cells = limits.get_limits(), 0
    for number, row in enumerate(rows, 1):
        cells += len(row)
        if number > allowed.rows + 1 or cells > allowed.cells + allowed.columns:  # the header does not count
            limits.check_shape(number, -(-cells // number), file=file)
        if (longest := max(map(len, row))) > allowed.characters:
            raise limits.make_error(f"a cell has {count(longest)} characters", "characters", file=file, row=number)
        yield row


def split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with their line ends (CR, LF or both)."""
    return (found.group() for found in _LINE.finditer(text))


def _split_rows(lines: Iterable[str], delimiter: str, quoting: Quoting, strict: bool = False) -> Iterator[list[str]]:
    if quoting.kind == "none":
        bare = (line.rstrip("\r\n") for line in lines)
        return (line.split(delimiter) if delimiter else [line] for line in bare if line.strip())
    if quoting.kind == "backslash":
        lines = (_ESCAPED.sub(lambda found: '""' if found[1] == '"' else "\\", line) for line in lines)
    elif quoting.kind == "curly":
        mark = re.escape(delimiter)
        opening, closing = re.compile(rf"(^|{mark}) *[“„]"), re.compile(rf"[”“] *(?={mark}|[\r\n]*$)")
        lines = (closing.sub('"', opening.sub(r'\1"', line.replace('"', '""'))) for line in lines)
    sign = "'" if quoting.kind == "single" else '"'
    found = csv.reader(lines, delimiter=delimiter, quotechar=sign, strict=strict, skipinitialspace=quoting.blank)
    return (row for row in found if row)


def _measure_shape(rows: Iterable[list[str]]) -> tuple[int, float]:
    widths = Counter(map(len, rows))
    if not widths:
        return 0, 0.0
    width, number = widths.most_common(1)[0]
    return width, number / widths.total()
