"""Templates to sentences: every combination of the words for their slots, or so many drawn at random."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence

from core.behaviour.suite import LONGEST
from core.numbers import count
from core.stored import Flaw

_SLOT = re.compile(r"\{(\w+)\}")

Words = Mapping[str, Sequence[str]]  # by slot what may stand in it


def slots_of(templates: Sequence[str]) -> tuple[str, ...]:
    """Return the slots of templates that are filled together, in the order in which they come."""
    return tuple(dict.fromkeys(name for template in templates for name in _SLOT.findall(template)))


def combinations(names: Sequence[str], words: Words) -> int:
    """Return in how many ways the slots can be filled; 1 without slots."""
    return math.prod(len(words[name]) for name in names)


def filling(names: Sequence[str], words: Words, number: int) -> dict[str, str]:
    """Return the word of each slot in the combination of this number, the last slot changing fastest."""
    chosen = {}
    for name in reversed(names):
        number, place = divmod(number, len(words[name]))
        chosen[name] = words[name][place]
    return chosen


def filled(template: str, chosen: Mapping[str, str]) -> str:
    """Fill the slots of a template; Flaw if the sentence would be too long."""
    parts = _SLOT.split(template)  # a slot's name at every second place
    parts[1::2] = [chosen[name] for name in parts[1::2]]
    if sum(map(len, parts)) > LONGEST:
        raise Flaw("", None, f"with its slots filled '{template:.40}…' has more than {count(LONGEST)} characters")
    return "".join(parts)


def draw(size: int, most: int, seed: str) -> list[int]:
    """Return the numbers of the combinations that are asked, rising: all where they are `most` or fewer, else a sample.

    None of them is made here, so that they may be very many.
    """
    if size <= most:
        return list(range(size))
    random_, chosen = random.Random(seed), set[int]()
    while len(chosen) < most:  # not `sample`, which needs a size that fits the machine's words
        chosen.add(random_.randrange(size))
    return sorted(chosen)
