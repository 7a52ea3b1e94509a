"""Invented multilabel texts: `warm`, `loud` and `late` occur in the words."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

LABELS = ("late", "loud", "warm")


def several_labels_file(path: Path, rows: int = 120) -> Path:
    """A CSV with labels separated by semicolons; 1/8 of the `rows` has an empty cell."""
    path.write_text("\n".join(["text,labels", *(f"{text},{';'.join(own)}" for text, own in _remarks(rows))]) + "\n")
    return path


def indicator_file(path: Path, rows: int = 120) -> Path:
    """A CSV with a 0/1 column per label; 1/8 of the texts has no label."""
    lines = [f"text,{','.join(f'y_{name}' for name in LABELS)}"]
    lines += [f"{text},{','.join(str(int(name in own)) for name in LABELS)}" for text, own in _remarks(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _remarks(rows: int) -> Iterator[tuple[str, list[str]]]:
    """Texts with the names of their labels among other words; all sets of labels are equally frequent."""
    random = np.random.default_rng(0)
    for number in range(rows):
        own = [name for place, name in enumerate(LABELS) if (number >> place) & 1]
        words = [*(f"word{each}" for each in random.integers(0, 30, random.integers(2, 8))), *own]
        random.shuffle(words)
        yield " ".join(words), own
