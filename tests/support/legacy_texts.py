"""Short reviews in 24 languages, for files in legacy encodings.

`legacy_texts.tsv` has beginnings and endings with bars between, and the encodings in which files of a language are met.
"""

import random
from pathlib import Path

_, *LINES = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
ROWS = {language: row for language, *row in (line.split("\t") for line in LINES)}
ENCODINGS = {language: encodings.split(",") for language, (encodings, *_) in ROWS.items()}


def reviews(language: str, rows: int) -> str:
    """A CSV of reviews with distinct rows, at most 64."""
    firsts, lasts = (part.split("|") for part in ROWS[language][1:])
    joint = "" if language in ("zh-Hans", "zh-Hant", "ja", "ko") else " "
    texts = [f"{first}{joint}{last}" for first in firsts for last in lasts]
    random.Random(language).shuffle(texts)
    lines = [f'"{text}",{("negative", "positive")[number % 2]}' for number, text in enumerate(texts[:rows])]
    return "\n".join(["text,label", *lines]) + "\n"
