"""The sentiment scale and class names of the built-in corpus, and its handwritten splits.

`challenge.tsv` has 350 hard sentences, each for one phenomenon; for a random sample of 100, `second` is the score of a
second labeller who saw only the texts and the scale. `everyday.tsv` has 200 short sentences, ten per domain. Scores are
from -2 (very negative) to 2 (very positive; 0: mixed or neutral). Written and labelled by language models, in separate
sessions, and never used for training.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from core.exceptions import ConfigError

CHALLENGE, EVERYDAY = "challenge", "everyday"
NAMES = {
    2: ("negative", "positive"),
    3: ("negative", "neutral", "positive"),
    5: ("very negative", "negative", "neutral", "positive", "very positive"),
}
COLUMNS = ["text", "label", "phenomenon", "score", "domain", "frame", "unseen"]


def get_class_names(classes: int) -> tuple[str, ...]:
    """Return the built-in corpus's names of two, three or five classes, in label order; else raise ConfigError."""
    if classes not in NAMES:
        raise ConfigError(f"data.classes={classes}: 2, 3 or 5")
    return NAMES[classes]


def convert_scores(scores: np.ndarray, classes: int) -> np.ndarray:
    """Convert sentiment scores (-2 to 2) to class numbers of 2 (by sign, no score 0), 3 (by sign) or 5 classes."""
    return {2: (scores > 0).astype(np.int64), 3: np.sign(scores) + 1, 5: scores + 2}[classes].astype(np.int64)


def read_split(name: str) -> pd.DataFrame:
    """Read the sentences of a handwritten split as a table with scores (-2 to 2), phenomenon and domain."""
    rows = pd.read_csv(
        Path(__file__).with_name(f"{name}.tsv"),
        sep="\t",
        quoting=csv.QUOTE_NONE,
        encoding="utf-8",
        keep_default_na=False,
        na_values={"second": [""]},
        dtype={"text": "str", "score": "int64", "phenomenon": "str", "domain": "str", "second": "Int64"},
    )
    return rows.assign(**{"domain" if name == CHALLENGE else "phenomenon": name})


def load_split(name: str, classes: int = 2) -> pd.DataFrame:
    """Return a handwritten split with the columns of `generate_corpus`; with two classes, leave score 0 out."""
    rows = read_split(name)
    if classes == 2:
        rows = rows[rows["score"] != 0].reset_index(drop=True)
    return rows.assign(label=convert_scores(rows["score"].to_numpy(), classes), frame="", unseen=False)[COLUMNS]
