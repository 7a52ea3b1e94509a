"""Generation of the built-in corpus: shares of phenomena, no duplicates, and items held out from training.

All random generators are seeded here, so the texts are the same on every machine. Sentences with score 0 (mixed and
lukewarm opinions, facts) are drawn last, so the corpus with two classes is the one with three or five without them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Literal, TypeVar

import numpy as np
import pandas as pd

from core.data.dataset import TEST, TRAIN, VALIDATION
from core.data.sources.builtin.corpus_files import (
    CHALLENGE,
    EVERYDAY,
    FACT,
    LUKEWARM,
    MIXED,
    SLOT,
    Frame,
    Noun,
    PolarWord,
    convert_scores,
    get_class_names,
    is_held_out,
    list_domains,
    load_split,
    read_clauses,
    read_fillers,
    read_frames,
    read_nouns,
    read_rows,
    read_words,
)

Mode = Literal["train", "seen", "unseen"]  # Words allowed in training; without starred words; starred ones

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
}  # Slots that agree with the opinion's noun: singular, plural
VOWEL = re.compile(r"\b([Aa]) (?=hour|honest|[aeiou](?!se|niq|uph|ne-))")  # Not use…, uniq…, euph…, one-…
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
    words: tuple[PolarWord, ...]  # The polar words, in the order of the frame's opinions

    @property
    def unseen(self) -> bool:
        """Return whether a composed sentence has a polar word that never occurs in training."""
        return any(word.unseen for word in self.words)


def compose_sentence(frame: Frame, sign: int, rng: Random, mode: Mode = "train") -> ComposedSentence:
    """Compose a sentence from a template (frame), so that the whole sentence has the given sign of sentiment.

    For a frame with score zero, `sign` (+1 or -1) only decides which opinion comes first. In mode `unseen`, exactly one
    opinion has a starred word.
    """
    domain = frame.domain or rng.choice(list_domains())
    many = read_clauses()
    template = SLOT.sub(lambda s: rng.choice(many[s[1]]).replace("#", s[2]) if s[1] in many else s[0], frame.template)
    _, own, nounless = _parse_slots(template)
    topics: dict[int, Noun] = {}
    for index, (role, no_people) in own.items():
        topics[index] = _draw_new(_find_nouns(domain, role, frame.kinds, no_people), topics, rng)
    topics |= dict.fromkeys(nounless, next(iter(topics.values()))) if topics else {}
    chosen = _choose_words(frame, template, sign, domain, topics, mode, rng)
    speaker = ("I", "me") if re.search(r"\b(I|my|me)\b", template) or rng.random() > WE_SHARE else ("we", "us")
    text = VOWEL.sub(r"\1n ", SLOT.sub(lambda slot: _fill_slot(slot, chosen, topics, speaker, rng), template))
    text = SENTENCE_START.sub(lambda start: start[0].upper(), text)
    words = tuple(chosen[index] for index in sorted(chosen))
    return ComposedSentence(text, _compute_score(frame, sign, chosen), frame, domain, words)


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
    if not pool or (item := rng.choice(pool)) in used.values():
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
    return _insert_names(rng.choice(read_fillers()[topics[index].kind if name == "done" else name.lower()]), rng)


def _insert_names(text: str, rng: Random) -> str:
    """Replace `*` in a sentence by an invented surname; most are rare, so that training meets unknown words."""
    return text.replace("*", rng.choice(read_fillers()["start"]) + rng.choice(read_fillers()["end"]))


def _compute_score(frame: Frame, sign: int, chosen: dict[int, PolarWord]) -> int:
    if frame.score.isdigit():
        return chosen[int(frame.score)].score
    return sign * {"zero": 0, "weak": 1, "strong": 2}[frame.score]


SEED = "built-in corpus 2"
ROWS = {TRAIN: 16_000, VALIDATION: 1_600, TEST: 3_200}  # Rows with an opinion; a quarter as many with score 0 are added
SHARES = {row["phenomenon"]: int(row["weight"]) for row in read_rows("shares.tsv")}
"""Phenomenon → its weight among the rows with an opinion, the same in every split."""
NEUTRAL_SHARES = {MIXED: 1, LUKEWARM: 1, FACT: 1}
NEW_FRAME_SHARE = 0.45  # Share of test rows with frames that training never uses
UNSEEN_SHARE = 0.15  # Share of test rows with a polar word that never occurs in training
WITH_UNSEEN = (
    *("plain", "contrast", "concession", "verdict", "reported opinion", "then and now", "conditional"),
    "aspect switch",
)  # Phenomena with a second opinion, from which a reader can infer the unseen word
_UNSEEN_WEIGHT = sum(SHARES[phenomenon] for phenomenon in WITH_UNSEEN)
WITHOUT_NEW_PAIRS = ("irony",)  # Its situations occur in no other phenomenon


def generate_corpus(classes: int = 2) -> dict[str, pd.DataFrame]:
    """Build the splits of the built-in corpus with 2 classes (without score 0), 3 (by sign) or 5 (every score).

    These are train, validation and test, and the handwritten splits challenge and everyday, with a new index and the
    columns text (str), label (int64), phenomenon, score (int64, -2..2), domain, frame (id in `frames.tsv`), unseen.
    """
    get_class_names(classes)
    splits = {name: _build_table(rows, classes) for name, rows in draw_sentences(neutral=classes != 2).items()}
    return splits | {name: load_split(name, classes) for name in (CHALLENGE, EVERYDAY)}


@cache
def draw_sentences(neutral: bool) -> Mapping[str, tuple[ComposedSentence, ...]]:
    """Draw all sentences of the built-in corpus by split, shuffled, with or without neutral ones; takes 1.5 seconds."""
    taken: set[str] = set()
    splits = {split: _draw_split(split, SHARES, count, taken) for split, count in ROWS.items()}
    for split, count in ROWS.items() if neutral else ():
        splits[split] += _draw_split(split, NEUTRAL_SHARES, count // 4, taken)
    for split, rows in splits.items():
        Random(f"{SEED} order {split}").shuffle(rows)
    return {split: tuple(rows) for split, rows in splits.items()}


def _draw_split(split: str, shares: dict[str, int], count: int, taken: set[str]) -> list[ComposedSentence]:
    found: list[ComposedSentence] = []
    for phenomenon, share in shares.items():
        rng = Random(f"{SEED} {split} {phenomenon}")
        for number in range(2 * round(count * share / sum(shares.values()) / 2)):
            sentence = _draw_fresh(split, phenomenon, 1 if number % 2 else -1, rng, taken)
            taken.add(sentence.text.casefold())
            found.append(sentence)
    return found


def _draw_fresh(split: str, phenomenon: str, sign: int, rng: Random, taken: set[str]) -> ComposedSentence:
    """Draw sentences until one is new; a test sentence may also have to contain something that training lacks."""
    new_frame, mode, new_pair = _draw_novelty(split, phenomenon, rng)
    while True:
        frame = rng.choice(_choose_frames(phenomenon, new_frame, mode))
        try:
            sentence = compose_sentence(frame, sign, rng, mode)
        except NoFit:
            continue
        if new_pair and not any(is_held_out(word, phenomenon) for word in sentence.words):
            continue
        if sentence.text.casefold() not in taken:
            return sentence


def _draw_novelty(split: str, phenomenon: str, rng: Random) -> tuple[bool, Mode, bool]:
    """Draw at random how a test sentence differs from training: held-out template, unseen word, or new word pair."""
    if split != TEST:
        return False, "train", False
    new_frame = rng.random() < NEW_FRAME_SHARE
    if phenomenon in NEUTRAL_SHARES:
        return new_frame, "seen", False
    if phenomenon in WITH_UNSEEN and rng.random() < UNSEEN_SHARE * sum(SHARES.values()) / _UNSEEN_WEIGHT:
        return new_frame, "unseen", False
    return new_frame, "seen", not new_frame and phenomenon not in WITHOUT_NEW_PAIRS


@cache
def _choose_frames(phenomenon: str, held_out_ones: bool, mode: Mode) -> tuple[Frame, ...]:
    """Return a phenomenon's sentence templates to draw from; only those with several opinions in mode `unseen`."""
    return tuple(
        frame
        for frame in read_frames()
        if frame.phenomenon == phenomenon
        and frame.held_out == held_out_ones
        and (mode != "unseen" or len(frame.signs) > 1)
    )


def _build_table(rows: Sequence[ComposedSentence], classes: int) -> pd.DataFrame:
    scores = np.array([row.score for row in rows], dtype=np.int64)
    return pd.DataFrame(
        {
            "text": pd.Series([row.text for row in rows], dtype="str"),
            "label": convert_scores(scores, classes),
            "phenomenon": [row.frame.phenomenon for row in rows],
            "score": scores,
            "domain": [row.domain for row in rows],
            "frame": [row.frame.id for row in rows],
            "unseen": np.array([row.unseen for row in rows], dtype=bool),
        }
    )
