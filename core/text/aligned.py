"""Words of a text and the tokens that they were cut into: where each word's first token is."""

from __future__ import annotations

from core.text.normalise import prepare
from core.text.tokenizer import Tokenizer

NOWHERE = -1
"""In place of a token: the word has none, because the text was cut before it or normalising left nothing of it."""


def words_of(text: str) -> list[str]:
    """Return the words of a tagged text: what is between its blanks."""
    return text.split(" ")


def first_pieces(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return for each word of a text the place of its first token among those that are read, or `NOWHERE`.

    Words are looked for in the normalised text, one after the other, so that any tokenizer with offsets will do.
    """
    encoded = tokenizer.encode(text)
    found, begins, token = list[int](), 0, 0
    for word in words_of(text):
        spelt = prepare(word, tokenizer.config).strip()
        place = encoded.text.find(spelt, begins) if spelt else -1
        if place < 0:
            found.append(NOWHERE)
            continue
        begins = place + len(spelt)
        while token < len(encoded.offsets) and encoded.offsets[token][1] <= place:
            token += 1
        inside = token < len(encoded.offsets) and encoded.offsets[token][0] < begins
        # A token that holds the end of one word and the beginning of the next speaks for the first.
        found.append(token if inside and token not in found[-1:] else NOWHERE)
    return found
