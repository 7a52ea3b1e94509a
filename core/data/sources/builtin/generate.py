"""Generation of the built-in corpus: shares of phenomena, no duplicates, and items held out from training.

All random generators are seeded here, so the texts are the same on every machine. Sentences with score 0 (mixed and
lukewarm opinions, facts) are drawn last, so the corpus with two classes is the one with three or five without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

import numpy as np
import pandas as pd

from core.data.dataset import TEST, TRAIN, VALIDATION
from core.data.sources.builtin.compose import ComposedSentence, Mode, NoFit, compose_sentence
from core.data.sources.builtin.handwritten import CHALLENGE, EVERYDAY, convert_scores, get_class_names, load_split
from core.data.sources.builtin.lexicon import is_held_out
from core.data.sources.builtin.sentence_templates import FACT, LUKEWARM, MIXED, Frame, read_frames

SEED = "built-in corpus 2"
ROWS = {TRAIN: 16_000, VALIDATION: 1_600, TEST: 3_200}
"""Rows with an opinion; a quarter as many with score 0 are added."""
SHARES = {
    "plain": 54,
    "intensifier": 6,
    "diminisher": 5,
    "negation": 8,
    "long-range negation": 5,
    "double negation": 5,
    "contrast": 8,
    "concession": 7,
    "verdict": 5,
    "reported opinion": 6,
    "then and now": 5,
    "comparative": 6,
    "conditional": 5,
    "unmet expectation": 4,
    "question": 4,
    "irony": 9,
    "aspect switch": 4,
    "stacked": 3,
}
"""Phenomenon → its weight among the rows with an opinion, the same in every split."""
NEUTRAL_SHARES = {MIXED: 1, LUKEWARM: 1, FACT: 1}
NEW_FRAME_SHARE = 0.45
"""Share of test rows with frames that training never uses."""
UNSEEN_SHARE = 0.15
"""Share of test rows with a polar word that never occurs in training."""
WITH_UNSEEN = (
    *("plain", "contrast", "concession", "verdict", "reported opinion", "then and now", "conditional"),
    "aspect switch",
)
"""Phenomena with a second opinion, from which a reader can infer the unseen word."""
_UNSEEN_WEIGHT = sum(SHARES[phenomenon] for phenomenon in WITH_UNSEEN)
WITHOUT_NEW_PAIRS = ("irony",)
"""Its situations occur in no other phenomenon, so only frames and whole sentences can be held out."""


def generate_corpus(classes: int = 2) -> dict[str, pd.DataFrame]:
    """Build the splits of the built-in corpus with two, three or five classes.

    Args:
        classes: 2 (without score 0), 3 (by sign) or 5 (every score).

    Returns:
        Train, validation and test, and the handwritten splits challenge and everyday, with a new index and the columns
        text (str), label (int64), phenomenon, score (int64, -2..2), domain, frame (id in `frames.tsv`), unseen (bool).
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
