"""Codes and notes that authors gave to the rows of a data set, and Cohen's κ between two authors."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from core.error_analysis.annotation_store import has_name, match_name, name_author
from core.evaluation.intervals import LEVEL
from core.exceptions import InputError


@dataclass(frozen=True)
class Code:
    """An annotation code of a codebook: its name, digit key, definition and example."""

    name: str
    place: int  # its digit key; 0: none
    definition: str
    example: str


@dataclass(frozen=True)
class Annotations:
    """The codes and notes of the rows of a data set, by one author or by all authors."""

    book: tuple[Code, ...]  # codes with a digit key by digit, then the others by name
    given: Mapping[str, Mapping[str, tuple[str, ...]]]  # row key → author → codes, sorted
    notes: Mapping[str, Mapping[str, str]]  # row key → author → note

    @property
    def authors(self) -> tuple[str, ...]:
        """Return the authors who have coded at least one row, sorted."""
        return tuple(sorted({author for each in self.given.values() for author in each}))

    def get_codes(self, key: str) -> tuple[str, ...]:
        """Return the annotation codes that any author gave to a row, sorted."""
        return tuple(sorted(self._collect_codes(key)))

    def count_codes(self, keys: Iterable[str]) -> Counter[str]:
        """Count, for each annotation code, the rows among `keys` to which any author gave it."""
        return Counter(code for key in keys for code in self._collect_codes(key))

    def select_author(self, author: str) -> "Annotations":
        """Return only the annotation codes and notes of one author."""
        return self._filter_entries(lambda key, who: who == author)

    def filter_visible(self, author: str) -> "Annotations":
        """Return the annotations an author may see: others' codes of a row only after this author has coded it."""
        coded, others = _split_annotated(self.given, author)
        noted, _ = _split_annotated(self.notes, author)
        if not (has_name(author) or coded or noted):
            return self
        seen = coded | (noted - others)
        return self._filter_entries(lambda key, who: who == author or key in seen)

    def match_code(self, keys: Sequence[str], code: str = "") -> np.ndarray:
        """Return (n,) bool: which rows have an annotation code, or any if empty; InputError for an unknown code."""
        names = [each.name for each in self.book]
        name = match_name(code, names)
        if code and not name:
            raise InputError(f"no code {code!r:.80}; the codes are: {', '.join(names) or 'none yet'}")
        has: Container[str] = self._having.get(name, ()) if name else self.given
        return np.array([key in has for key in keys], bool)

    def match_notes(self, keys: Sequence[str]) -> np.ndarray:
        """Return (n,) bool: which rows have a note by any author."""
        return np.array([key in self.notes for key in keys], bool)

    def count_hidden(self, seen: "Annotations", keys: Iterable[str]) -> int:
        """Count the rows with annotations that are hidden from a user, who may see only those in `seen`."""
        return sum(
            len(self.given.get(key, {})) > len(seen.given.get(key, {}))
            or len(self.notes.get(key, {})) > len(seen.notes.get(key, {}))
            for key in keys
        )

    @cached_property
    def _having(self) -> Mapping[str, set[str]]:
        """Return the row keys of each annotation code, as code → keys; cached, since codes are looked up often."""
        found: dict[str, set[str]] = {}
        for key, each in self.given.items():
            for codes in each.values():
                for code in codes:
                    found.setdefault(code, set()).add(key)
        return found

    def _collect_codes(self, key: str) -> set[str]:
        return {code for codes in self.given.get(key, {}).values() for code in codes}

    def _filter_entries(self, told: Callable[[str, str], bool]) -> "Annotations":
        given = {key: {who: codes for who, codes in each.items() if told(key, who)} for key, each in self.given.items()}
        notes = {key: {who: text for who, text in each.items() if told(key, who)} for key, each in self.notes.items()}
        return Annotations(
            self.book,
            {key: each for key, each in given.items() if each},
            {key: each for key, each in notes.items() if each},
        )


NOTHING = Annotations((), {}, {})


