"""The words of the built-in corpus, read from `lexicon.tsv`, `nouns.tsv` and `fillers.tsv` in this folder."""

from __future__ import annotations

import csv
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HELD_OUT_ONE_IN = 8


@dataclass(frozen=True)
class PolarWord:
    """A polar (positive or negative) word or phrase of the built-in corpus."""

    text: str
    """A verb's base form, an outcome in the past tense, or a noun with its article."""
    other: str
    """A verb's past tense, an adjective's comparative, an outcome's participle."""
    part: str
    """The slot that it fills: adj, feel, affect, pn, adv, outcome or situation."""
    kind: str
    """What it can describe: any, thing (all but people), person, one kind of noun, or a domain (situations)."""
    score: int
    """Polarity and strength: -2, -1, 1 or 2."""
    unseen: bool
    """Whether only the test split has it: marked with a star in the file."""
    deniable: bool
    """Whether its negation means the opposite; false for score -2 (not horrible does not mean good), and for words with
    a tilde in the file."""


@dataclass(frozen=True)
class Noun:
    """A noun of the built-in corpus that an opinion can be about."""

    text: str
    domain: str
    role: str
    """`whole` (the film) or `aspect` (its plot)."""
    kind: str
    """story, dish, room, device, event, staff or artist; decides which adjectives fit."""
    number: str
    """s: singular, p: plural, m: mass noun (singular, without an article)."""


def read_rows(name: str | Path) -> list[dict[str, str]]:
    """Read a tab-separated file of this folder, or one with a full path, as one dict per row."""
    with (Path(__file__).parent / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def read_words() -> tuple[PolarWord, ...]:
    """Return all polar words and phrases of the built-in corpus, in the order of their file."""
    return tuple(
        _parse_word(entry, row["part"], row["kind"], int(row["score"]))
        for row in read_rows("lexicon.tsv")
        for entry in row["words"].split(", ")
    )


@cache
def read_nouns() -> tuple[Noun, ...]:
    """Return all nouns of the built-in corpus, in the order of their file."""
    return tuple(
        Noun(text, row["domain"], row["role"], row["kind"], row["number"])
        for row in read_rows("nouns.tsv")
        for text in row["nouns"].split(", ")
    )


@cache
def list_domains() -> tuple[str, ...]:
    """Return the domains of the built-in corpus's nouns, in the order of their file."""
    return tuple(dict.fromkeys(noun.domain for noun in read_nouns()))


@cache
def read_fillers() -> dict[str, tuple[str, ...]]:
    """Return neutral words by template slot: lead-ins, intensifiers, people, days, and participles by kind of noun."""
    return {row["slot"]: tuple(row["choices"].split(", ")) for row in read_rows("fillers.tsv")}


def is_held_out(word: PolarWord, phenomenon: str) -> bool:
    """Return whether a polar word is held out from training sentences of a phenomenon: one word in eight, by checksum.

    Situations and irregular forms (tastier, given) occur in one phenomenon only and are never held out.
    """
    irregular = word.part in ("adj", "outcome") and word.other not in (word.text, f"more {word.text}")
    one_use = word.part == "situation" or irregular
    return not one_use and zlib.crc32(f"{phenomenon}:{word.text}".encode()) % HELD_OUT_ONE_IN == 0


def _parse_word(entry: str, part: str, kind: str, score: int) -> PolarWord:
    listed = entry.rstrip("*~")
    marks = entry.removeprefix(listed)
    text, _, other = listed.partition("/")
    if not other:
        other = f"more {text}" if part == "adj" else text
    return PolarWord(text, other, part, kind, score, unseen="*" in marks, deniable=score > -2 and "~" not in marks)
