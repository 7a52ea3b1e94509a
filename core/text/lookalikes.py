"""Replace characters that look alike by one of them, before any other step of a tokenizer.

A run keeps the version of the table that it was trained with; 0 is no table. A change is a new version, the old stays.
"""

from __future__ import annotations

import functools
import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from html.entities import html5

from core.text.config import LOOKALIKES
from core.text.words import EMOJI, marks

ENTITY = r"&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
BREAK = re.compile(r"</?\s*br\b[^<>]{0,80}>", re.IGNORECASE)
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u00b4`"
_WIDTHS = ("<wide>", "<narrow>")
_LIGATURES = ((0x132, 0x133), (0x1C4, 0x1CC), (0x1F1, 0x1F3), (0xFB00, 0xFB4F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))
"""Latin digraphs, Latin, Armenian and Hebrew ligatures, Arabic presentation forms."""
Replace = Callable[[re.Match[str]], str]


@functools.cache
def _forms() -> dict[str, str]:
    """Return the NFKC form of every character that differs from another in width, or that is a ligature."""
    found: dict[str, str] = {}
    for code in (*range(0x3000, 0x3001), *range(0xFF00, 0xFFEF)):
        tag, *parts = unicodedata.decomposition(chr(code)).split() or [""]
        # One step: the letters of narrow Hangul stay letters, as people type them, and do not become parts of others.
        if tag in _WIDTHS:
            found[chr(code)] = "".join(chr(int(part, 16)) for part in parts)
    for first, last in _LIGATURES:
        for code in range(first, last + 1):
            if unicodedata.decomposition(chr(code)).startswith("<"):
                # A vowel sign by itself is spelt with a blank before it.
                found[chr(code)] = unicodedata.normalize("NFKC", chr(code)).strip()
    return found


def _decode(entity: re.Match[str]) -> str:
    """Return what an entity stands for; a name that only begins like one is none."""
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]


@functools.cache
def _steps() -> tuple[tuple[re.Pattern[str], Replace], ...]:
    forms = _forms()
    letter, before = r"[^\W\d_]", rf"(?:(?<=[^\W\d_])|(?<=[{marks()}]))"
    joined = rf"{EMOJI}[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]*\u200d(?={EMOJI})"
    return (
        # Entities first: what they hide is text like any other, also a tag.
        (re.compile(ENTITY), _decode),
        (BREAK, lambda found: " "),
        (re.compile(f"[{''.join(map(re.escape, forms))}]"), lambda found: forms[found[0]]),
        (re.compile("\u200b"), lambda found: " "),
        (re.compile(rf"({joined})|\u200d"), lambda found: found[1] or ""),
        # A person does not see which form of a sign was asked for; a non-joiner parts letters, or nothing.
        (re.compile(rf"[\ufe0e\ufe0f]|\u200c(?!{letter})|(?<![\w{marks()}])\u200c"), lambda found: ""),
        (re.compile(rf"{before}[{_APOSTROPHES}](?={letter})"), lambda found: "'"),
    )


def resolve(text: str, version: int = LOOKALIKES) -> str:
    """Return a text with its look-alikes replaced; without a version as it is."""
    if not version or (text.isascii() and not any(sign in text for sign in "&<`")):
        return text
    for pattern, replace in _steps():
        text = pattern.sub(replace, text)
    return text


def resolve_places(text: str, places: Sequence[int], version: int = LOOKALIKES) -> tuple[str, list[int]]:
    """Return `resolve` of a text, and where these places of it are then; inside of a replaced part, behind it."""
    if resolve(text, version) == text:
        return text, [*places]
    found = [*places]
    for pattern, replace in _steps():
        moved, parts, end, length = [0] * (len(text) + 1), list[str](), 0, 0
        for match in pattern.finditer(text):
            start, stop = match.span()
            moved[end : start + 1] = range(length, length + start - end + 1)
            parts += [text[end:start], replace(match)]
            length += start - end + len(parts[-1])
            moved[start + 1 : stop + 1] = [length] * (stop - start)
            end = stop
        if end:
            moved[end + 1 :] = range(length + 1, length + 1 + len(text) - end)
            text, found = "".join(parts) + text[end:], [moved[place] for place in found]
    return text, found
