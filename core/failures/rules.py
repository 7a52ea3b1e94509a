"""Rules that select rows of the table: clauses in words, of which all must hold. A link carries them as they are typed.

wrong · right · all              one word
truth=negative · said!=neutral   classes; of several labels: whether the text has it, or is said to
missed=loud · invented=loud      of several labels: true and not said, said and not true
margin<0.2 · p_said=0.5..0.9     numbers: = != < <= > >=, and both ends of a range
text~not good · text!~http       contains, or does not; letter case aside
source=twitter · topic~tax       the data's own columns: a value, a part, or numbers; `source=` is a missing value
tag=negation · tag!=question     tags
code=irony · code!=irony         codes that somebody gave (`core.failures.codes`)
coded · uncoded                  whether somebody gave one
key=9f2c01aa34bd                 one row
ids:3b51c02f9d6e4a70             rows that somebody chose one by one (`core.failures.chosen`)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from core.data.findings import shown
from core.evaluation.multilabel import NOTHING
from core.exceptions import InputError
from core.failures.table import SEVERAL, Table

CODE, CODED = "code", ("coded", "uncoded")
WORDS = ("wrong", "right", "all", *CODED)
NUMBERS = ("margin", "p_truth", "p_said", "row")
SIGNS = ("!=", "!~", "<=", ">=", "=", "~", "<", ">")
_EQUAL, _PART, _ORDER = ("=", "!="), ("~", "!~"), ("<", "<=", ">", ">=")
RANGE = ".."
IDS = "ids"
_DIGEST = re.compile(r"[0-9a-f]{16}")

Keys = Callable[[str], Collection[str]]
"""The keys of rows that were chosen one by one, by their digest; InputError where they are not kept."""


class Tags(Protocol):
    """What is asked of tags here."""

    def rows(self, name: str) -> np.ndarray:
        """(n,) bool: the rows that have a tag.

        Raises:
            InputError: there is no such tag, or not of this run; the message says why.
        """


class Codes(Protocol):
    """What is asked of codes here."""

    def rows(self, keys: Sequence[str], code: str = "") -> np.ndarray:
        """(n,) bool: the rows of these keys that have a code; without one, that have any.

        Raises:
            InputError: there is no such code; the message says which there are.
        """


@dataclass(frozen=True)
class Clause:
    """One of them."""

    name: str
    sign: str = ""
    """Empty: the name is one of `WORDS`."""
    value: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.sign}{self.value}"


def of_codes(rule: str) -> bool:
    """Whether a rule speaks of codes, which change while nothing of a run does."""
    return rule in CODED or rule.startswith((f"{CODE}=", f"{CODE}!="))


def read(texts: Sequence[str], table: Table) -> tuple[Clause, ...]:
    """Clauses as a person types them.

    Raises:
        InputError: one is not understood, or names a column, class or number that there is not; the message says what
            there is.
    """
    # A lone surrogate, which a shell makes of a byte that is no UTF-8, is in no text of a table.
    whole = (text.encode("utf-8", "replace").decode() for text in texts)
    return tuple(_read(text.strip(), table) for text in whole)


def rows(
    clauses: Sequence[Clause],
    table: Table,
    tags: Tags | None = None,
    keys: Keys | None = None,
    codes: Codes | None = None,
) -> np.ndarray:
    """(n,) bool: where all clauses hold; everywhere without any.

    Args:
        clauses: as `read` gives them.
        table: what is selected from.
        tags: needed where a clause is of a tag,
        keys: and where one is of rows that were chosen one by one,
        codes: and where one is of codes.

    Raises:
        InputError: a tag or code that there is not, or rows that are not kept.
    """
    found = np.ones(len(table), bool)
    for clause in clauses:
        found &= _rows(clause, table, tags, keys, codes)
    return found


def _read(text: str, table: Table) -> Clause:
    if text in WORDS:
        return Clause(text)
    if text.startswith(f"{IDS}:"):
        return _chosen(text)
    names = [*_classes_of(table), *NUMBERS, "text", "key", "tag", CODE, *table.own]
    # The longest name first: a column of the data may hold a sign, or begin as another one does.
    for name in sorted(names, key=len, reverse=True):
        rest = text.removeprefix(name).lstrip()
        sign = next((sign for sign in SIGNS if rest.startswith(sign)), "")
        if text.startswith(name) and sign:
            clause = Clause(name, sign, rest.removeprefix(sign).strip())
            _check(clause, table)
            return clause
    raise InputError(
        f"--where {shown(text)}: write {', '.join(WORDS[:-1])} or {WORDS[-1]}, or a name, a sign and a value, such as "
        f"margin<0.2 or text~not. Names: {', '.join(names)}; signs: {' '.join(SIGNS)}"
    )


def _chosen(text: str) -> Clause:
    digest = text.removeprefix(f"{IDS}:")
    if not _DIGEST.fullmatch(digest):
        raise InputError(f"--where {shown(text)}: behind {IDS}: stand 16 digits from 0 to f, as in a link")
    return Clause(IDS, ":", digest)


def _classes_of(table: Table) -> tuple[str, ...]:
    return ("truth", "said", *SEVERAL) if table.task == "multi" else ("truth", "said")


def _check(clause: Clause, table: Table) -> None:
    """Refuse what no row could answer.

    Raises:
        InputError: says what can be asked.
    """
    name, sign, value = clause.name, clause.sign, clause.value
    allowed: tuple[str, ...] = _EQUAL
    if name in NUMBERS:
        allowed = (*_EQUAL, *_ORDER)
    elif name == "text":
        allowed = (*_PART, *_EQUAL)
    elif name in table.own:
        allowed = SIGNS
    if sign not in allowed:
        raise InputError(f"--where {clause}: of {name} there is {name}{f', {name}'.join(sorted(allowed))}")
    if name in _classes_of(table):
        known = (*table.classes, NOTHING) if table.task == "multi" else table.classes
        if value not in known:
            raise InputError(f"--where {clause}: no class {value!r}; the classes are {', '.join(known)}")
    elif name in NUMBERS or sign in _ORDER:
        _range(clause)
        if name in table.own and _numbers(table, name).isna().all():
            raise InputError(f"--where {clause}: no value of {name} is a number; write {name}= or {name}~")
    elif not value and (name == CODE or sign in _PART):
        wanted = "a code, or coded or uncoded alone" if name == CODE else f"what {name} is to contain"
        raise InputError(f"--where {clause}: write {wanted}")


def _rows(clause: Clause, table: Table, tags: Tags | None, keys: Keys | None, codes: Codes | None) -> np.ndarray:
    name, sign, value = clause.name, clause.sign, clause.value
    if name in (*CODED, CODE):
        return _coded(clause, table, codes)
    if not sign:
        everything = np.ones(len(table), bool)
        return {"wrong": table.wrong, "right": ~table.wrong, "all": everything}[name]
    if name == IDS:
        if keys is None:
            raise ValueError("a clause of chosen rows needs their keys")
        return table.frame["key"].isin(list(keys(value))).to_numpy(bool)
    if name == "tag":
        if tags is None:
            raise ValueError("a clause of a tag needs the tags")
        found = tags.rows(value)
    elif name in _classes_of(table):
        found = _has_class(clause, table)
    elif name in NUMBERS or sign in _ORDER or (name in table.own and _is_range(clause)):
        found = _between(clause, _numbers(table, name))
    elif sign in _PART:
        words = _written(table.frame[name]).str.casefold()
        found = words.str.contains(value.casefold(), regex=False).to_numpy(bool)
    else:
        found = (_written(table.frame[name]) == value).to_numpy(bool)
    return ~found if sign in ("!=", "!~") else found


def _coded(clause: Clause, table: Table, codes: Codes | None) -> np.ndarray:
    if codes is None:
        raise ValueError("a clause of codes needs the codes")
    has = codes.rows(table.frame["key"].tolist(), clause.value)
    return ~has if clause.name == "uncoded" or clause.sign == "!=" else has


def _has_class(clause: Clause, table: Table) -> np.ndarray:
    true, said = table.true, table.said
    has = {"truth": true, "said": said, "missed": true & ~said, "invented": said & ~true}[clause.name]
    found: np.ndarray = ~has.any(1) if clause.value == NOTHING else has[:, table.classes.index(clause.value)]
    return found


def _between(clause: Clause, values: pd.Series) -> np.ndarray:
    low, high = _range(clause)
    sign = clause.sign
    if sign in _EQUAL:
        found = (values >= low) & (values <= high)
    else:
        found = {"<": values.lt, "<=": values.le, ">": values.gt, ">=": values.ge}[sign](low)
    return found.to_numpy(bool)


def _is_range(clause: Clause) -> bool:
    low, dots, high = clause.value.partition(RANGE)
    return bool(dots) and _number(low) is not None and _number(high) is not None


def _range(clause: Clause) -> tuple[float, float]:
    """Both ends; the same twice of a single number."""
    low, dots, high = clause.value.partition(RANGE)
    ends = _number(low), _number(high if dots else low)
    if ends[0] is None or ends[1] is None or (dots and clause.sign not in _EQUAL):
        raise InputError(
            f"--where {clause}: {clause.value!r} is no number; write {clause.name}<0.2, or {clause.name}=0.1{RANGE}0.2 "
            "for all between"
        )
    if ends[0] > ends[1]:
        raise InputError(f"--where {clause}: the range ends before it begins")
    return ends[0], ends[1]


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if np.isfinite(found) else None


def _numbers(table: Table, name: str) -> pd.Series:
    """A column as numbers; missing where it holds none."""
    return pd.to_numeric(table.frame[name], errors="coerce").astype(float)


def _written(column: pd.Series) -> pd.Series:
    """A column as a person reads it: whole numbers without a point, nothing for what is missing."""
    if pd.api.types.is_float_dtype(column):
        return column.map(lambda value: f"{value:.15g}", na_action="ignore").astype(object).fillna("").astype(str)
    return column.astype(object).where(column.notna(), "").astype(str)
