"""Words of a text and the tokens that they were cut into: where each word's first token is."""

from __future__ import annotations

from core.text.normalise import prepare
from core.text.tokenizer import Tokenizer

NOWHERE = -1
"""In place of a token: the word has none, because the text was cut before it or normalising left nothing of it."""


def words_of(text: str) -> list[str]:
    """The words of a tagged text: what stands between its blanks."""
    return text.split(" ")


def first_pieces(tokenizer: Tokenizer, text: str) -> list[int]:
    """For each word of a text the place of its first token among those that are read, or `NOWHERE`.

    Words are looked for in the text as it was normalised, one behind the other, so that any tokenizer will do that says
    where its tokens stand: words, byte pairs, a backbone's pieces. What two words were made one by normalising begins
    at the first.
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
