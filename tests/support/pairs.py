"""A pair task: do two texts agree? One text alone does not contain the answer."""

import random
from pathlib import Path

import pandas as pd

WORDS = {"good": "good great fine lovely superb bright".split(), "bad": "bad awful poor dull grim weak".split()}
THINGS = "film book song meal hotel game".split()
COLUMNS = ["sentence1", "sentence2", "label"]


def pair_rows(count: int, seed: int) -> list[tuple[str, str, str]]:
    """First text, second text, `same` or `different`; each text has each polarity equally often under each label."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        sides = [draw.choice(["good", "bad"]) for _ in range(2)]
        first, second = (f"the {draw.choice(THINGS)} was {draw.choice(WORDS[side])}" for side in sides)
        rows.append((first, second, "same" if sides[0] == sides[1] else "different"))
    return rows


def pair_folder(folder: Path, train: int = 1200, rest: int = 250) -> Path:
    """A data set of such pairs in three files."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, count) in enumerate((("train", train), ("dev", rest), ("test", rest))):
        pd.DataFrame(pair_rows(count, seed), columns=COLUMNS).to_csv(folder / f"{split}.csv", index=False)
    return folder
