"""Results of reading a data file: its table, findings such as warnings, and decisions such as the encoding."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.exceptions import DataError
from core.text.graphemes import clip_text

if TYPE_CHECKING:
    import pandas as pd

Level = Literal["note", "warning", "refused"]
What = Literal["encoding", "delimiter", "quoting", "header", "sheet", "text", "label", "labels", "rows"]

_NAMED = 3  # File names in a message, at most; further ones are counted


@dataclass(frozen=True)
class Finding:
    """A finding about a data file, such as a warning; level `refused` means that it cannot be used unchanged."""

    kind: str  # Short stable name, such as `blank-text`
    level: Level
    count: int  # The number of affected rows (or classes, or characters)
    message: str


@dataclass(frozen=True)
class ReadingDecision:
    """A decision between several ways to read a data file, such as its encoding, with the alternatives."""

    what: What
    chosen: str  # A value of the setting, such as `cp1251`; a sentence if `what` is `rows`
    alternatives: tuple[str, ...] = ()  # Other possible values of the setting, the likeliest first
    setting: str = ""  # The setting that changes the decision, such as `data.encoding`; empty: none
    proof: str = ""  # A line of text that shows whether the choice is correct
    guessed: bool = False  # Whether the choice is uncertain, so that the user should check the proof
    file: str = ""  # The files of a folder that it applies to; empty: all files


@dataclass(frozen=True)
class RawTable:
    """The cells of a data file as a table, before the text and label columns are known."""

    frame: pd.DataFrame  # Columns named as in the file (or numbered from 0), and unchanged cells; missing cells are NaN
    kind: str  # csv, tsv, text, json, jsonl, xlsx, parquet or conll
    encoding: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = True
    findings: tuple[Finding, ...] = ()
    seen: str = ""  # The content of the file in words, for error messages: `a list of 60 objects`; empty: a plain table
    sheets: tuple[str, ...] = ()  # The names of all tables in the file: sheets, keys, files of an archive
    sheet: str = ""  # The table that is read; empty: the file is one table
    decisions: tuple[ReadingDecision, ...] = ()


def list_finding(kind: str, level: Level, number: int, message: str) -> list[Finding]:
    """Return a list with one finding about a data file; an empty list if `number`, how often it was found, is 0."""
    return [Finding(kind, level, number, message)] if number else []


def refuse_findings(findings: Iterable[Finding], file: str) -> None:
    """Raise a DataError for the first finding that makes a table unusable (level `refused`)."""
    for finding in findings:
        if finding.level == "refused":
            raise DataError(finding.message, file=file)


def shorten(word: str, most: int = 60) -> str:
    """Shorten a long word of a user's file, so that a message can quote it."""
    return clip_text(word, most + 1)


@contextlib.contextmanager
def name_sheets(sheets: Sequence[str], sheet: str) -> Iterator[None]:
    """Add the names of a file's other tables to a DataError about one table, so that the user can choose another."""
    try:
        yield
    except DataError as error:
        error.sheets, error.sheet = tuple(sheets), sheet
        raise


def join_decisions(by_file: Mapping[str, Iterable[ReadingDecision]]) -> tuple[ReadingDecision, ...]:
    """Join the reading decisions for all files of a folder; a shared decision appears once, with its files."""
    files: dict[tuple[str, str, bool], dict[str, ReadingDecision]] = {}
    for file, decisions in by_file.items():
        for each in decisions:
            files.setdefault((each.what, each.chosen, each.guessed), {})[file] = each
    # The decision with the most alternatives is kept, as an ASCII file has none.
    richest = [max(same.values(), key=lambda each: len(each.alternatives)) for same in files.values()]
    names = [name_files([*same], len(by_file)) for same in files.values()]
    return offer_for_all(dataclasses.replace(each, file=of) for each, of in zip(richest, names, strict=True))


def offer_for_all(decisions: Iterable[ReadingDecision]) -> tuple[ReadingDecision, ...]:
    """Return reading decisions without alternative encodings that would misread files whose encoding is certain."""
    found = tuple(decisions)
    certain = {each.chosen.removesuffix("-sig") for each in found if each.what == "encoding" and not each.guessed}
    if len({each.chosen for each in found if each.what == "encoding"}) < 2 or not certain:
        return found
    kept = list[ReadingDecision]()
    for each in found:
        # An alternative X becomes `utf-8+X` if the certain files are UTF-8.
        offered = each.alternatives if each.guessed and certain == {"utf-8"} else ()
        both = dict.fromkeys(f"utf-8+{other.removeprefix('utf-8+')}" for other in offered)
        fit = tuple(other for other in both if other != each.chosen)
        kept.append(dataclasses.replace(each, alternatives=fit) if each.what == "encoding" else each)
    return tuple(kept)


def name_files(names: Sequence[str], of: int) -> str:
    """Format names of a folder's files, the first few of many; an empty text if they are all files of the folder."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "" if len(names) == of else f"{', '.join(names[:_NAMED])}{more}"
