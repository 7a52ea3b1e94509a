"""The word pattern of tokenizers and n-gram baselines, character n-grams of words, and passages of texts."""

import functools
import math
import operator
import re
import unicodedata
from itertools import pairwise
from zlib import crc32

from core.exceptions import InputError, try_call

_LETTER = r"[^\W\d_]"
EMOJI = "[\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"


@functools.cache
def build_mark_class() -> str:
    """Return all combining marks as the content of a regex character class; `re` does not count them as letters."""
    codes = (code for code in range(0x300, 0x1F000) if not 0xFE00 <= code <= 0xFE0F)
    found: list[list[int]] = []
    for code in (code for code in codes if unicodedata.category(chr(code))[0] == "M"):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


@functools.cache
def get_word_pattern() -> re.Pattern[str]:
    """Return the regular expression of a word token; each character other than a blank belongs to exactly one token.

    In order: words (letters of any script with their marks, inner digits and apostrophes: don't, q3), contractions cut
    off by another tokenizer ('s), keycaps, numbers with inner points and commas (1,000.5, 2nd), the marks of the tweet
    normaliser, emoji (flags, skin tones and joined sequences are one), and any other single character with its marks.
    Scripts written without blanks give one token per run of letters; use the byte-level tokenizer for them.
    """
    inner = rf"(?:[^\W_]++|[{build_mark_class()}]++|[\u200c\u200d](?={_LETTER}))*+"
    tail = rf"(?:\ufe0f|[\U0001f3fb-\U0001f3ff]|[\U000e0020-\U000e007f]|[{build_mark_class()}])*+"
    kinds = (
        rf"(?!\u2139){_LETTER}{inner}(?:['’]{_LETTER}{inner})*+",
        r"['’](?:[sStTdDmM]|re|ve|ll|RE|VE|LL)\b",
        r"[0-9#*]\ufe0f?\u20e3",
        rf"\d+(?:[.,]\d+)*{inner}",
        r"<(?:url|user)>",
        r"[\U0001f1e6-\U0001f1ff]{2}",
        rf"{EMOJI}{tail}(?:\u200d{EMOJI}{tail})*",
        rf"\S{tail}",
    )
    return re.compile("|".join(kinds))


def split_words(text: str) -> list[str]:
    """Split a normalised text into word tokens: words, numbers, emoji and single marks."""
    return get_word_pattern().findall(text)


def is_bare_mark(text: str) -> bool:
    """Return whether a token is only punctuation, without letters, digits or emoji."""
    return not any(each.isalnum() or (unicodedata.category(each) == "So" and not each.isascii()) for each in text)


SHORTEST, LONGEST = 3, 5
CHARACTERS = 32  # Characters of a word that are cut into n-grams, at most; so no word has more than 93 n-grams


def list_char_ngrams(word: str) -> list[str]:
    """Return the character 3- to 5-grams of `<word>` (Bojanowski et al. 2017), the shortest first, with repeats."""
    whole = f"<{word}>"[: CHARACTERS + 2]
    lengths = range(SHORTEST, min(LONGEST, len(whole)) + 1)
    return [whole[start : start + size] for size in lengths for start in range(len(whole) - size + 1)]


def hash_char_ngrams(word: str, count: int) -> list[int]:
    """Return the hash bucket, 1 to `count`, of each character n-gram of a word (CRC-32, equal on all machines)."""
    return [crc32(piece.encode("utf-8", "surrogatepass")) % count + 1 for piece in list_char_ngrams(word)]


def check_passage(asked: int) -> int:
    """Check the option `--passage`, the maximum number of words of a passage, and return it; 0: read texts whole."""
    words = try_call(TypeError, -1, operator.index, asked)
    if isinstance(asked, bool) or words < 0:
        raise InputError(f"--passage {asked}: words per passage, at least 1; 0 reads each text as a whole")
    return words


def split_passages(text: str, words: int) -> list[str]:
    """Split a text into passages of at most `words` words and nearly equal length; no word is split."""
    if len(found := text.split()) <= words:
        return [text]
    count = math.ceil(len(found) / words)
    ends = [len(found) * place // count for place in range(count + 1)]
    return [" ".join(found[start:end]) for start, end in pairwise(ends)]
