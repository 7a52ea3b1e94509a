"""Filter rules that select rows of a prediction table, such as `margin<0.2`; a row must match all rules.

wrong · right · all              one word
true=negative · predicted!=neutral   true and predicted classes; with several labels: whether the label is among them
missed=loud · invented=loud      with several labels: true and not predicted, predicted and not true
margin<0.2 · p_predicted=0.5..0.9    numbers: = != < <= > >=, and both ends of a range
text~not good · text!~http       contains, or does not; ignoring case
word=not good · word!=no         whole words in sequence, without punctuation between; ignoring case
source=twitter · topic~tax       the data's own columns: a value, a part, or numbers; `source=` is a missing value
date>=2026-03 · date=2026-01-01..2026-03-31   and dates (`core.error_analysis.predictions_table`)
tag=negation · tag!=question     error tags
code=irony · code!=irony         codes by any author (`core.error_analysis.codebook`)
coded · uncoded                  whether any author gave a code
noted · unnoted                  whether any author wrote a note
key=9f2c01aa34bd                 one row
ids:3b51c02f9d6e4a70             rows that were picked one by one (`core.error_analysis.selection`)

Earlier names are accepted too (`ALIASES`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from core.data.findings import shorten
from core.error_analysis.keywords import split_phrase
from core.error_analysis.predictions_table import ALIASES, SEVERAL, DateSpan, PredictionTable, compare_times, parse_span
from core.evaluation.metrics import NOTHING
from core.exceptions import InputError
from core.formatting import parse_number

if TYPE_CHECKING:
    from core.error_analysis.row_annotations import Annotations
    from core.error_analysis.tags import TableTags

CODE, CODED, NOTED = "code", ("coded", "uncoded"), ("noted", "unnoted")
WORD = "word"
WORDS = ("wrong", "right", "all", *CODED, *NOTED)
NUMBERS = ("margin", "p_true", "p_predicted", "row")
SIGNS = ("!=", "!~", "<=", ">=", "=", "~", "<", ">")
_EQUAL, _PART, _ORDER = ("=", "!="), ("~", "!~"), ("<", "<=", ">", ">=")
RANGE = ".."
IDS = "ids"
_DIGEST = re.compile(r"[0-9a-f]{16}")

Keys = Callable[[str], Collection[str]]  # A function digest → keys of picked rows; InputError if they are not stored


@dataclass(frozen=True)
class Clause:
    """A parsed filter rule: a name, a sign and a value, such as `margin<0.2`."""

    name: str
    sign: str = ""  # empty: the name is one of `WORDS`
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{self.value}"


def is_code_rule(rule: str) -> bool:
    """Return whether a filter rule is about annotation codes."""
    return rule in CODED or rule.startswith((f"{CODE}=", f"{CODE}!="))


def is_private_rule(rule: str) -> bool:
    """Return whether a filter rule is about annotation codes or notes, which not everybody may see."""
    return is_code_rule(rule) or rule in NOTED


def parse_rules(texts: Sequence[str], table: PredictionTable) -> tuple[Clause, ...]:
    """Parse typed filter rules; InputError, which lists the possible rules, if one is not understood."""
    # A shell turns a byte that is not UTF-8 into a lone surrogate, which no text contains.
    whole = (text.encode("utf-8", "replace").decode() for text in texts)
    return tuple(_parse_rule(text.strip(), table) for text in whole)


def match_rows(
    clauses: Sequence[Clause],
    table: PredictionTable,
    tags: TableTags | None = None,
    keys: Keys | None = None,
    codes: Annotations | None = None,
) -> np.ndarray:
    """Return (n,) bool: which table rows match all filter rules; without any rule, all rows match.

    `tags`, `keys` and `codes` are needed for rules on tags, picked rows and codes. Raises InputError for an unknown tag
    or code, or picked rows that are not stored.
    """
    found = np.ones(len(table), bool)
    for clause in clauses:
        found &= _match_clause(clause, table, tags, keys, codes)
    return found


def _parse_rule(text: str, table: PredictionTable) -> Clause:
    if text in WORDS:
        return Clause(text)
    if text.startswith(f"{IDS}:"):
        digest = text.removeprefix(f"{IDS}:")
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"--where {shorten(text)}: write 16 digits from 0 to f after {IDS}:, as in a link")
        return Clause(IDS, ":", digest)
    clause = split_rule(text, table)
    if clause is None:
        raise InputError(
            f"--where {shorten(text)}: write {', '.join(WORDS[:-1])} or {WORDS[-1]}, or a name, a sign and a value, "
            f"such as margin<0.2 or text~not. Names: {', '.join(_list_names(table))}; signs: {' '.join(SIGNS)}"
        )
    _check_clause(clause, table)
    return clause


def split_rule(text: str, table: PredictionTable) -> Clause | None:
    """Split a filter rule into name, sign and value; None for a text without a name and a sign."""
    # The longest name first: a column name may contain a sign, or begin with another column's name.
    for name in sorted((*_list_names(table), *ALIASES), key=len, reverse=True):
        rest = text.removeprefix(name).lstrip()
        sign = next((sign for sign in SIGNS if rest.startswith(sign)), "")
        if text.startswith(name) and sign:
            return Clause(ALIASES.get(name, name), sign, rest.removeprefix(sign).strip())
    return None


def _list_names(table: PredictionTable) -> list[str]:
    return [*_list_class_names(table), *NUMBERS, "text", WORD, "key", "tag", CODE, *table.own]


def _list_class_names(table: PredictionTable) -> tuple[str, ...]:
    return ("true", "predicted", *SEVERAL) if table.task == "multi" else ("true", "predicted")


def _check_clause(clause: Clause, table: PredictionTable) -> None:
    """Raise InputError for a filter rule that no row could match, such as one with an unknown class or sign."""
    name, sign, value = clause.name, clause.sign, clause.value
    signs = {**dict.fromkeys(NUMBERS, (*_EQUAL, *_ORDER)), "text": (*_PART, *_EQUAL), **dict.fromkeys(table.own, SIGNS)}
    if sign not in (allowed := signs.get(name, _EQUAL)):
        raise InputError(f"--where {clause}: of {name} there is {name}{f', {name}'.join(sorted(allowed))}")
    if name in _list_class_names(table):
        known = (*table.classes, NOTHING) if table.task == "multi" else table.classes
        if value not in known:
            raise InputError(f"--where {clause}: no class {value!r}; the classes are {', '.join(known)}")
    elif name == WORD:
        try:
            split_phrase(value)
        except InputError as error:
            raise InputError(f"--where {clause}: {name} {error}; text~ finds any piece of a text") from error
    elif name in NUMBERS or sign in _ORDER:
        _check_order(clause, table)
    elif not value and (name == CODE or sign in _PART):
        wanted = "a code, or coded or uncoded alone" if name == CODE else f"what {name} is to contain"
        raise InputError(f"--where {clause}: write {wanted}")
    elif RANGE in value and name in table.own and _read_times(clause, table) is not None:
        _parse_spans(clause)


def _check_order(clause: Clause, table: PredictionTable) -> None:
    name = clause.name
    if name in table.own and _read_times(clause, table) is not None:
        _parse_spans(clause)
    elif name in table.own and _read_numbers(table, name).isna().all():
        raise InputError(f"--where {clause}: no value of {name} is a number or a date; write {name}= or {name}~")
    else:
        _parse_range(clause)


def _match_clause(
    clause: Clause, table: PredictionTable, tags: TableTags | None, keys: Keys | None, codes: Annotations | None
) -> np.ndarray:
    name, value = clause.name, clause.value
    if name in (*CODED, *NOTED, CODE):
        if codes is None:
            raise ValueError("a clause of codes needs the codes")
        rows = table.frame["key"].tolist()
        found = codes.match_notes(rows) if name in NOTED else codes.match_code(rows, value)
        return ~found if name in (CODED[1], NOTED[1]) or clause.sign == "!=" else found
    if not clause.sign:
        return {"wrong": table.wrong, "right": ~table.wrong, "all": np.ones(len(table), bool)}[name]
    if name == IDS:
        if keys is None:
            raise ValueError("a clause of chosen rows needs their keys")
        return table.frame["key"].isin(list(keys(value))).to_numpy(bool)
    if name == "tag":
        if tags is None:
            raise ValueError("a clause of a tag needs the tags")
        found = tags.match_tag(value)
    elif name in _list_class_names(table):
        true, said = table.true, table.said
        has = {"true": true, "predicted": said, "missed": true & ~said, "invented": said & ~true}[name]
        found = ~has.any(1) if value == NOTHING else has[:, table.classes.index(value)]
    elif name == WORD:
        found = table.phrases.match_words(split_phrase(value))
    else:
        found = _match_column(clause, table)
    return ~found if clause.sign in ("!=", "!~") else found


def _match_column(clause: Clause, table: PredictionTable) -> np.ndarray:
    """Return (n,) bool: rows that match a rule on a column; for a negated rule (!= or !~), the rows to exclude."""
    name, sign, value = clause.name, clause.sign, clause.value
    # Other values of a date column are compared as text, such as a placeholder for no date.
    timed = sign in _ORDER or RANGE in value or parse_span(value) is not None
    if name in table.own and (times := _read_times(clause, table)) is not None and timed:
        return compare_times(times, sign, *_parse_spans(clause))
    low, dots, high = value.partition(RANGE)
    ranged = dots and parse_number(low) is not None and parse_number(high) is not None
    if name in NUMBERS or sign in _ORDER or (name in table.own and ranged):
        values, (first, last) = _read_numbers(table, name), _parse_range(clause)
        ways = {"<": values < first, "<=": values <= first, ">": values > first, ">=": values >= first}
        return ways.get(sign, (values >= first) & (values <= last)).to_numpy(bool)
    if sign in _PART:
        return table.fold_case(name).str.contains(value.casefold(), regex=False).to_numpy(bool)
    return (table.format_column(name) == value).to_numpy(bool)


def _read_times(clause: Clause, table: PredictionTable) -> pd.Series | None:
    """Return a column as times if a filter rule can compare dates and the column holds dates; else None."""
    if clause.sign in _PART:
        return None
    try:
        return table.read_dates(clause.name)
    except InputError as error:
        if clause.sign in _EQUAL and RANGE not in clause.value:
            return None  # compared as text
        raise InputError(f"--where {clause}: {error}") from error


def _parse_spans(clause: Clause) -> tuple[DateSpan, DateSpan]:
    """Return the first and last date of a filter rule's date range; a single date is both."""
    low, dots, high = clause.value.partition(RANGE)
    first, last = parse_span(low), parse_span(high if dots else low)
    if first is None or last is None or (dots and clause.sign not in _EQUAL):
        raise InputError(
            f"--where {clause}: {clause.value!r} is no date; write {clause.name}>=2026-01-31, or "
            f"{clause.name}=2026-01-01{RANGE}2026-03-31 for all between"
        )
    if first.start > last.start:
        raise InputError(f"--where {clause}: the range ends before it begins")
    return first, last


def _parse_range(clause: Clause) -> tuple[float, float]:
    """Return the smallest and largest number of a filter rule's range; a single number is both."""
    low, dots, high = clause.value.partition(RANGE)
    ends = parse_number(low), parse_number(high if dots else low)
    if ends[0] is None or ends[1] is None or (dots and clause.sign not in _EQUAL):
        raise InputError(
            f"--where {clause}: {clause.value!r} is no number; write {clause.name}<0.2, or {clause.name}=0.1{RANGE}0.2 "
            "for all between"
        )
    if ends[0] > ends[1]:
        raise InputError(f"--where {clause}: the range ends before it begins")
    return ends[0], ends[1]


def _read_numbers(table: PredictionTable, name: str) -> pd.Series:
    return pd.to_numeric(table.frame[name], errors="coerce").astype(float)
