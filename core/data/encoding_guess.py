"""A guess of a text's legacy encoding from how likely its letters are in the languages of each encoding.

A decoding is scored by the probabilities of its letter pairs (for Chinese, Japanese and Korean, of single characters),
estimated from a few sentences of each language (`languages.tsv`).
"""

from __future__ import annotations

import functools
import itertools
import math
import unicodedata
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from operator import itemgetter

_SAMPLE = 40_000
"""Bytes of lines with non-ASCII characters that are scored."""
_PER_BYTE = -5.5
"""Mean log-probability of a byte above 127 in a plausible decoding, at least."""
_FEW = 8
"""Up to so many bytes above 127, every decoding is plausible; a pound sign and two accents prove little."""
_RARE = dict.fromkeys(("cp850", "cp852", "cp857", "mac-cyrillic"), 4.0)
_RARE |= dict.fromkeys(("cp866", "mac-roman", "iso8859-5"), 3.0) | {"cp1258": 2.0}
_RARE |= dict.fromkeys(("iso8859-15", "iso8859-2", "iso8859-9", "koi8-u"), 1.0)
"""Penalty in nats for rare encodings."""
_MARKS = "’‘“”„–—…«»•€£°½´§©®™¿¡·\xa0、。，！？「」：；（）《》・～…＂，．"
_EURO_OR_ASCII = bytes(range(129))
_ASCII = -3.0
_MARK, _OTHER, _CONTROL, _BROKEN = -4.5, -9.5, -14.0, -25.0
_LETTERS = 120
"""Letters of its script that a language may use beyond those in its sentences."""


@dataclass(frozen=True)
class EncodingGuess:
    """A guessed encoding of a file, with its alternatives and whether it is plausible."""

    encoding: str
    others: tuple[str, ...]
    """Other possible encodings, the likeliest first."""
    per_byte: float
    """Mean log-probability of a byte above 127."""
    plausible: bool


def guess_encoding(data: bytes) -> EncodingGuess:
    """Guess the likeliest encoding of bytes that are not UTF-8."""
    sample = b"\n".join(find_non_ascii_lines(data))
    best: dict[str, tuple[float, str]] = {}
    for encoding in _load_languages():
        text = sample.decode(encoding, "replace")
        best[text] = max(best.get(text, (-math.inf, "")), (score_text(text, encoding), encoding), key=itemgetter(0))
    ranked = sorted(((*found, text) for text, found in best.items()), reverse=True)
    if not sample.translate(None, _EURO_OR_ASCII):  # the euro sign; elsewhere the byte is a capital letter
        ranked.sort(key=lambda each: each[1] != "cp1252")
    score, encoding, text = ranked[0]
    beyond = sum(byte > 127 for byte in sample)
    per_byte = score_non_ascii(text, score, beyond)
    plausible = beyond <= _FEW or per_byte > _PER_BYTE
    others = [each[1] for each in ranked[1:] if "\ufffd" not in each[2]] or [each[1] for each in ranked[1:]]
    return EncodingGuess(encoding, tuple(others[:3]), per_byte, plausible)


def score_text(text: str, encoding: str = "") -> float:
    """Return the log-likelihood (nats) of a text in the likeliest language of one encoding, or of all encodings."""
    pairs = Counter(zip(" " + text, text, strict=False))
    known = {each.name: each for name, models in _load_languages().items() if encoding in ("", name) for each in models}
    scores = (sum(n * _score_pair(*pair, model) for pair, n in pairs.items()) for model in known.values())
    return max(scores) - _RARE.get(encoding, 0.0)


def score_non_ascii(text: str, score: float, beyond: int) -> float:
    """Return the log-likelihood of a text's non-ASCII characters, divided by the number of non-ASCII bytes."""
    return (score - _ASCII * sum(character <= "\x7f" for character in text)) / max(1, beyond)


def find_non_ascii_lines(data: bytes, most: int = _SAMPLE) -> list[bytes]:
    """Return the first distinct lines of a file that have a byte above 127, up to `most` bytes in total."""
    found: dict[bytes, None] = {}
    size = 0
    for line in data.splitlines():
        if line.isascii() or line in found:
            continue
        found[line[:most]] = None
        size += len(line)
        if size > most:
            break
    return list(found)


@dataclass(frozen=True)
class _Language:
    """A character model of a language: log-probabilities of single characters and of pairs."""

    name: str
    single: dict[str, float]
    after: dict[tuple[str, str], float]
    """Of a character after another; empty for languages whose characters are words."""
    script: str
    """Prefix of the Unicode names of its non-ASCII letters."""
    cased: bool


