"""The data set `life`: short sentences on what happens to people, written without templates, in `life.tsv`.

Written and labelled by language models that did not see the evaluation splits of the built-in corpus.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from core.data.dataset import TEST, TRAIN, VALIDATION
from core.data.sources.builtin.lexicon import read_rows

CLASSES = ("negative", "positive")
BLOCK, BLOCKS = 12, 10
"""Rows per block, and blocks per cycle. A block goes into one split, as neighbours in the file are often pairs that
differ in a few words; one block of each cycle goes into validation and one into test."""
HELD = {BLOCKS - 2: VALIDATION, BLOCKS - 1: TEST}


def read_splits() -> dict[str, pd.DataFrame]:
    """Return train, validation and test of the data set `life`, with columns text, label (class name) and domain."""
    rows = pd.DataFrame(read_rows(Path(__file__).with_name("life.tsv")), dtype="str")[["text", "label", "domain"]]
    block = np.arange(len(rows)) // BLOCK % BLOCKS
    where = pd.Series(block).map(HELD).fillna(TRAIN)
    return {split: rows[where == split].reset_index(drop=True) for split in (TRAIN, VALIDATION, TEST)}
