"""An invented tagging task: names of people and places in sentences of a few patterns."""

import random
from pathlib import Path

FIRST = ("Almo", "Berin", "Cavo", "Delia", "Emra", "Fosk", "Gella", "Hurin")
LAST = ("Tarn", "Velk", "Worin", "Yost", "Zell", "Quist", "Orban", "Nemet")
PLACES = ("Marrow", "Tilden", "Osk", "Varna", "Pell", "Lumen", "Corven", "Dovre")
PATTERNS = (
    "{person} walked to {place} .",
    "in {place} it rained , said {person} .",
    "the road from {place} to {place} is long .",
    "nobody has seen {person} since spring .",
    "{person} and {person} live in {place} .",
    "the bread was warm and the tea was cold .",
)


def sentences(count: int, seed: int = 0) -> list[list[tuple[str, str]]]:
    """Words with IOB2 tags; a person's name has one or two words, some places start with `Old`."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        words: list[tuple[str, str]] = []
        for part in chance.choice(PATTERNS).split():
            if part == "{person}":
                words += _span([chance.choice(FIRST), *([chance.choice(LAST)] if chance.random() < 0.5 else [])], "PER")
            elif part == "{place}":
                words += _span([*(["Old"] if chance.random() < 0.3 else []), chance.choice(PLACES)], "LOC")
            else:
                words.append((part, "O"))
        made.append(words)
    return made


def write_conll(path: Path, count: int, seed: int = 0) -> Path:
    """A file of such sentences, with a word and its tag on each line."""
    blocks = ("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in sentences(count, seed))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return path


def _span(words: list[str], kind: str) -> list[tuple[str, str]]:
    return [(word, f"{'I' if place else 'B'}-{kind}") for place, word in enumerate(words)]
