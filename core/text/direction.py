"""In which direction a text is read, and texts told inside of a sentence in another one."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from core.text.clusters import clipped

Direction = Literal["ltr", "rtl"]
_FROM_THE_RIGHT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""Whatever may be read from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and older scripts."""
WORD = 40
_FIRST, _LAST = "\u2068", "\u2069"
"""First strong isolate, and its end."""


def direction(text: str) -> Direction:
    """Return the direction of most letters: a name, a link or a tag at the beginning does not turn a text round."""
    if not _FROM_THE_RIGHT.search(text):
        return "ltr"
    kinds = [unicodedata.bidirectional(sign) for sign in text]
    from_the_right = kinds.count("R") + kinds.count("AL")
    return "rtl" if from_the_right > kinds.count("L") else "ltr"


def isolated(text: str) -> str:
    """A text as it can stand within a sentence of another direction, each with its marks where they belong."""
    return f"{_FIRST}{text}{_LAST}" if _FROM_THE_RIGHT.search(text) else text


def quoted(text: str, most: int = WORD) -> str:
    """The beginning of a text, in quotation marks."""
    return f"“{isolated(clipped(text, most))}”"
