"""What the hand-written splits share: a file of sentences with scores becomes a split like the generated ones."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from core.data.sources.builtin.scale import labels

COLUMNS = ["text", "label", "phenomenon", "score", "domain", "frame", "unseen"]


def read(name: str) -> pd.DataFrame:
    """Read the sentences of a file beside this one as written: text, score (int64) and the file's further columns.

    Those are text; `second`, a second score, is Int64 and missing where a sentence has none.
    """
    return pd.read_csv(
        Path(__file__).with_name(name),
        sep="\t",
        quoting=csv.QUOTE_NONE,
        encoding="utf-8",
        keep_default_na=False,
        na_values={"second": [""]},
        dtype={"text": "str", "score": "int64", "phenomenon": "str", "domain": "str", "second": "Int64"},
    )


def split(rows: pd.DataFrame, classes: int) -> pd.DataFrame:
    """Return the sentences in the columns of the generated splits.

    Args:
        rows: text, score, phenomenon and domain.
        classes: the view of the scale. 2: negative, positive, with score 0 left out; 3: with neutral between them;
            5: the scale as it is.

    Returns:
        Frame with a fresh index and text, label (int64, from most negative to most positive), phenomenon, score,
        domain, frame (empty: no template) and unseen (False: no word was held out of training on purpose).
    """
    if classes == 2:
        rows = rows[rows["score"] != 0].reset_index(drop=True)
    label = labels(rows["score"].to_numpy(), classes)
    return rows.assign(label=label, frame="", unseen=False)[COLUMNS]