@functools.cache
def _load_languages() -> dict[str, list[_Language]]:
    rows = resources.files("core.data").joinpath("languages.tsv").read_text("utf-8").splitlines()[1:]
    found: dict[str, list[_Language]] = {}
    for name, encodings, text in (row.split("\t") for row in rows):
        model = _model_by_rank(name, text) if name in _WORDLESS else _model_by_text(name, text)
        for encoding in encodings.split(","):
            found.setdefault(encoding, []).append(model)
    return found


_WORDLESS = {"zh-Hans": "CJK", "zh-Hant": "CJK", "ja": "CJK", "ko": "HANGUL"}
_FREQUENT = 0.8
"""Share of the listed frequent characters in a Chinese, Japanese or Korean text."""


def _model_by_rank(name: str, characters: str) -> _Language:
    """Build the character model of a language from the rank of its frequent characters (Zipf's law)."""
    unique = list(dict.fromkeys(characters))
    weights = [1 / (rank + 20) for rank in range(len(unique))]
    total = sum(weights) / _FREQUENT
    single = {each: math.log(weight / total) for each, weight in zip(unique, weights, strict=True)}
    return _Language(name, single, {}, _WORDLESS[name], cased=False)


def _model_by_text(name: str, text: str) -> _Language:
    """Build the character model of a language from the letters and letter pairs of a few sentences."""
    lowered = "".join(each if _is_letter(each) else " " for each in text.lower())
    singles, pairs = Counter(lowered), Counter(itertools.pairwise(lowered))
    total = singles.total()
    single = {each: math.log(0.6 * count / total) for each, count in singles.items() if each != " "}
    after = {
        pair: math.log(0.6 * count / (singles[pair[0]] + 4) + 0.35 * singles[pair[1]] / total)
        for pair, count in pairs.items()
    }
    strange = [each for each in single if each > "\x7f"]
    script = Counter(_get_script(each) for each in strange).most_common(1)[0][0]
    return _Language(name, single, after, script, cased=any(each != each.upper() for each in strange))


@functools.lru_cache(1 << 16)
def _get_script(character: str) -> str:
    return unicodedata.name(character, "").split(" ")[0]


@functools.lru_cache(1 << 16)
def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _score_pair(before: str, here: str, model: _Language) -> float:
    if here <= "\x7f" and before <= "\x7f":
        return _ASCII
    if not _is_letter(here):
        return (_ASCII if here <= "\x7f" else _score_symbol(here, before)) + _score_word_end(before, here, model)
    low, last = here.lower(), before.lower() if _is_letter(before) else " "
    found = model.after.get((last, low), model.single.get(low))
    if found is None:
        found = _score_unknown(here, model)
    return found + _score_case(before, here) if model.cased else found


def _score_word_end(before: str, here: str, model: _Language) -> float:
    """Score how likely a word of a language ends with the given letter; the score is lower if a digit follows."""
    if before <= "\x7f" or not model.after or not _is_letter(before):
        return 0.0
    return max(-4.0, model.after.get((before.lower(), " "), -9.0) + 2.0) - (2.0 if here.isdigit() else 0.0)


def _score_symbol(here: str, before: str) -> float:
    if here == "\ufffd":
        return _BROKEN
    if unicodedata.category(here) in ("Cc", "Cn", "Co"):
        return _CONTROL
    if here not in _MARKS and here > "\x7f":
        return _OTHER - (3.0 if _is_letter(before) else 0.0)
    return _MARK


def _score_unknown(here: str, model: _Language) -> float:
    """Score a letter that a language model has not seen: higher if it is of the language's script."""
    script = _get_script(here)
    if here <= "\x7f":
        return _ASCII - 2.0 if model.script == "LATIN" else -8.0
    if script != model.script:
        return -16.0 if script == "HALFWIDTH" else -12.0
    if model.script == "CJK":
        return -10.3 if _is_common(here, model.name) else -14.0
    if model.script == "HANGUL":
        return -9.0 if _is_common(here, model.name) else -13.0
    return math.log(0.03 / _LETTERS) - (2.0 if model.script == "LATIN" else 0.0)


@functools.lru_cache(1 << 16)
def _is_common(here: str, language: str) -> bool:
    """Return whether a language's character standard (Chinese, Japanese, Korean) lists a character as a common one."""
    standard = {"zh-Hans": "gb2312", "zh-Hant": "big5", "ja": "shift_jis", "ko": "euc-kr"}[language]
    end = {"gb2312": b"\xd8", "big5": b"\xc7", "shift_jis": b"\x98", "euc-kr": b"\xff"}[standard]
    return b"" < here.encode(standard, "ignore")[:1] < end


def _score_case(before: str, here: str) -> float:
    """Score the case of a letter after another: a capital should begin a word or follow another capital."""
    if here == here.lower() and here == here.upper():
        return 0.0
    upper = here != here.lower()
    if not _is_letter(before):
        return -2.0 if upper else -0.15
    if before != before.lower():
        return -1.2 if upper else -0.3
    return -7.0 if upper else 0.0
