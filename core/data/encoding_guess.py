"""A guess of a text's legacy encoding from how likely its letters are in the languages of each encoding.

A decoding is scored by the probabilities of its letter pairs (for Chinese, Japanese and Korean, of single characters),
estimated from a few sentences of each language (`languages.tsv`).
"""

import codecs
import contextlib
import functools
import itertools
import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from operator import itemgetter

_SAMPLE = 40_000  # Bytes of lines with non-ASCII characters that are scored
_PER_BYTE = -5.5  # Mean log-probability of a byte above 127 in a plausible decoding, at least
_FEW = 8  # Up to so many bytes above 127, every decoding is plausible; a pound sign and two accents prove little
_RARE = dict.fromkeys(("cp850", "cp852", "cp857", "mac-cyrillic"), 4.0)
_RARE |= dict.fromkeys(("cp866", "mac-roman", "iso8859-5"), 3.0) | {"cp1258": 2.0}
_RARE |= dict.fromkeys(("iso8859-15", "iso8859-2", "iso8859-9", "koi8-u"), 1.0)  # Penalty in nats
_MARKS = "’‘“”„–—…«»•€£°½´§©®™¿¡·\xa0、。，！？「」：；（）《》・～…＂，．"
_EURO_OR_ASCII = bytes(range(129))
_ASCII = -3.0
_MARK, _OTHER, _CONTROL, _BROKEN = -4.5, -9.5, -14.0, -25.0
_LETTERS = 120  # Letters of its script that a language may use beyond those in its sentences


@dataclass(frozen=True)
class EncodingGuess:
    """A guessed encoding of a file, with its alternatives and whether it is plausible."""

    encoding: str
    others: tuple[str, ...]  # Other possible encodings, the likeliest first
    per_byte: float  # Mean log-probability of a byte above 127
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
    after: dict[tuple[str, str], float]  # Of a character after another; empty for languages whose characters are words
    script: str  # Prefix of the Unicode names of its non-ASCII letters
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


def _model_by_rank(name: str, characters: str) -> _Language:
    """Build the character model of a language from the rank of its frequent characters (Zipf's law)."""
    unique = list(dict.fromkeys(characters))
    weights = [1 / (rank + 20) for rank in range(len(unique))]
    total = sum(weights) / 0.8  # the share of these characters in a text
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
    if (found := model.after.get((last, low), model.single.get(low))) is None:
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


_RUN = re.compile("[^\x00-\x7f]{2,}|[\x80-\x84\x86-\x9f]")
_WIDE_RUN = re.compile("[^\x00-\x7f]{3,}|[A-Za-z][^\x00-\x7f]{1,2}")
_WIDE_LETTER = re.compile("[\u3400-\u9fff\uff61-\uff9f]")  # Chinese characters and half-width kana
_WORD = re.compile("[^\x00-\x7f\xa0]{2,}|[^\x00-\x7f]")
_BOXES = re.compile("[\u2500-\u259f]")  # Box-drawing characters, which replace letters in misread old texts
_USUAL_LEADS = {bytes([lead]) for lead in (*range(0xC2, 0xC6), *range(0xE0, 0xF5))}
"""First UTF-8 bytes of Latin letters and signs; a single garbled character must be one of them."""
_OLD_CODECS = ("cp437", "cp850", "cp866", "koi8-r")
_READ_AS = ("cp1252", "mac-roman", "cp1251", "koi8-r", "cp850", "cp866")  # Encodings with which programs misread texts
_SEARCHED = 1_000_000
_WIDE_RUNS = 5_000
_CHARACTERS = 2_000  # Characters of non-ASCII lines from which a legacy encoding is guessed
_LEAST_GAIN, _LEAST_SUM = 2.0, 60.0  # Nats by which another encoding must be likelier, per character and in total
_LIKELY, _LEAST_LIKELY = -4.0, -4.5
"""Nats per character: above the first, a text is in a language; below the second, another reading is in none."""

WRITINGS = {
    "question marks in place of letters": re.compile(r"\?{3,} \?{2,}"),
    "bytes of Python (b'…')": re.compile(r"\Ab(?:'.*'|\".*\")\Z", re.DOTALL),
    "bytes written as \\xc3": re.compile(r"(?:\\x[89a-f][0-9a-f]){2}"),
    "numbers in place of words ([101, 2054])": re.compile(r"\A\s*\[?\s*\d+(?:[,\s]+\d+){2,}\s*\]?\s*\Z"),
    "a list of words (['so', 'it'])": re.compile(r"\A\s*\[\s*(?:'.*'|\".*\")\s*\]\s*\Z", re.DOTALL),
    "a JSON object": re.compile(r'\A\s*\{".*\}\s*\Z', re.DOTALL),
    "a formula of Excel": re.compile(r'\A="'),
    "line ends of Excel (_x000D_)": re.compile("_x000[ad]_", re.IGNORECASE),
    "letters in quoted-printable (=C3=B6)": re.compile("(?:=[89A-F][0-9A-F]){2}"),
    "letters in UTF-7 (+APY-)": re.compile(r"\+A[A-Za-z0-9+/]{2}-|\+[A-Za-z0-9+/]{4,}-"),
    "letters in HZ (~{…~})": re.compile(r"~\{[!-~]+~\}"),
}  # Description of undecoded text → its pattern


