"""What a data set of tagged words needs beyond one of labelled texts."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from core.data.conll import OUTSIDE
from core.data.findings import plural
from core.data.table import TRAIN, WHOLE
from core.exceptions import DataError

Splits = dict[str, pd.DataFrame]


def told_tags(given: Splits, classes: tuple[str, ...]) -> tuple[Splits, tuple[str, ...], list[str]]:
    """Return rows and tags as they are, and which tags no training word has; they count as missed."""
    trained = {tag for tags in given[TRAIN if TRAIN in given else WHOLE]["label"] for tag in tags}
    names = {classes[tag] for tag in trained}
    if OUTSIDE not in names or len(names) < 2:
        lacks = "no word outside of all spans (O)" if OUTSIDE not in names else "no span (B-TYPE)"
        raise DataError(f"the training sentences have {lacks}, so there is nothing to learn")
    notes = []
    for split, frame in given.items():
        unknown = Counter(tag for tags in frame["label"] for tag in tags if tag not in trained)
        notes += [
            f"{split}: {plural(number, 'word')} of the tag '{classes[tag]}', which train lacks: counted as missed"
            for tag, number in sorted(unknown.items())
        ]
    return given, classes, notes
