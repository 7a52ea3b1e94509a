"""Detection of texts that were decoded wrongly before they were written to a file, with the original text."""

from __future__ import annotations

import codecs
import contextlib
import functools
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from core.data.encoding_guess import guess_encoding, score_non_ascii, score_text

_RUN = re.compile("[^\x00-\x7f]{2,}|[\x80-\x84\x86-\x9f]")
_WIDE_RUN = re.compile("[^\x00-\x7f]{3,}|[A-Za-z][^\x00-\x7f]{1,2}")
_WIDE_LETTER = re.compile("[\u3400-\u9fff\uff61-\uff9f]")
"""Chinese characters and half-width kana."""
_WORD = re.compile("[^\x00-\x7f\xa0]{2,}|[^\x00-\x7f]")
_BOXES = re.compile("[\u2500-\u259f]")
"""Box-drawing characters, which replace letters in misread texts of old encodings."""
_USUAL_LEADS = {bytes([lead]) for lead in (*range(0xC2, 0xC6), *range(0xE0, 0xF5))}
"""First UTF-8 bytes of Latin letters and signs; a single garbled character must be one of them."""
_OLD_CODECS = ("cp437", "cp850", "cp866", "koi8-r")
_READ_AS = ("cp1252", "mac-roman", "cp1251", "koi8-r", "cp850", "cp866")
"""Encodings with which programs misread texts."""
_SAMPLE = 1_000_000
_WIDE_RUNS = 5_000
_CHARACTERS = 2_000
"""Characters of non-ASCII lines from which a legacy encoding is guessed."""
_LEAST_GAIN, _LEAST_SUM = 2.0, 60.0
"""Nats by which another encoding must be likelier, per character and in total."""
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
}
"""Description of undecoded text → its pattern."""


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
    sample = text[:_SAMPLE]
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
    """Decode a garbled run of characters back to UTF-8, and name the encoding it was misread as; None if impossible.

    A single decoded character must be a usual one: `’é` in correct French would give an Armenian letter.
    """
    if len(run) == 1:
        meant = run.encode("latin-1").decode("cp1252", "ignore")
        return (meant, "latin-1") if meant else None
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