@dataclass(frozen=True)
class GarbledText:
    """Garbled text (mojibake): text that was written in one encoding and read as another, with an example."""

    places: int
    run: str
    meant: str
    encoding: str
    read_as: str


def find_garbled(text: str) -> GarbledText | None:
    """Find text that was decoded wrongly (mojibake) before it was written to a file; return None if there is none."""
    sample = text[:_SEARCHED]
    if sample.isascii():
        return None
    runs = Counter(_RUN.findall(sample))
    found = [(run, *meant, places) for run, places in runs.items() if (meant := _decode_run(run))]
    of_utf8 = [each for each in found if len(each[0]) > 1]
    if not of_utf8 and (other := _find_wide(sample) or _find_legacy(sample)):
        return other
    places, encoding = sum(each[-1] for each in found), "utf-8" if of_utf8 else "cp1252"
    return next((GarbledText(places, run, meant, encoding, codec) for run, meant, codec, _ in of_utf8 or found), None)


@functools.lru_cache(1 << 14)
def _decode_run(run: str) -> tuple[str, str] | None:
    """Decode a garbled run of characters back to UTF-8, and name the encoding it was misread as; None if impossible."""
    if len(run) == 1:
        meant = run.encode("latin-1").decode("cp1252", "ignore")
        return (meant, "latin-1") if meant else None
    # A single decoded character must be a usual one: `’é` in correct French would give an Armenian letter.
    for codec in ("cp1252", "cp1251", "mac-roman", *(_OLD_CODECS if _BOXES.search(run) else ())):
        data = _encode_text(run, codec)
        with contextlib.suppress(UnicodeDecodeError):
            meant = data.decode("utf-8")
            if len(meant) > 1 or data[:1] in _USUAL_LEADS:
                return meant, codec
    return None


def _find_wide(text: str) -> GarbledText | None:
    """Find UTF-8 text that was misread as Chinese or Japanese: most garbled pieces decode to UTF-8 again."""
    runs = Counter(islice(_WIDE_RUN.findall(text), _WIDE_RUNS))
    for codec in ("gbk", "cp932"):
        found = [(run, meant) for run in runs if (meant := _decode_wide(run, codec))]
        if found and 2 * len(found) >= len(runs):
            return GarbledText(sum(runs[run] for run, _ in found), *found[0], "utf-8", codec)
    return None


def _decode_wide(run: str, codec: str) -> str:
    """Decode a garbled run as UTF-8 that may lack a few bytes; return an empty text if it is not UTF-8."""
    data = run.encode(codec, "ignore") if _WIDE_LETTER.search(run) else b""
    meant = data.decode("utf-8", "ignore")
    return meant if not meant.isascii() and 4 * len(meant.encode()) >= 3 * len(data) else ""


def _find_legacy(text: str) -> GarbledText | None:
    """Find text whose legacy encoding was read as another: decoded again, its letters make words."""
    lines = [line.replace("\ufffd", "?") for line in dict.fromkeys(text.split("\n")) if not line.isascii()]
    best, found = _LEAST_GAIN, None
    for codec in _READ_AS:
        there = [line for line in lines if _encode_text(line, codec)]
        sample = "\n".join(there)[:_CHARACTERS]
        beyond = sum(character > "\x7f" for character in sample)
        if (before := score_non_ascii(sample, score_text(sample), beyond)) > _LIKELY or not beyond:
            continue
        guess = guess_encoding(_encode_text(sample, codec))
        gain = guess.per_byte - before
        if gain > best and gain * beyond > _LEAST_SUM and guess.per_byte > _LEAST_LIKELY:
            run = max(_WORD.findall(sample), key=len)
            meant = _encode_text(run, codec).decode(guess.encoding, "replace")
            best, found = gain, GarbledText(len(there), run, meant, guess.encoding, codec)
    return found


def _encode_text(text: str, codec: str) -> bytes:
    """Encode a text in a legacy encoding, with bytes that Windows leaves undefined; return no bytes if impossible."""
    try:
        return text.encode(codec, "latin-1-rest" if codec.startswith("cp125") else "strict")
    except UnicodeError:
        return b""


def _encode_latin1(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    return error.object[error.start : error.end].encode("latin-1"), error.end


codecs.register_error("latin-1-rest", _encode_latin1)
