"""Grapheme clusters (characters as readers see them), shortening of texts, and text direction."""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal

from core.text.words import build_char_class

Span = tuple[int, int]

_JOINERS = "\u200c\u200d"
_ATTACHED = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\uff9e\uff9f\u0e33\u0eb3"
"""Skin tones, flag tags, and vowels that Unicode counts as letters although they attach to the letter before them."""
_BEFORE = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd"
_LINKED = ("DEVANAGARI", "BENGALI", "GUJARATI", "ORIYA", "TELUGU", "MALAYALAM")  # A virama joins two
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
_LEAD, _VOWEL, _TAIL = "\u1100-\u115f\ua960-\ua97c", "\u1160-\u11a7\ud7b0-\ud7c6", "\u11a8-\u11ff\ud7cb-\ud7fb"
_SYLLABLE = "\uac00-\ud7a3"


@functools.cache
def _compile_pattern() -> re.Pattern[str]:
    """Build a pattern that matches one extended grapheme cluster (UAX #29) or several at once, never a part of one."""
    marks = _build_class(lambda sign: unicodedata.category(sign)[0] == "M")
    virama = _build_class(lambda sign: unicodedata.combining(sign) == 9 and _is_linked(sign))
    letter = _build_class(lambda sign: unicodedata.category(sign) == "Lo" and _is_linked(sign))
    after = rf"[{marks}{_JOINERS}{_ATTACHED}]"
    hangul = rf"[{_LEAD}]*(?:[{_SYLLABLE}]|[{_VOWEL}])[{_VOWEL}]*[{_TAIL}]*|[{_LEAD}]+|[{_TAIL}]+"
    picture = rf"[{_PICTURE}]{after}*(?:(?<=\u200d)[{_PICTURE}]{after}*)*"
    conjunct = rf"[{letter}](?:{after}*[{virama}]{after}*[{letter}])*"
    one = rf"(?:[\U0001f1e6-\U0001f1ff]{{2}}|{picture}|{hangul}|{conjunct}|[^\r\n])"
    return re.compile(rf"\r\n|[\r\n]|[{_BEFORE}]*{one}{after}*")


def _is_linked(sign: str) -> bool:
    return unicodedata.name(sign, "").startswith(_LINKED)


def _build_class(belongs: Callable[[str], bool]) -> str:
    codes = (*range(0x300, 0xD800), *range(0xF900, 0x1F000), *range(0xE0100, 0xE01F0))
    return build_char_class(code for code in codes if belongs(chr(code)))


def split_clusters(text: str) -> list[str]:
    """Split a text into its grapheme clusters (characters as readers see them)."""
    return list(text) if text.isascii() and "\r" not in text else _compile_pattern().findall(text)


def find_boundary(text: str, place: int) -> int:
    """Return the last position in a text, up to `place`, that does not split a grapheme cluster."""
    if place <= 0 or place >= len(text) or (text[: place + 1].isascii() and text[place - 1 : place + 1] != "\r\n"):
        return max(0, min(place, len(text)))
    last = 0
    for match in _compile_pattern().finditer(text):
        if match.end() > place:
            return match.start()
        last = match.end()
    return last


def clip_text(text: str, most: int, sign: str = "…") -> str:
    """Shorten a text to at most `most` code points, with a sign for the omitted part; split no grapheme cluster."""
    if len(text) <= most:
        return text
    cut = find_boundary(text[: most + 64], max(0, most - len(sign)))
    return f"{text[:cut]}{sign}"


def extend_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """Extend the spans of a text, in order, to the ends of grapheme clusters; merge spans that share a cluster."""
    found = list[Span]()
    if text.isascii():
        return list(spans)
    inside = [False] * (len(text) + 1)
    for match in _compile_pattern().finditer(text):
        for place in range(match.start() + 1, match.end()):
            inside[place] = True
    for start, end in spans:
        while inside[start]:
            start -= 1
        while inside[end]:
            end += 1
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


Direction = Literal["ltr", "rtl"]
_FROM_THE_RIGHT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""Characters of right-to-left scripts: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and older ones."""
WORD = 40
_FIRST, _LAST = "\u2068", "\u2069"  # first strong isolate, and its end


def detect_direction(text: str) -> Direction:
    """Return the writing direction of most letters of a text, whatever the direction of its first letters."""
    if not _FROM_THE_RIGHT.search(text):
        return "ltr"
    kinds = [unicodedata.bidirectional(sign) for sign in text]
    return "rtl" if kinds.count("R") + kinds.count("AL") > kinds.count("L") else "ltr"


def wrap_bidi(text: str) -> str:
    """Wrap a text in bidirectional isolates if needed, so that it can be part of a sentence of another direction."""
    return f"{_FIRST}{text}{_LAST}" if _FROM_THE_RIGHT.search(text) else text


def quote_text(text: str, most: int = WORD) -> str:
    """Return the first `most` characters of a text in quotation marks."""
    return f"“{wrap_bidi(clip_text(text, most))}”"
