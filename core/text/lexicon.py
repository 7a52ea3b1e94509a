"""Sentiment lexicons: file formats, and positive, neutral and negative shares of a token (a third each if not listed).

Total sentiment of Jang, Kim and Shin: lambda_k = (c_k + 1) / (sum of c + 3), c the counts of all entries of a token.

A file is a UTF-8 table with one header line and columns separated by tabs, commas or semicolons, quoted as in CSV, or a
JSON list of objects with these keys:

    term, score            -5 to 5      AFINN
    term, mean             -4 to 4      VADER
    word, word_root, polarity  -2 to 2  KNU SentiLex (the root is not read)
    word, polarity         -1 to 1      opinion lexicon, and any other
    word, polarity, aspect_polarity, intensity          annotations, as those of CARBD-ko

AFINN and VADER are also recognised without a header; lines at the start that begin with `;` are comments. Annotations
have one row per occurrence: polarity and aspect_polarity are -1, 0 or 1 (an empty aspect equals the polarity), and
intensity is at least 0 (empty: 0). The counts of a word in several rows are summed.
"""

import csv
import importlib.util
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.exceptions import DataError, InputError, NotAvailable
from core.paths import read_regular
from core.paths import resolve_path as resolve_path
from core.text.config import TextConfig
from core.text.normalization import prepare, replace_lookalikes
from core.text.words import is_bare_mark, split_words

VADER = "vader"
WORD_COLUMNS = ("word", "term", "phrase")
SCALES = {"score": 5.0, "mean": 4.0, "polarity": 1.0}  # Column that holds the valence → its largest value
KNU_SCALE = 2.0
LARGEST = 64 * 1024**2  # Bytes of a lexicon, at most: a million words
_LOOKED_AT = 200
_WHOLE = re.compile(r"[+-]?\d{1,3}")
_RATINGS = re.compile(r"\[[-\d, ]*\]")
NEUTRAL_BELOW = 0.05  # A valence closer to 0 counts as neutral

Counts = tuple[float, ...]  # Counts for positive, neutral and negative, for each lexicon in order


class LexiconEntry(NamedTuple):
    """An entry of a sentiment lexicon: a word or phrase, and its polarity counts."""

    word: str  # A word, a phrase or an emoticon, as in the file
    counts: Counts


def read_lexicon(name: str) -> list[LexiconEntry]:
    """Read the lexicon `vader`, or a lexicon file; unusable entries are reported with file, row and column."""
    if name == VADER:
        return list(_read_vader())
    try:
        text = read_regular(resolve_path(name, limit=LARGEST), LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"is no UTF-8 text (byte {error.start + 1})", file=name) from None
    except (InputError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).removeprefix(f"{name}: ")
        raise DataError(f"the lexicon cannot be read: {why}; text.lexicon is '{VADER}' or a file", file=name) from None
    if text.lstrip().startswith(("[", "{")):
        entries = list(_read_objects(text, name))
    else:
        lines = list(itertools.dropwhile(lambda line: line.startswith(";") or not line.strip(), text.splitlines()))
        value = _detect_scale(lines)
        entries = list(_read_plain_rows(lines, value, name) if value else _read_table(lines, name))
    if not entries:
        raise DataError("the lexicon has a header and no rows", file=name)
    return entries


def convert_valence(valence: float) -> Counts:
    """Convert a word's valence s, from -1 to 1, to polarity counts: (1 + |s|) times the one-hot vector of its sign."""
    return _encode_sign(0.0 if abs(valence) < NEUTRAL_BELOW else valence, 1 + abs(valence))


def _encode_sign(sign: float, strength: float = 1.0) -> Counts:
    return (strength * (sign > 0), strength * (sign == 0), strength * (sign < 0))


def _read_vader() -> Iterator[LexiconEntry]:
    """Read the lexicon of vaderSentiment: tab-separated term, mean, deviation and ratings, no header or quoting."""
    spec = importlib.util.find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise NotAvailable("text.lexicon=vader needs the package vaderSentiment: pip install vaderSentiment")
    path = Path(next(iter(spec.submodule_search_locations))) / "vader_lexicon.txt"
    return _read_plain_rows(path.read_text(encoding="utf-8").splitlines(), "mean", VADER)


def _read_plain_rows(lines: Iterable[str], value: str, file: str) -> Iterator[LexiconEntry]:
    """Read lexicon entries from tab-separated words and valences; further columns are ignored."""
    for number, line in enumerate(filter(str.strip, lines), start=1):
        word, valence, *_ = [*line.split("\t"), ""]
        yield _parse_entry({"word": word, value: valence}, "word", value, _Place(file, number))


