"""Codes: what a reader says of a sentence, from a codebook of the data set, one to nine of it under the digits.

A coding belongs to the sentence (the data set's name, and the row's `key` of `core.failures.table`) and its author, and
names the run it was looked at. So what one has read of a model's errors is there for the next model on the same
sentences: reading is the costly part, and "what became of the errors that were irony?" needs both. Neither another
seed, another cut into splits nor a corrected label takes a code away. How often a code stands is asked of the rows of
one run (`core.failures.rates`), so runs stay apart where they have to.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.exceptions import InputError
from core.failures.ledger import Change, Ledger, now
from core.paths import ELSEWHERE
from core.runs.record import RunRecord

KEYS = tuple(range(1, 10))
"""The digits that give a code."""
LONGEST = 60
"""Characters of the name of a code, and of an author."""
LONGEST_TEXT = 4000
"""Of a definition, an example and a note."""
SEPARATOR = ";"
"""Between the codes of a row in a file, so in no name."""


@dataclass(frozen=True)
class Code:
    """An entry of a codebook."""

    name: str
    place: int
    """Its digit; 0: none."""
    definition: str
    example: str


@dataclass(frozen=True)
class Coded:
    """What was said of the rows of a data set, by one author or by all."""

    book: tuple[Code, ...]
    """The codebook: those with a digit by it, then the others by name."""
    given: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Key of a row → author → codes, in the order of the alphabet."""
    notes: Mapping[str, Mapping[str, str]]
    """Key of a row → author → note."""
    times: Mapping[tuple[str, str], str]
    """(key, author) → when the last of it was written."""

    @property
    def authors(self) -> tuple[str, ...]:
        """Who has given a code."""
        return tuple(sorted({author for each in self.given.values() for author in each}))

    def of(self, key: str) -> tuple[str, ...]:
        """The codes of a row, by whomever."""
        return tuple(sorted({code for codes in self.given.get(key, {}).values() for code in codes}))

    def by(self, author: str) -> Coded:
        """What one author said."""
        given = {key: {author: each[author]} for key, each in self.given.items() if author in each}
        notes = {key: {author: each[author]} for key, each in self.notes.items() if author in each}
        return Coded(self.book, given, notes, {name: time for name, time in self.times.items() if name[1] == author})

    def seen_by(self, author: str) -> Coded:
        """What an author may see: codes of others are hidden until every row that they have coded is coded.

        So are their notes, and until something is said of every row that they have a note on: a code or a note.
        Whoever has no name and has said nothing reads, and sees all.
        """
        coded, others_coded = _told(self.given, author)
        noted, others_noted = _told(self.notes, author)
        if not (author or coded or noted):
            return self
        if not others_coded <= coded:
            return self.by(author)
        return self if others_noted <= coded | noted else replace(self, notes=self.by(author).notes)

    def rows(self, keys: Sequence[str], code: str = "") -> np.ndarray:
        """(n,) bool: which of these rows have a code; without one, which have any.

        Raises:
            InputError: the codebook has no such code.
        """
        if code and code not in (names := [each.name for each in self.book]):
            raise InputError(f"no code {code!r:.80}; the codes are: {', '.join(names) or 'none yet'}")
        has = {key for key in self.given if not code or code in self.of(key)}
        return np.array([key in has for key in keys], bool)

    def noted(self, keys: Sequence[str]) -> np.ndarray:
        """(n,) bool: which of these rows have a note."""
        return np.array([key in self.notes for key in keys], bool)


def _told(said: Mapping[str, Mapping[str, Any]], author: str) -> tuple[set[str], set[str]]:
    """The rows of which an author said something, and those of which others did."""
    own = {key for key, each in said.items() if author in each}
    return own, {key for key, each in said.items() if set(each) - {author}}