def _split_annotated(said: Mapping[str, Mapping[str, object]], author: str) -> tuple[set[str], set[str]]:
    """Return the keys of the rows that an author has annotated, and of those that other authors have."""
    own = {key for key, each in said.items() if author in each}
    return own, {key for key, each in said.items() if set(each) - {author}}


class Kappa(NamedTuple):
    """Cohen's κ and its 95 % interval; None where both raters always give the same single label."""

    value: float | None
    interval: tuple[float, float] | None


def compute_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Kappa:
    """Compute Cohen's κ (1960) of two raters of n rows, with the interval of Fleiss, Cohen and Everitt (1969)."""
    kinds = {each: place for place, each in enumerate(dict.fromkeys((*first, *second)))}
    table = np.zeros((len(kinds), len(kinds)))
    np.add.at(table, ([kinds[each] for each in first], [kinds[each] for each in second]), 1.0)
    return _compute_from_table(table)


def _compute_from_table(table: np.ndarray) -> Kappa:
    """Compute Cohen's κ of a contingency table: labels of the first rater in rows, of the second in columns."""
    n = table.sum()
    shares = table / max(1, n)
    rows, columns = shares.sum(1), shares.sum(0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    if chance >= 1 or not n:
        return Kappa(None, None)
    kappa = (observed - chance) / (1 - chance)
    sums = rows[None, :] + columns[:, None]  # cell (i, j): how often the first rater gives j plus the second gives i
    agreed = (np.diag(shares) * (1 - (rows + columns) * (1 - kappa)) ** 2).sum()
    apart = (1 - kappa) ** 2 * ((shares * sums**2).sum() - (np.diag(shares) * np.diag(sums) ** 2).sum())
    spread = agreed + apart - (kappa - chance * (1 - kappa)) ** 2
    half = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    half *= math.sqrt(max(0.0, spread) / n) / (1 - chance)
    return Kappa(kappa, (max(-1.0, kappa - half), min(1.0, kappa + half)))


def compare_authors(coded: Annotations, first: str, second: str, keys: Sequence[str]) -> dict[str, Any]:
    """Compare two authors' annotation codes on the rows that both coded; InputError if one has coded nothing.

    Returns:
        `first` and `second`; `n` rows that both have coded; `same`, rows with exactly the same codes; `kappa` and its
        95 % `interval`, where all codes of a row form one label; `codes`: for each `code` that either gave, the rows of
        the `first`, the `second` and `both`, with its `kappa` and `interval`; `apart`: the `key` of each row that they
        coded differently, with the codes of the `first` and the `second`.
    """
    authors = coded.authors
    for author in (first, second):
        if author not in authors:
            others = ", ".join(map(name_author, authors)) or "none"
            raise InputError(f"{name_author(author)} has coded nothing; coded have: {others}")
    both = [key for key in keys if first in (said := coded.given.get(key, {})) and second in said]
    ours, theirs = ([coded.given[key][author] for key in both] for author in (first, second))
    whole = compute_kappa(ours, theirs)
    one, other = (Counter(code for codes in each for code in codes) for each in (ours, theirs))
    same = Counter(code for a, b in zip(ours, theirs, strict=True) for code in a if code in b)
    codes = []
    for name in sorted({*one, *other}):
        a, b, shared = one[name], other[name], same[name]
        table = np.array([[shared, a - shared], [b - shared, len(both) - a - b + shared]], float)
        codes.append({"code": name, "first": a, "second": b, "both": shared, **_to_dict(_compute_from_table(table))})
    apart = [
        {"key": key, "first": list(a), "second": list(b)}
        for key, a, b in zip(both, ours, theirs, strict=True)
        if a != b
    ]
    return {
        "first": first,
        "second": second,
        "n": len(both),
        "same": len(both) - len(apart),
        **_to_dict(whole),
        "codes": codes,
        "apart": apart,
    }


def _to_dict(found: Kappa) -> dict[str, Any]:
    return {"kappa": found.value, "interval": None if found.interval is None else list(found.interval)}