def _detect_scale(lines: list[str]) -> str:
    """Return the scale (a key of `SCALES`) of AFINN or VADER, recognised without a header; empty for other lexicons."""
    rows = [line.split("\t") for line in lines if line.strip()][:_LOOKED_AT]
    if rows and all(len(row) == 4 and _RATINGS.fullmatch(row[3].strip()) for row in rows):
        return "mean"
    whole = [int(row[1]) for row in rows if len(row) == 2 and _WHOLE.fullmatch(row[1].strip())]
    return "score" if rows and len(whole) == len(rows) and 1 < max(map(abs, whole)) <= SCALES["score"] else ""


def _read_objects(text: str, file: str) -> Iterator[LexiconEntry]:
    try:
        rows = json.loads(text, object_pairs_hook=_build_object)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no valid JSON: {str(error)[:100]}", file=file) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        what = "a list" if isinstance(rows, list) else "an object"
        raise DataError(f"is JSON of {what} of {len(rows)}; a lexicon is a list of objects, one for a word", file=file)
    for number, row in enumerate(rows, start=1):
        cells = {key: str(cell) for key, cell in row.items()}
        word, value = _find_columns(cells, json.dumps(row, ensure_ascii=False), file)
        yield _parse_entry(cells, word, value, _Place(file, number))


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from a JSON object, with lower-case keys; refuse a repeated key, as a value would be lost."""
    found = {key.strip().lower(): cell for key, cell in pairs}
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _find_columns(names: Iterable[str], head: str, file: str) -> tuple[str, str]:
    word = next((name for name in WORD_COLUMNS if name in names), None)
    value = next((name for name in SCALES if name in names), None)
    if word is None or value is None:
        names = f"one of {', '.join(WORD_COLUMNS)}, and one of {', '.join(SCALES)}; here it is {head[:80]!r}"
        raise DataError(f"a lexicon begins with a line that names its columns: {names}", file=file)
    return word, value


def _read_table(lines: list[str], file: str) -> Iterator[LexiconEntry]:
    head = lines[0] if lines else ""
    delimiter = next((each for each in "\t,;" if each in head), "\t")
    if len(lines) > 1 and not any(delimiter in line for line in lines[:_LOOKED_AT]):
        what = "words without polarities; a lexicon has a column of words and one of their polarity"
        raise DataError(f"a list of {len(lines)} {what}", file=file)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        word, value = _find_columns(header, head, file)
        for number, row in enumerate((row for row in rows if row), start=1):
            if len(row) != len(header):
                raise DataError(f"{len(row)} columns where the header names {len(header)}", file=file, row=number)
            place = _Place(file, number, "" if delimiter == "," else ",")
            yield _parse_entry(dict(zip(header, row, strict=True)), word, value, place)
    except csv.Error as error:
        raise DataError(f"is no readable table: {error}", file=file, row=rows.line_num - 1) from None


class _Place(NamedTuple):
    file: str
    row: int
    comma: str = ""  # A comma if it can be the decimal point

    def make_error(self, problem: str, field: str) -> DataError:
        """Return the error for a wrong cell of a lexicon."""
        return DataError(problem, file=self.file, row=self.row, field=field)

    def parse_number(self, cells: Mapping[str, str], field: str, low: float, high: float) -> float:
        """Parse a lexicon cell as a number within bounds; DataError otherwise."""
        try:
            plain = cells[field].strip().replace("\N{MINUS SIGN}", "-")
            found = float(plain.replace(self.comma, ".") if self.comma else plain)
        except ValueError:
            found = math.nan
        if not low <= found <= high or math.isinf(found):
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"from {low:g} up"
            raise self.make_error(f"a number {bounds} was expected, not {cells[field][:40]!r}", field)
        return found

    def parse_sign(self, cells: Mapping[str, str], field: str) -> float:
        """Parse a lexicon cell as -1, 0 or 1; DataError otherwise."""
        if (found := self.parse_number(cells, field, -1, 1)) not in (-1, 0, 1):
            raise self.make_error(f"-1, 0 or 1 was expected, not {cells[field][:40]!r}", field)
        return found


def _parse_entry(cells: Mapping[str, str], word: str, value: str, place: _Place) -> LexiconEntry:
    if not (name := cells[word].strip()):
        raise place.make_error("the word is missing", word)
    if "aspect_polarity" in cells:
        polarity = place.parse_sign(cells, value)
        aspect = place.parse_sign(cells, "aspect_polarity") if cells["aspect_polarity"].strip() else polarity
        given = cells.get("intensity", "").strip()
        intensity = place.parse_number(cells, "intensity", 0, math.inf) if given else 0.0
        # One-hot polarity plus intensity times one-hot aspect polarity (Jang, Kim and Shin).
        return LexiconEntry(name, _add_counts(_encode_sign(polarity), _encode_sign(aspect, intensity)))
    scale = KNU_SCALE if value == "polarity" and "word_root" in cells else SCALES[value]
    return LexiconEntry(name, convert_valence(place.parse_number(cells, value, -scale, scale) / scale))


NEUTRAL = 1 / 3
SMOOTHING = 1.0
TRIPLE = ("positive", "neutral", "negative")


class Lexicon:
    """Words and phrases of K sentiment lexicons, normalised and lower-cased like texts, with polarity counts."""

    def __init__(self, entries: dict[str, Counts], lexicons: int = 1) -> None:
        self.entries = entries
        self.width = len(next(iter(entries.values()), (0.0,) * (3 * lexicons)))  # 3K
        self._words: dict[str, Counts] = {}
        self._phrases: dict[str, list[tuple[str, int, Counts]]] = {}
        for entry, counts in entries.items():
            words = split_words(entry)
            if len(words) == 1:
                # A single mark is no emoticon; else a lexicon that lists one would give all punctuation a polarity.
                if not is_bare_mark(entry):
                    self._words[entry] = counts
            elif words:
                self._phrases.setdefault(words[0], []).append((entry, len(words), counts))

    @classmethod
    def from_config(cls, config: TextConfig) -> "Lexicon":
        """Read the sentiment lexicons of the settings; their entries are normalised like the texts.

        An emoticon counts only if the normaliser does not change it (tweet-clean turns `:D` into `d`). Entries of one
        lexicon with the same normalised form are summed; a lexicon without an entry adds zero counts for it.
        """
        entries: dict[str, Counts] = {}
        width = 3 * len(config.lexicons)
        for place, name in enumerate(config.lexicons):
            before, behind = (0.0,) * (3 * place), (0.0,) * (width - 3 * place - 3)
            left = False
            for word, counts in read_lexicon(name):
                entry, plain = prepare(word, config).lower(), replace_lookalikes(word, config.lookalikes).lower()
                if entry and (entry == plain or re.search(r"[^\W\d_]{2}", word)):
                    entries[entry] = _add_counts(entries.get(entry, (0.0,) * width), before + counts + behind)
                    left = True
            if not left:
                raise DataError("nothing of the lexicon is left after normalising", file=name)
        return cls(entries)

    def keep_words(self, words: Set[str]) -> "Lexicon":
        """Return the lexicon without entries that contain none of the `words` (the words that a tokenizer knows)."""
        found = {entry: counts for entry, counts in self.entries.items() if words & set(split_words(entry))}
        return Lexicon(found, self.width // 3)

    def match_words(self, text: str, spans: Sequence[tuple[int, int]]) -> dict[int, Counts]:
        """Return word number → polarity counts for a text; a phrase or emoticon counts for each of its words."""
        words = [text[start:end].lower() for start, end in spans]
        found: dict[int, Counts] = {}
        for place, word in enumerate(words):
            if word in self._words:
                found[place] = _add_counts(found.get(place, (0.0,) * self.width), self._words[word])
            for entry, length, counts in self._phrases.get(word, ()):
                last = place + length - 1
                if last < len(words) and text[spans[place][0] : spans[last][1]].lower() == entry:
                    for each in range(place, last + 1):
                        found[each] = _add_counts(found.get(each, (0.0,) * self.width), counts)
        return found

    def sum_by_token(self, tokenized: Iterable[Iterable[int]], size: int) -> np.ndarray:
        """Return the polarity counts of each token id, summed over the lexicon entries that contain the token."""
        table = np.zeros((size, self.width))
        for ids, counts in zip(tokenized, self.entries.values(), strict=True):
            table[list(set(ids))] += counts
        return table

    @classmethod
    def from_state(cls, state: dict[str, Counts], lexicons: int = 1) -> "Lexicon":
        """Restore sentiment lexicons from a saved state; raise ValueError if it is damaged."""
        found = cls(dict(state), lexicons)
        for entry, counts in state.items():
            if len(counts) != found.width or found.width % 3 or not found.width:
                raise ValueError(f"the lexicon's entry {entry!r} has {len(counts)} counts")
            if not 0 <= sum(counts) < np.inf or min(counts) < 0:
                raise ValueError(f"the lexicon's entry {entry!r} has impossible counts")
        return found


def smooth_counts(counts: np.ndarray) -> np.ndarray:
    """Smooth polarity counts to shares; each lexicon's three shares sum to 1, and are a third each without counts."""
    each = counts.reshape(*counts.shape[:-1], -1, 3) if counts.size else counts
    return ((each + SMOOTHING) / (each.sum(-1, keepdims=True) + 3 * SMOOTHING)).astype(np.float32).reshape(counts.shape)


def name_triples(lexicons: int) -> tuple[str, ...]:
    """Return names for a token's polarity shares: positive, neutral, negative, numbered by lexicon if several."""
    if lexicons == 1:
        return TRIPLE
    return tuple(f"{name} {number}" for number in range(1, lexicons + 1) for name in TRIPLE)


def _add_counts(one: Counts, other: Counts) -> Counts:
    return tuple(map(sum, zip(one, other, strict=True)))
