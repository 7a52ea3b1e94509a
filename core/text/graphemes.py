"""Grapheme clusters (characters as readers see them), shortening of texts, and text direction."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

import regex

Span = tuple[int, int]

_CLUSTER = regex.compile(r"\X")


def find_boundary(text: str, place: int) -> int:
    """Return the last position in a text, up to `place`, that does not split a grapheme cluster."""
    if place <= 0 or place >= len(text) or (text[: place + 1].isascii() and text[place - 1 : place + 1] != "\r\n"):
        return max(0, min(place, len(text)))
    last = 0
    for match in _CLUSTER.finditer(text):
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
    for match in _CLUSTER.finditer(text):
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
