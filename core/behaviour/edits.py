"""Changes to a text that leave its meaning alone: what `edits` of an invariance test may name."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Literal

from core.text.words import marks

Edit = Literal["lower case", "upper case", "no punctuation", "exclamation", "typo", "doubled letter"]

_SIGNS = rf"{marks()}\u200c\u200d"  # vowel signs and joiners, which belong to a letter
_INSIDE = re.compile(r"[^\W\d_]{5,}")  # words long enough to stay readable with a slip in them


def lower(text: str) -> str:
    """Write in lower case."""
    return text.lower()


def upper(text: str) -> str:
    """Write in capitals."""
    return text.upper()


def unpunctuated(text: str) -> str:
    """Drop commas and the like; apostrophes and hyphens stay, which are parts of words."""
    return " ".join(re.sub(rf"[^\w\s'’#@{_SIGNS}-]", " ", text).split())


def exclaimed(text: str) -> str:
    """End with an exclamation mark instead of a full stop."""
    return re.sub(r"\.$", "!", text)


def typo(text: str) -> str:
    """Swap two neighbouring letters inside one word; which ones depends on the text alone."""
    return _slip(text, lambda word, at: word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def doubled(text: str) -> str:
    """Type one letter inside a word twice; which one depends on the text alone."""
    return _slip(text, lambda word, at: word[: at + 1] + word[at:])


EDITS: dict[Edit, Callable[[str], str]] = {
    "lower case": lower,
    "upper case": upper,
    "no punctuation": unpunctuated,
    "exclamation": exclaimed,
    "typo": typo,
    "doubled letter": doubled,
}


def _slip(text: str, change: Callable[[str, int], str]) -> str:
    """Slip in one long word, first and last letter left alone, if any word can have one."""
    words = list(_INSIDE.finditer(text))
    random_ = random.Random(text)
    random_.shuffle(words)
    for word in words:
        places = list(range(1, len(word[0]) - 2))
        random_.shuffle(places)
        for at in places:
            if (changed := change(word[0], at)) != word[0]:
                return text[: word.start()] + changed + text[word.end() :]
    return text
