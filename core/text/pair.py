"""Two texts as one string with a mark between them; `joined` is the only way to one, and no part holds the mark."""

from __future__ import annotations

import re
from collections.abc import Iterable

SIGN = "‖"
"""Stands between the texts of a pair, as a token of its own that is no word."""
MARK = f" {SIGN} "
PLAIN = "|"


_STANDING = re.compile(rf"(?:^|\s){SIGN}(?:\s|$)")


def joined(first: str, second: str) -> str:
    """Both texts of a pair as one."""
    return f"{unsigned(first)}{MARK}{unsigned(second)}"


def parted(text: str) -> tuple[str, str] | None:
    """The two texts of a pair; None: it is a single text."""
    found = _STANDING.search(text) if SIGN in text else None
    return None if found is None else (text[: found.start()], unsigned(text[found.end() :]))


def unsigned(text: str) -> str:
    """A text that no mark can be read in, of the same length."""
    return text.replace(SIGN, PLAIN)


def are_pairs(texts: Iterable[str]) -> bool:
    """Whether texts are read as pairs: most of them have a mark. What was added by hand may be a single text."""
    marked = [parted(text) is not None for text in texts]
    return sum(marked) * 2 > len(marked)


def kept(first: int, second: int, most: int) -> tuple[int, int]:
    """How many tokens of each text fit into so many: the longer one loses its end first, neither is lost."""
    if first + second <= most:
        return first, second
    half = most // 2
    if second <= half:
        return most - second, second
    if first <= most - half:
        return first, most - first
    return most - half, half
