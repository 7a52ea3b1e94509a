"""The text of a call as a run reads it: a pair where it was trained on pairs."""

from __future__ import annotations

from core.exceptions import InputError
from core.runs.record import RunRecord
from core.text.pair import joined, parted

MISSING = "reads two texts: give the second with --pair (in Python: pair=, or sentiscope.pair(first, second))"


def pair(first: str, second: str) -> str:
    """Two texts as the one that every function takes of a run that reads pairs.

    Args:
        first: Any text.
        second: Any other; the sign ‖ between both is replaced where a text has it.
    """
    return joined(first, second)


def paired(record: RunRecord, text: str, pair: str | None = None) -> str:
    """One text of both; or as it is, where a run reads single texts or it is a pair already.

    Raises:
        InputError: the run reads pairs and there is no second text, or the other way round.
    """
    if pair is not None and not record.pairs:
        raise InputError(f"run '{record.run}' reads single texts: leave --pair out")
    if pair is not None and not (text.strip() and pair.strip()):
        raise InputError(f"run '{record.run}' reads two texts, and one of them is empty; write both")
    if pair is not None:
        return joined(text, pair)
    if record.pairs and parted(text) is None:
        raise InputError(f"run '{record.run}' {MISSING}")
    return text
