"""What a data set of tagged words needs beyond one of labelled texts."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from core.data.conll import OUTSIDE
from core.data.findings import plural
from core.data.table import TRAIN, WHOLE
from core.exceptions import DataError

Splits = dict[str, pd.DataFrame]


def only_trained_tags(given: Splits, classes: tuple[str, ...]) -> tuple[Splits, tuple[str, ...], list[str]]:
    """Tags that no training word has become `O` in all splits; a row keeps one tag for each word.

    Raises:
        DataError: no training word is outside of all spans, or every one is.
    """
    rows = given[TRAIN if TRAIN in given else WHOLE]["label"]
    trained = sorted({tag for tags in rows for tag in tags})
    names = tuple(classes[old] for old in trained)
    if OUTSIDE not in names or len(names) < 2:
        lacks = "no word outside of all spans (O)" if OUTSIDE not in names else "no span (B-TYPE)"
        raise DataError(f"the training sentences have {lacks}, so there is nothing to learn")
    if len(names) == len(classes):
        return given, classes, []
    place = {old: new for new, old in enumerate(trained)}
    outside, notes, kept = names.index(OUTSIDE), [], {}
    for split, frame in given.items():
        lost = Counter(tag for tags in frame["label"] for tag in tags if tag not in place)
        notes += [
            f"{split}: {plural(number, 'word')} of the tag '{classes[old]}' read as O, train has none"
            for old, number in sorted(lost.items())
        ]
        labels = [tuple(place.get(tag, outside) for tag in tags) for tags in frame["label"]]
        kept[split] = frame.assign(label=pd.Series(labels, index=frame.index, dtype=object))
    return kept, names, notes
