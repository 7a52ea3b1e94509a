"""Composition of the built-in corpus's sentences from templates: fitting nouns, polar words, agreement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, TypeVar

from core.data.sources.builtin.lexicon import (
    Noun,
    PolarWord,
    is_held_out,
    list_domains,
    read_fillers,
    read_nouns,
    read_words,
)
from core.data.sources.builtin.sentence_templates import SLOT, Frame, read_clauses

Mode = Literal["train", "seen", "unseen"]
"""The words to use: those allowed in training for the phenomenon; all but starred words; only starred words."""

Item = TypeVar("Item", Noun, PolarWord)

WHEN_SHARE = 0.4
WE_SHARE = 0.3
PARTS = {
    **{slot: "adj" for slot in ("adj", "mild", "strong", "more", "np")},
    **{slot: slot.removesuffix("p") for slot in ("feel", "feelp", "affect", "affectp")},
    **{slot: slot.removesuffix("p") for slot in ("adv", "outcome", "outcomep", "situation")},
    "pn": "pn",
    "stirp": "affect",
}
OTHER_FORM = {"feelp", "affectp", "stirp", "outcomep", "more"}
STRENGTH = {"mild": 1, "more": 1, "stirp": 1, "strong": 2}
NOT_FOR_PEOPLE = {"np", "feel", "feelp", "pn", "adv", "they", "it"}
PEOPLE = {"staff", "artist"}
AGREEING = {
    "be": ("was", "were"),
    "bent": ("wasn't", "weren't"),
    "are": ("is", "are"),
    "they": ("it", "they"),
    "it": ("it", "them"),
}
"""Slots that agree with the opinion's noun: singular, plural."""
VOWEL = re.compile(r"\b([Aa]) (?=hour|honest|[aeiou](?!se|niq|uph|ne-))")
"""`a` before a vowel sound; use…, uniq…, euph… and one-… have none."""
SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] ))[a-z]")


class NoFit(Exception):
    """A signal that no word or noun fits the drawn sentence template, so that the caller draws again."""


@dataclass(frozen=True)
class ComposedSentence:
    """A composed sentence of the built-in corpus, with its score, domain and polar words."""

    text: str
    score: int
    frame: Frame
    domain: str
    words: tuple[PolarWord, ...]
    """The polar words, in the order of the frame's opinions."""

    @property
    def unseen(self) -> bool:
        """Return whether a composed sentence has a polar word that never occurs in training."""
        return any(word.unseen for word in self.words)


def compose_sentence(frame: Frame, sign: int, rng: Random, mode: Mode = "train") -> ComposedSentence:
    """Compose a sentence from a template (frame), so that the whole sentence has the given sign of sentiment.

    Args:
        frame: The template and its rule of composition.
        sign: +1 or -1; for a frame with score zero, it only decides which opinion comes first.
        rng: The random generator.
        mode: The words to use. With `unseen`, exactly one opinion has a starred word.
    """
    domain = frame.domain or rng.choice(list_domains())
    template = SLOT.sub(lambda slot: _choose_clause(slot, rng), frame.template)
    topics = _choose_topics(frame, template, domain, rng)
    chosen = _choose_words(frame, template, sign, domain, topics, mode, rng)
    speaker = ("I", "me") if re.search(r"\b(I|my|me)\b", template) or rng.random() > WE_SHARE else ("we", "us")
    text = VOWEL.sub(r"\1n ", SLOT.sub(lambda slot: _fill_slot(slot, chosen, topics, speaker, rng), template))
    text = SENTENCE_START.sub(lambda start: start[0].upper(), text)
    words = tuple(chosen[index] for index in sorted(chosen))
    return ComposedSentence(text, _compute_score(frame, sign, chosen), frame, domain, words)


def _choose_clause(slot: re.Match[str], rng: Random) -> str:
    options = read_clauses().get(slot[1])
    return rng.choice(options).replace("#", slot[2]) if options else slot[0]


@cache
def _parse_slots(template: str) -> tuple[list[tuple[str, str]], dict[int, tuple[str, bool]], frozenset[int]]:
    """Return a sentence template's slots, each opinion's noun as whole or aspect, and the opinions without a noun."""
    slots = SLOT.findall(template)
    by_index: dict[int, set[str]] = {}
    for slot, digit in slots:
        if digit:
            by_index.setdefault(int(digit), set()).add(slot)
    nounless = frozenset(index for index, names in by_index.items() if not names & {"n", "np", "w"})
    shared = set().union(*(by_index[index] for index in nounless))
    own = {
        index: ("whole" if "w" in names else "aspect", bool((names | shared) & NOT_FOR_PEOPLE))
        for index, names in sorted(by_index.items())
        if index not in nounless
    }
    return slots, own, nounless


