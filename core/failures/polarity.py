"""Whether the words of a lexicon say the opposite of the true class."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from core.behaviour.polarity import sides_of
from core.exceptions import InputError, SentiscopeError
from core.failures.table import Table
from core.text.lexicon_files import VADER, read_lexicon

_SIGN = {"negative": -1, "positive": 1}


def disagrees(table: Table, words: Sequence[set[str]], language: str) -> np.ndarray | str:
    """(n,) bool: where the valences of the different words add up to the side opposite to the true class.

    The lexicons are the run's own; of a run without one on English texts VADER's. Their phrases and emoticons do not
    count.

    Args:
        table: of the run.
        words: of each text, in lower case.
        language: of the texts.

    Returns:
        The rows, or why there are none.
    """
    record = table.record
    if table.task == "multi":
        return "its texts have several labels each"
    names = record.config.text.lexicons or ((VADER,) if language == "en" else ())
    if not names:
        return "there is no lexicon for these texts; the run was trained without one, and VADER's is English"
    try:
        sides = sides_of(record.run, record.classes, order=record.classes if record.ordered else ())
        valences = [_valences(name) for name in names]
    except InputError as error:
        return f"{error}".partition(";")[0]
    except SentiscopeError as error:
        return str(error)
    of_class = np.array([_SIGN.get(sides[each] or "", 0) for each in record.classes])
    said = np.sign([sum(valence.get(word, 0.0) for word in each for valence in valences) for each in words])
    found: np.ndarray = said * of_class[table.true.argmax(1)] < 0
    return found


@functools.cache
def _valences(name: str) -> dict[str, float]:
    """By word, in lower case: positive less negative counts.

    Raises:
        SentiscopeError: it cannot be read.
    """
    found: dict[str, float] = {}
    for word, (positive, _, negative) in read_lexicon(name):
        found[word.lower()] = found.get(word.lower(), 0.0) + positive - negative
    return found
