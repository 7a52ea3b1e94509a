"""Counts of Table 1 of the Inceptive paper: texts, and the means of their tokens (words and signs) and labels.

export SENTISCOPE_DATA=...  # a folder with the sets
python tests/benchmarks/text_lengths.py  # writes core/papers/results/text_lengths.json
"""

import json
import statistics

import pandas as pd

from core.data.sources import SOURCES, find_local_folder
from core.papers.training_cells import RESULTS
from core.text.words import split_words

SETS = ("tweeteval_emotion", "bangla_emotion", "ohsumed", "caves")  # Irony is not here


def count_texts(name: str) -> dict[str, float]:
    """Count the texts of all files of a data set, and the means of their tokens and labels."""
    table = pd.concat(pd.read_parquet(file) for file in sorted(find_local_folder(name).glob("*.parquet")))
    found = {
        "texts": len(table),
        "tokens": round(statistics.fmean(len(split_words(text)) for text in table["text"]), 4),
    }
    if SOURCES[name].task == "multi":
        return {**found, "labels": round(float(table.filter(regex="^y_").drop(columns="y_none").sum(axis=1).mean()), 4)}
    return {**found, "classes": table["label"].nunique(), "labels": 1}


if __name__ == "__main__":
    counted = {name: count_texts(name) for name in SETS}
    (RESULTS / "text_lengths.json").write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