class Codes:
    """The codebook of a data set and what was said with it."""

    def __init__(self, folder: Path, data: str) -> None:
        """Of a folder of runs.

        Args:
            folder: of the runs.
            data: as `data_of` names it.
        """
        self.ledger, self.data = Ledger(folder), data

    def book(self) -> list[Code]:
        """Its codes: those with a digit by it, then the others by name."""
        found = [Code(**_without(row)) for row in self.ledger.rows("codes", data=self.data)]
        return sorted(found, key=lambda code: (code.place or len(KEYS) + 1, code.name.casefold()))

    def coded(self, author: str | None = None) -> Coded:
        """What is said of the rows; None: by everybody."""
        where = {"data": self.data} | ({} if author is None else {"author": author})
        given: dict[str, dict[str, tuple[str, ...]]] = {}
        notes: dict[str, dict[str, str]] = {}
        times: dict[tuple[str, str], str] = {}
        for row in self.ledger.rows("codings", **where):
            own = given.setdefault(row["key"], {})
            own[row["author"]] = (*own.get(row["author"], ()), row["code"])
            times[row["key"], row["author"]] = max(row["time"], times.get((row["key"], row["author"]), ""))
        for row in self.ledger.rows("notes", **where):
            notes.setdefault(row["key"], {})[row["author"]] = row["text"]
            times[row["key"], row["author"]] = max(row["time"], times.get((row["key"], row["author"]), ""))
        return Coded(tuple(self.book()), given, notes, times)

    def add(
        self, name: str, definition: str = "", example: str = "", place: int | None = None, author: str = ""
    ) -> Code:
        """A new code, under the first free digit if none is named.

        Raises:
            InputError: there is one of this name, the name is none, or the digit is taken.
        """
        name, author = code_name(name), author_name(author)
        with self.ledger.changing(self.data, author, f"code {name} added") as change:
            book = change.rows("codes", data=self.data)
            if any(row["name"].casefold() == name.casefold() for row in book):
                raise InputError(f"there is a code {name!r} already")
            digit = _free(book) if place is None else _place(place, name, book)
            code = Code(name, digit, sound_text(definition), sound_text(example))
            change.put("codes", {"data": self.data, **vars(code)})
        return code

    def add_names(self, change: Change, names: Iterable[str]) -> None:
        """Those of these codes that the book lacks, without a definition, within a change."""
        for name in names:
            book = change.rows("codes", data=self.data)
            if not any(row["name"] == name for row in book):
                row = {"data": self.data, "name": name, "place": _free(book), "definition": "", "example": ""}
                change.put("codes", row)

    def edit(
        self,
        name: str,
        *,
        to: str = "",
        definition: str | None = None,
        example: str | None = None,
        place: int | None = None,
        author: str = "",
    ) -> Code:
        """Another name (`to`), definition, example or digit; the rows that have the code keep it.

        Raises:
            InputError: no such code, the new name is another's or none, or the digit is taken.
        """
        author = author_name(author)
        new = code_name(to) if to else name
        with self.ledger.changing(self.data, author, f"code {name} edited") as change:
            book = change.rows("codes", data=self.data)
            old = self._row(book, name)
            if any(row["name"].casefold() == new.casefold() for row in book if row != old):
                raise InputError(f"there is a code {new!r} already; `codes merge` makes two codes one")
            given = {"definition": definition, "example": example}
            texts = {key: sound_text(value) for key, value in given.items() if value is not None}
            digit = old["place"] if place is None else _place(place, name, book)
            row = {**old, **texts, "name": new, "place": digit}
            if new != name:
                change.drop("codes", old)
                self._move(change, name, new)
            change.put("codes", row)
        return Code(**_without(row))

    def remove(self, name: str, author: str = "") -> None:
        """Take a code out that no row has.

        Raises:
            InputError: no such code, or rows have it.
        """
        with self.ledger.changing(self.data, author_name(author), f"code {name} removed") as change:
            row = self._row(change.rows("codes", data=self.data), name)
            if change.rows("codings", data=self.data, code=name):
                raise InputError(f"code {name!r}: sentences have it; merge it into another, then it is gone")
            change.drop("codes", row)

    def code(self, keys: Iterable[str], codes: Collection[str], *, author: str = "", run: str = "") -> None:
        """Let rows have exactly these codes of an author; without any they are uncoded again.

        Raises:
            InputError: no such code.
        """
        said = ", ".join(sorted(set(codes))) or "no code"
        self._each(keys, codes, said, author, run, lambda own, wanted: wanted)

    def give(
        self, keys: Iterable[str], codes: Collection[str], *, off: bool = False, author: str = "", run: str = ""
    ) -> None:
        """Give rows these codes besides those that the author gave them, or with `off` take these from them.

        Raises:
            InputError: no such code.
        """
        said = ", ".join(sorted(set(codes))) + " taken off" * off
        self._each(keys, codes, said, author, run, lambda own, wanted: own - wanted if off else own | wanted)

    def _each(
        self,
        keys: Iterable[str],
        codes: Collection[str],
        said: str,
        author: str,
        run: str,
        after: Callable[[set[str], set[str]], set[str]],
    ) -> None:
        """Change the codes that an author gave each of these rows, from those that it has and those that are named."""
        author, keys, wanted = author_name(author), tuple(keys), set(codes)
        with self.ledger.changing(self.data, author, f"{said}: {_rows_said(keys)}") as change:
            book = change.rows("codes", data=self.data)
            for name in sorted(wanted):
                self._row(book, name)
            for key in keys:
                own = {row["code"] for row in change.rows("codings", data=self.data, key=key, author=author)}
                self.set_codes(change, key, author, after(own, wanted), run)

    def set_codes(self, change: Change, key: str, author: str, wanted: Collection[str], run: str) -> None:
        """The codes of a row by an author, within a change."""
        own = {"data": self.data, "key": key, "author": author}
        before = {row["code"]: row for row in change.rows("codings", **own)}
        for name, row in before.items():
            if name not in wanted:
                change.drop("codings", row)
        for name in sorted(wanted):
            if name not in before:
                change.put("codings", {**own, "code": name, "run": run, "time": now()})

    def note(self, key: str, text: str, *, author: str = "", run: str = "") -> None:
        """The note of a row by an author; empty: none any more."""
        author = author_name(author)
        with self.ledger.changing(self.data, author, f"note: {_rows_said((key,))}") as change:
            self.set_note(change, key, author, sound_text(text), run)

    def set_note(self, change: Change, key: str, author: str, text: str, run: str) -> None:
        """The note of a row by an author, within a change."""
        own = {"data": self.data, "key": key, "author": author}
        before = next(iter(change.rows("notes", **own)), None)
        if not text:
            change.drop("notes", own)
        elif before is None or before["text"] != text:
            change.put("notes", {**own, "text": text, "run": run, "time": now()})

    def merge(self, names: Collection[str], into: str, author: str = "") -> int:
        """Make codes one: whatever has one of `names` has `into`, which may be new or one of them; how many rows.

        Raises:
            InputError: no such code, or nothing to merge.
        """
        into, author = code_name(into), author_name(author)
        gone = sorted(set(names) - {into})
        if not gone:
            raise InputError(f"merge at least one other code into {into!r}")
        with self.ledger.changing(self.data, author, f"{', '.join(gone)} merged into {into}") as change:
            book = change.rows("codes", data=self.data)
            old = [self._row(book, name) for name in gone]
            for row in old:
                change.drop("codes", row)
            if not any(row["name"] == into for row in book):
                change.put("codes", {**old[0], "name": into})
            return len({key for name in gone for key in self._move(change, name, into)})

    def split(self, name: str, into: str, keys: Collection[str], author: str = "") -> int:
        """Give those of `keys` that have a code another one in its place, new or not; how many rows.

        Raises:
            InputError: no such code, it is the same one, or none of the rows has it.
        """
        into, author, wanted = code_name(into), author_name(author), set(keys)
        if into == name:
            raise InputError(f"split {name!r} into a code of another name")
        with self.ledger.changing(self.data, author, f"{into} split from {name}") as change:
            book = change.rows("codes", data=self.data)
            self._row(book, name)
            self.add_names(change, [into])
            moved = self._move(change, name, into, wanted)
            if not moved:
                raise InputError(f"no row of the selection has the code {name!r}; select some that have it")
            return len(moved)

    def undo(self, author: str = "") -> dict[str, Any]:
        """Take back the author's last change of this codebook, its codings or notes; see `Ledger.undo`."""
        return self.ledger.undo(self.data, author_name(author))

    def _move(self, change: Change, name: str, into: str, keys: Collection[str] | None = None) -> list[str]:
        """Codings under another name, of some rows or of all; the keys of those that were moved."""
        found = change.rows("codings", data=self.data, code=name)
        moved = [row for row in found if keys is None or row["key"] in keys]
        for row in moved:
            change.drop("codings", row)
            if not change.rows("codings", data=self.data, key=row["key"], author=row["author"], code=into):
                change.put("codings", {**row, "code": into})
        return [row["key"] for row in moved]

    def _row(self, book: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
        for row in book:
            if row["name"] == name:
                return row
        known = ", ".join(row["name"] for row in book) or "there are none yet: `sentiscope codes add` makes one"
        raise InputError(f"no code {name!r:.80} for {self.data}; the codes are: {known}")


def data_of(record: RunRecord) -> str:
    """What codes of a run's sentences are kept under: the name of its data set, of a file that of the file.

    Not a digest: a corrected or a longer file of the same name is the same study, and its sentences keep their keys.
    """
    return Path(record.config.data.name.removeprefix(ELSEWHERE)).name


def author_name(author: str) -> str:
    """An author as kept; empty: whoever gives no name.

    Raises:
        InputError: it is too long.
    """
    return _line(author, "author") if author.strip() else ""


def code_name(name: str, what: str = "code") -> str:
    """The name of a code, or of something else that stands in lists, as kept.

    Raises:
        InputError: it is none.
    """
    found = _line(name, what)
    if not found or SEPARATOR in found:
        raise InputError(f"{what} {name!r:.80}: a name of one line without {SEPARATOR!r}, which stands between codes")
    return found


def _line(text: str, what: str) -> str:
    found = unicodedata.normalize("NFC", " ".join(_sound(text).split()))
    if len(found) > LONGEST:
        raise InputError(f"{what} {found[:30]!r}…: at most {LONGEST} characters")
    return found


def sound_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """A definition, example or note as kept.

    Raises:
        InputError: it is too long.
    """
    found = _sound(text).strip()
    if len(found) > longest:
        raise InputError(f"{found[:30]!r}…: at most {longest} characters, these are {len(found)}")
    return found


def _sound(text: str) -> str:
    """Without halves of characters and NUL, which no file can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _place(place: int, name: str, book: Sequence[Mapping[str, Any]]) -> int:
    if place not in (0, *KEYS):
        raise InputError(f"code {name!r}: its key is a digit from 1 to 9, or 0 for none")
    for row in book:
        if place and row["place"] == place and row["name"] != name:
            raise InputError(f"key {place} is that of the code {row['name']!r}; give that one another first")
    return place


def _free(book: Sequence[Mapping[str, Any]]) -> int:
    """The first digit that no code has; 0: all have one."""
    return next((digit for digit in KEYS if all(row["place"] != digit for row in book)), 0)


def _without(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "data"}


def _rows_said(keys: Sequence[str]) -> str:
    return f"row {keys[0]}" if len(keys) == 1 else f"{len(keys)} rows"