def _choose_topics(frame: Frame, template: str, domain: str, rng: Random) -> dict[int, Noun]:
    _, own, nounless = _parse_slots(template)
    found: dict[int, Noun] = {}
    for index, (role, no_people) in own.items():
        found[index] = _draw_new(_find_nouns(domain, role, frame.kinds, no_people), found, rng)
    if found:
        first = next(iter(found.values()))
        found |= {index: first for index in nounless}
    return found


def _choose_words(
    frame: Frame, template: str, sign: int, domain: str, topics: dict[int, Noun], mode: Mode, rng: Random
) -> dict[int, PolarWord]:
    """Choose a polar word for each opinion of a sentence; in mode `unseen`, one is a word that training lacks."""
    starred = rng.randrange(len(frame.signs)) + 1 if mode == "unseen" else 0
    chosen: dict[int, PolarWord] = {}
    for slot, digit in _parse_slots(template)[0]:
        if slot in PARTS:
            index = int(digit)
            of = domain if slot == "situation" else topics[index].kind if index in topics else ""
            mode_here: Mode = "unseen" if index == starred else "seen" if mode == "unseen" else mode
            word_sign = sign * frame.signs[index - 1]
            strength, denied = STRENGTH.get(slot, 0), frame.denied[index - 1]
            pool = _find_words(PARTS[slot], of, word_sign, strength, denied, frame.phenomenon, mode_here)
            chosen[index] = _draw_new(pool, chosen, rng)
    return chosen


def _draw_new(pool: tuple[Item, ...], used: dict[int, Item], rng: Random) -> Item:
    if not pool:
        raise NoFit
    item = rng.choice(pool)
    if item in used.values():
        raise NoFit
    return item


@cache
def _find_nouns(domain: str, role: str, kinds: frozenset[str], no_people: bool) -> tuple[Noun, ...]:
    return tuple(
        noun
        for noun in read_nouns()
        if noun.domain == domain
        and noun.role == role
        and (not kinds or noun.kind in kinds)
        and not (no_people and noun.kind in PEOPLE)
    )


@cache
def _find_words(
    part: str, of: str, sign: int, strength: int, denied: bool, phenomenon: str, mode: Mode
) -> tuple[PolarWord, ...]:
    """Return polar words of a part of speech by kind of noun, sign, strength (0: any) and whether training has them."""
    kinds = {"any", "person", of} if of in PEOPLE else {"any", "thing", of}
    return tuple(
        word
        for word in read_words()
        if word.part == part
        and word.kind in kinds
        and word.score * sign > 0
        and strength in (0, abs(word.score))
        and (word.deniable or not denied)
        and word.unseen == (mode == "unseen")
        and not (mode == "train" and is_held_out(word, phenomenon))
    )


def _fill_slot(
    slot: re.Match[str], chosen: dict[int, PolarWord], topics: dict[int, Noun], speaker: tuple[str, str], rng: Random
) -> str:
    name, index = slot[1], int(slot[2] or 0)
    if name in PARTS:
        word = chosen[index]
        if name == "np":
            noun = topics[index]
            return f"{'a ' if noun.number == 's' else ''}{word.text} {noun.text}"
        return word.other if name in OTHER_FORM else word.text
    if name in ("n", "w"):
        return topics[index].text
    if name in AGREEING:
        return AGREEING[name][topics[index].number == "p"]
    if name in ("we", "me"):
        return speaker[name == "me"]
    if name == "when":
        return f"{_insert_names(rng.choice(read_fillers()['when']), rng)}, " if rng.random() < WHEN_SHARE else ""
    choice = rng.choice(read_fillers()[topics[index].kind if name == "done" else name.lower()])
    return _insert_names(choice, rng)


def _insert_names(text: str, rng: Random) -> str:
    """Replace `*` in a sentence by an invented surname; most are rare, so that training meets unknown words."""
    return text.replace("*", rng.choice(read_fillers()["start"]) + rng.choice(read_fillers()["end"]))


def _compute_score(frame: Frame, sign: int, chosen: dict[int, PolarWord]) -> int:
    if frame.score.isdigit():
        return chosen[int(frame.score)].score
    return sign * {"zero": 0, "weak": 1, "strong": 2}[frame.score]
