"""Made-up texts with several labels each: `warm`, `loud` and `late` occur in the words; no real text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LABELS = ("late", "loud", "warm")


def several_labels_file(path: Path, rows: int = 120) -> Path:
    """A CSV of `rows` texts whose labels, separated by semicolons, are the names of the words in them; some have none."""
    random = np.random.default_rng(0)
    lines = ["text,labels"]
    for number in range(rows):
        own = [name for place, name in enumerate(LABELS) if (number >> place) & 1]
        words = [*(f"word{each}" for each in random.integers(0, 30, random.integers(2, 8))), *own]
        random.shuffle(words)
        lines.append(f"{' '.join(words)},{';'.join(own)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def indicator_file(path: Path, rows: int = 120) -> Path:
    """The same kind of texts with a 0/1 column per label, so that texts without a label stay."""
    random = np.random.default_rng(0)
    lines = [f"text,{','.join(f'y_{name}' for name in LABELS)}"]
    for number in range(rows):
        bits = [(number >> place) & 1 for place in range(len(LABELS))]
        own = [name for name, bit in zip(LABELS, bits, strict=True) if bit]
        words = [*(f"word{each}" for each in random.integers(0, 30, random.integers(2, 8))), *own]
        random.shuffle(words)
        lines.append(f"{' '.join(words)},{','.join(map(str, bits))}")
    path.write_text("\n".join(lines) + "\n")
    return path
