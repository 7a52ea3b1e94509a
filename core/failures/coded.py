"""What was said of the rows of a data set, as it is looked at: codes, notes, and what of them an author may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.exceptions import InputError
from core.failures.names import found_name, has_name


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

    @property
    def authors(self) -> tuple[str, ...]:
        """Who has given a code."""
        return tuple(sorted({author for each in self.given.values() for author in each}))

    def of(self, key: str) -> tuple[str, ...]:
        """The codes of a row, by whomever."""
        return tuple(sorted(self._codes(key)))

    def count(self, keys: Iterable[str]) -> Counter[str]:
        """Code → how many of these rows have it, by whomever."""
        return Counter(code for key in keys for code in self._codes(key))

    def by(self, author: str) -> Coded:
        """What one author said."""
        return self._where(lambda key, who: who == author)

    def seen_by(self, author: str) -> Coded:
        """What an author may see: what others said of a row is hidden until this one has coded it.

        Where nobody else has coded a row, a note is enough to see notes. Whoever has no name and has said nothing
        reads, and sees all.
        """
        coded, others = _told(self.given, author)
        noted, _ = _told(self.notes, author)
        if not (has_name(author) or coded or noted):
            return self
        seen = coded | (noted - others)
        return self._where(lambda key, who: who == author or key in seen)

    def rows(self, keys: Sequence[str], code: str = "") -> np.ndarray:
        """(n,) bool: which of these rows have a code; without one, which have any.

        Raises:
            InputError: the codebook has no such code.
        """
        names = [each.name for each in self.book]
        name = found_name(code, names)
        if code and not name:
            raise InputError(f"no code {code!r:.80}; the codes are: {', '.join(names) or 'none yet'}")
        has: Container[str] = self._having.get(name, ()) if name else self.given
        return np.array([key in has for key in keys], bool)

    def noted(self, keys: Sequence[str]) -> np.ndarray:
        """(n,) bool: which of these rows have a note."""
        return np.array([key in self.notes for key in keys], bool)

    def hidden_from(self, seen: Coded, keys: Iterable[str]) -> int:
        """Of how many of these rows somebody's codes or notes are not among those that are seen."""
        return sum(
            len(self.given.get(key, {})) > len(seen.given.get(key, {}))
            or len(self.notes.get(key, {})) > len(seen.notes.get(key, {}))
            for key in keys
        )

    @cached_property
    def _having(self) -> Mapping[str, set[str]]:
        """Code → keys of the rows that have it: every code is asked for, again and again."""
        found: dict[str, set[str]] = {}
        for key, each in self.given.items():
            for codes in each.values():
                for code in codes:
                    found.setdefault(code, set()).add(key)
        return found

    def _codes(self, key: str) -> set[str]:
        return {code for codes in self.given.get(key, {}).values() for code in codes}

    def _where(self, told: Callable[[str, str], bool]) -> Coded:
        """Of these rows and authors."""
        given = {key: {who: codes for who, codes in each.items() if told(key, who)} for key, each in self.given.items()}
        notes = {key: {who: text for who, text in each.items() if told(key, who)} for key, each in self.notes.items()}
        return Coded(
            self.book,
            {key: each for key, each in given.items() if each},
            {key: each for key, each in notes.items() if each},
        )


NOTHING = Coded((), {}, {})
"""Nobody has said anything."""


def _told(said: Mapping[str, Mapping[str, object]], author: str) -> tuple[set[str], set[str]]:
    """The rows of which an author said something, and those of which others did."""
    own = {key for key, each in said.items() if author in each}
    return own, {key for key, each in said.items() if set(each) - {author}}
