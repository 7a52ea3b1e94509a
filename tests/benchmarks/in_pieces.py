"""How well a run reads long texts: each as a whole, and in pieces whose log-odds are averaged.

    python tests/benchmarks/in_pieces.py RUN --data imdb --split test --words 20

Of two classes; the run need not know the data set. Choose the words of a piece on rows that are not judged
(`--split train --limit 1500`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from core.data.load import load
from core.runs.load import load_run
from core.runs.store import RunStore
from core.verbs.training import configure

LEAST = 1e-6
"""Probability below which log-odds are cut off."""


def pieces(text: str, words: int) -> list[str]:
    """A text in pieces of so many words; one at least."""
    found = text.split()
    return [" ".join(found[start : start + words]) for start in range(0, len(found), words)] or [text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--data", default="imdb")
    parser.add_argument("--split", default="test")
    parser.add_argument("--words", type=int, nargs="+", default=[20])
    parser.add_argument("--limit", type=int, default=0, help="rows drawn; 0: all")
    arguments = parser.parse_args()

    model = load_run(RunStore(), arguments.run)
    classes = list(model.record.classes)
    dataset = load(configure(arguments.data, "vanilla", {}).data)
    rows = dataset.splits[arguments.split]
    if arguments.limit:
        rows = rows.sample(arguments.limit, random_state=0)
    texts, labels = rows["text"].tolist(), np.array([classes.index(dataset.classes[label]) for label in rows["label"]])

    def log_odds(read: Sequence[str]) -> np.ndarray:
        chances = np.clip(model.predict(read).probabilities, LEAST, 1 - LEAST)
        return np.log(chances[:, 1] / chances[:, 0])

    def report(said: str, found: np.ndarray) -> None:
        print(f"{said}: {100 * ((found > 0) == labels).mean():.1f} % of {len(labels)}", flush=True)

    for words in arguments.words:
        cut = [pieces(text, words) for text in texts]
        owners = np.repeat(np.arange(len(cut)), [len(each) for each in cut])
        odds = log_odds([piece for each in cut for piece in each])
        report(f"pieces of {words} words", np.bincount(owners, odds) / np.bincount(owners))
    report("whole", log_odds(texts))


if __name__ == "__main__":
    main()
