"""Lexicons as they come: vaderSentiment's own file, and tables of words with a polarity.

A table is a UTF-8 text with one header line, its columns separated by tabs, commas or semicolons, quoted as in CSV:

    term, score            -5 to 5      AFINN
    term, mean             -4 to 4      VADER
    word, word_root, polarity  -2 to 2  KNU SentiLex (the root is not read)
    word, polarity         -1 to 1      opinion lexicon, and any other
    word, polarity, aspect_polarity, intensity          annotations, as those of CARBD-ko

The word (or phrase) stands in a column `word`, `term` or `phrase`; further columns are left alone. Annotations have one
row per occurrence: polarity and aspect_polarity -1, 0 or 1 (an empty aspect is the polarity itself), intensity from 0
up (empty: 0). A word that stands in several rows gets what all of them say, added up.
"""

from __future__ import annotations

import csv
import importlib.util
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from core.exceptions import DataError, InputError, NotAvailable
from core.paths import regular_bytes, resolve

VADER = "vader"
WORD_COLUMNS = ("word", "term", "phrase")
SCALES = {"score": 5.0, "mean": 4.0, "polarity": 1.0}
"""Column that holds the valence → its largest value."""
KNU_SCALE = 2.0
LARGEST = 64 * 1024**2
"""Bytes of a lexicon: a million words."""
NEUTRAL_BELOW = 0.05
"""A valence nearer to 0 counts as neutral."""

Counts = tuple[float, ...]
"""For positive, neutral, negative; of several lexicons one after another."""


class Entry(NamedTuple):
    """One row."""

    word: str
    """A word, a phrase or an emoticon, as it stands there."""
    counts: Counts


def read_lexicon(name: str) -> list[Entry]:
    """The rows of `vader` or of a file.

    Raises:
        DataError: names file, row and column of what cannot be used.
        NotAvailable: the package with VADER's lexicon is missing.
    """
    if name == VADER:
        return list(_vader())
    try:
        text = regular_bytes(resolve(name, limit=LARGEST), LARGEST).decode("utf-8-sig")
    except InputError as error:
        why = str(error).removeprefix(f"{name}: ")
        raise DataError(f"the lexicon cannot be read: {why}; text.lexicon is '{VADER}' or a file", file=name) from None
    except UnicodeDecodeError as error:
        raise DataError(f"is no UTF-8 text (byte {error.start + 1})", file=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"the lexicon cannot be read: {reason}; text.lexicon is '{VADER}' or a file", file=name
        ) from None
    entries = list(_table(text, name))
    if not entries:
        raise DataError("the lexicon has a header and no rows", file=name)
    return entries


def counts_of(valence: float) -> Counts:
    """(1 + |s|) times the one-hot vector of the sign of s, a valence between -1 and 1."""
    return added(_one_hot(0.0 if abs(valence) < NEUTRAL_BELOW else valence), 1 + abs(valence))


def annotated(polarity: float, aspect: float, intensity: float) -> Counts:
    """One-hot polarity plus intensity times one-hot aspect polarity (Jang, Kim and Shin, total sentiment)."""
    first, second = _one_hot(polarity), added(_one_hot(aspect), intensity)
    return (first[0] + second[0], first[1] + second[1], first[2] + second[2])


def added(counts: Counts, factor: float) -> Counts:
    """Counts times a number."""
    return (counts[0] * factor, counts[1] * factor, counts[2] * factor)


def _one_hot(sign: float) -> Counts:
    return (float(sign > 0), float(sign == 0), float(sign < 0))


def _vader() -> Iterator[Entry]:
    """The file inside vaderSentiment: term, mean, deviation and ratings between tabs, no header, no quoting."""
    spec = importlib.util.find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise NotAvailable("text.lexicon=vader needs the package vaderSentiment: pip install vaderSentiment")
    path = Path(next(iter(spec.submodule_search_locations))) / "vader_lexicon.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            term, mean, *_ = line.split("\t")
            yield Entry(term, counts_of(float(mean) / SCALES["mean"]))


def _table(text: str, file: str) -> Iterator[Entry]:
    lines = text.splitlines()
    head = lines[0] if lines else ""
    rows = csv.reader(lines, delimiter=next((each for each in "\t,;" if each in head), "\t"))
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        word = next((name for name in WORD_COLUMNS if name in header), None)
        value = next((name for name in SCALES if name in header), None)
        if word is None or value is None:
            raise DataError(
                f"a lexicon begins with a line that names its columns: one of {', '.join(WORD_COLUMNS)}, and one of "
                f"{', '.join(SCALES)}; here it is {head[:80]!r}",
                file=file,
            )
        for number, row in enumerate((row for row in rows if row), start=1):
            if len(row) != len(header):
                raise DataError(f"{len(row)} columns where the header names {len(header)}", file=file, row=number)
            yield _entry(dict(zip(header, row, strict=True)), word, value, _Place(file, number))
    except csv.Error as error:
        raise DataError(f"is no readable table: {error}", file=file, row=rows.line_num - 1) from None


class _Place(NamedTuple):
    file: str
    row: int

    def number(self, cells: Mapping[str, str], field: str, low: float, high: float) -> float:
        try:
            found = float(cells[field])
        except ValueError:
            found = math.nan
        if not low <= found <= high or math.isinf(found):
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"from {low:g} up"
            raise DataError(f"a number {bounds} was expected, not {cells[field][:40]!r}", **self._asdict(), field=field)
        return found

    def sign(self, cells: Mapping[str, str], field: str) -> float:
        found = self.number(cells, field, -1, 1)
        if found not in (-1, 0, 1):
            raise DataError(f"-1, 0 or 1 was expected, not {cells[field][:40]!r}", **self._asdict(), field=field)
        return found


def _entry(cells: Mapping[str, str], word: str, value: str, place: _Place) -> Entry:
    name = cells[word].strip()
    if not name:
        raise DataError("the word is missing", **place._asdict(), field=word)
    if "aspect_polarity" in cells:
        polarity = place.sign(cells, value)
        aspect = place.sign(cells, "aspect_polarity") if cells["aspect_polarity"].strip() else polarity
        given = cells.get("intensity", "").strip()
        return Entry(name, annotated(polarity, aspect, place.number(cells, "intensity", 0, math.inf) if given else 0.0))
    scale = KNU_SCALE if value == "polarity" and "word_root" in cells else SCALES[value]
    return Entry(name, counts_of(place.number(cells, value, -scale, scale) / scale))
