"""The everyday set of the built-in corpus: what people type or say, written by hand, one by one, never generated.

`everyday.tsv` holds 200 short sentences, half of them negative and half positive: each has its text, its score (-2, -1,
1 or 2) and the walk of life that it is from, ten of each. Written and scored by one language model, never trained on.
"""

from __future__ import annotations

import pandas as pd

from core.data.sources.builtin import handwritten

FILE = "everyday.tsv"
EVERYDAY = "everyday"


def load(classes: int = 2) -> pd.DataFrame:
    """Return the everyday set as `handwritten.split` does; its domain is a walk of life, its phenomenon "everyday"."""
    return handwritten.split(handwritten.read(FILE).assign(phenomenon=EVERYDAY), classes)
