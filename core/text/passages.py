"""A long text cut into passages of as equal length as can be."""

from __future__ import annotations

import math
import operator
from itertools import pairwise

from core.exceptions import InputError


def words_of_passage(asked: int) -> int:
    """Return how many words a passage has at most; 0: texts are read as a whole; refuse anything else."""
    try:
        words = operator.index(asked)
    except TypeError:
        words = -1
    if isinstance(asked, bool) or words < 0:
        raise InputError(f"--passage {asked}: words of a passage, 1 at least; 0 reads each text as a whole")
    return words


def passages(text: str, words: int) -> list[str]:
    """Cut a text into passages of so many words at most, as equal in length as can be; no word is cut."""
    found = text.split()
    if len(found) <= words:
        return [text]
    count = math.ceil(len(found) / words)
    ends = [len(found) * place // count for place in range(count + 1)]
    return [" ".join(found[start:end]) for start, end in pairwise(ends)]
