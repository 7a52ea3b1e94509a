"""The pieces of a word that a model may read beside it: character n-grams, hashed into buckets.

Bojanowski, Grave, Joulin and Mikolov (2017), "Enriching word vectors with subword information".
"""

from __future__ import annotations

from zlib import crc32

SHORTEST, LONGEST = 3, 5
CHARACTERS = 32
"""Of a longer word only so many are cut into pieces: no word has more than 93."""


def pieces(word: str) -> list[str]:
    """The 3- to 5-grams of `<word>`, the shortest first, in the order in which they stand; repeats are kept."""
    whole = f"<{word}>"[: CHARACTERS + 2]
    lengths = range(SHORTEST, min(LONGEST, len(whole)) + 1)
    return [whole[start : start + size] for size in lengths for start in range(len(whole) - size + 1)]


def buckets(word: str, count: int) -> list[int]:
    """The bucket of each piece, 1 to `count`: CRC-32 of its UTF-8, which is the same everywhere and always."""
    return [crc32(piece.encode("utf-8", "surrogatepass")) % count + 1 for piece in pieces(word)]
