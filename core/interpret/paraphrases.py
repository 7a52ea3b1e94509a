"""Changes to a sentence that leave its meaning alone, and which words it has afterwards; rules for English."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from core.text.typed import cased, typed_words

_NOT = ("do", "does", "did", "is", "are", "was", "were", "would", "could", "should", "have", "has", "had")
_SHORT = {f"{verb} not": f"{verb}n't" for verb in _NOT} | {
    "cannot": "can't",
    "will not": "won't",
    "I am": "I'm",
    "you are": "you're",
    "we are": "we're",
    "they are": "they're",
    "it is": "it's",
    "that is": "that's",
    "there is": "there's",
}
_LONG = {short: long for long, short in _SHORT.items() if not short.endswith("'s")}
"""`it's` may also be `it has`."""


class Paraphrase(NamedTuple):
    """A sentence said otherwise, and which of its words are which of the first."""

    edit: str
    text: str
    shared: tuple[tuple[int, int], ...]
    """(place in the first, place in this one)."""


def contracted(text: str) -> str:
    """`don't` for `do not` and the like; where there is none, the other way round."""
    return short if (short := _replaced(text, _SHORT)) != text else _replaced(text, _LONG)


def framed(text: str) -> str:
    """`I think that` before it; not before a question."""
    if not text[:1].isalpha() or text.rstrip().endswith("?"):
        return text
    first = text.split(None, 1)[0]
    kept = first == "I" or first.startswith(("I'", "I’")) or any(map(str.isupper, first[1:]))
    return f"I think that {text if kept else text[:1].lower() + text[1:]}"


def unstopped(text: str) -> str:
    """Without the full stop at the end; with one where no mark is."""
    bare = text.rstrip()
    if bare.endswith(".") and not bare.endswith(".."):
        return bare[:-1].rstrip()
    return f"{bare}." if bare[-1:].isalnum() else text


EDITS: dict[str, Callable[[str], str]] = {
    "contraction": contracted,
    "frame": framed,
    "full stop": unstopped,
    "lower case": str.lower,
}


def paraphrases(text: str) -> Iterator[Paraphrase]:
    """By each edit that changes the text."""
    before = _words(text)
    for name, edit in EDITS.items():
        if (changed := edit(text)) != text:
            blocks = SequenceMatcher(None, before, _words(changed), autojunk=False).get_matching_blocks()
            shared = tuple((one + k, two + k) for one, two, size in blocks for k in range(size))
            yield Paraphrase(name, changed, shared)


def _words(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in typed_words(text)]


def _replaced(text: str, by: dict[str, str]) -> str:
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, by), key=len, reverse=True)) + r")\b"
    known = {old.lower(): new for old, new in by.items()}
    return re.sub(pattern, lambda found: cased(known[found[0].lower()], found[0]), text, flags=re.IGNORECASE)
