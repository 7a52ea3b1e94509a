"""Text pairs as one string with a mark between both texts; only `join_pair` adds it, and no text contains it."""

import re
from collections.abc import Iterable

SIGN = "‖"  # The mark between the texts of a pair: one token, which is not a word
MARK = f" {SIGN} "
PLAIN = "|"
_SPACED_SIGN = re.compile(rf"(?:^|\s){SIGN}(?:\s|$)")


def join_pair(first: str, second: str) -> str:
    """Join two texts to one string with the pair mark between the texts."""
    return f"{replace_sign(first)}{MARK}{replace_sign(second)}"


def split_pair(text: str) -> tuple[str, str] | None:
    """Split a text pair, joined by the pair mark, into its two texts; return None for a single text."""
    found = _SPACED_SIGN.search(text) if SIGN in text else None
    return None if found is None else (text[: found.start()], replace_sign(text[found.end() :]))


def replace_sign(text: str) -> str:
    """Replace the pair mark in a text by another sign of the same length."""
    return text.replace(SIGN, PLAIN)


def is_mostly_pairs(texts: Iterable[str]) -> bool:
    """Return whether more than half of the texts are text pairs."""
    marked = [split_pair(text) is not None for text in texts]
    return sum(marked) * 2 > len(marked)


def divide_tokens(first: int, second: int, most: int) -> tuple[int, int]:
    """Divide a limit of `most` tokens between the texts of a pair; the longer text is truncated first."""
    if first + second <= most:
        return first, second
    behind = min(second, max(most // 2, most - first))
    return most - behind, behind
