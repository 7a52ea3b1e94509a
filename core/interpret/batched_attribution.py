"""Deletion attribution of many texts in batches, and the agreement of other attribution methods with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.interpret.attribution import QUICK, list_methods
from core.interpret.attribution_math import find_largest
from core.interpret.explain_context import ExplainContext
from core.interpret.explained_text import ExplainedText, list_deletions, select_words
from core.text.special_ids import UNKNOWN
from core.text.word_spans import compute_shares, remove_words

AT_ONCE = 2048  # Texts in a batch, including their versions without a word, after which a new batch starts


@dataclass(frozen=True)
class DeletionAttribution:
    """The words of one text with their attributions by deletion (loss of log-odds without each word)."""

    target: str  # The class whose log-odds are explained
    words: tuple[str, ...]
    pushes: tuple[float, ...]  # Loss of log-odds without each word
    unknown: tuple[bool, ...]  # Whether a part of the word is not in the vocabulary


def attribute_texts(reader: ExplainContext, texts: Sequence[str], targets: Sequence[str]) -> list[DeletionAttribution]:
    """Return deletion attributions of n texts' words to given or predicted classes; InputError for an unknown class."""
    bare = "embedding" not in reader.model.provides  # TF-IDF has no token for unknown words
    found = []
    for reading in iterate_texts(reader, texts, targets):
        belongs = compute_shares(reading.text, reading.words, reading.encoding.offsets, reader.tokenizer.config)
        strange = np.array([token == UNKNOWN for token in reading.encoding.ids], bool)
        unknown = [bool(row[strange].any()) or (bare and not row.any()) for row in belongs]
        words = tuple(reading.text[start:end] for start, end in reading.words)
        pushes = tuple(map(float, reading.attribute_by("deletion").pushes))
        found.append(DeletionAttribution(reader.classes[reading.target], words, pushes, tuple(unknown)))
    return found


def iterate_texts(reader: ExplainContext, texts: Sequence[str], targets: Sequence[str] = ()) -> Iterator[ExplainedText]:
    """Yield each text, ready for deletion attribution: with the model's predictions without each single word."""
    wanted = iter(targets or [""] * len(texts))
    for part in _split_batches(texts):
        gone = [list_deletions(select_words(text)) for text in part]
        left = [reader.delete_words(text, each) for text, each in zip(part, gone, strict=True)]
        whole = [remove_words(text, each) for text, one in zip(part, gone, strict=True) for each in one]
        said, start = reader.predict_texts([each for one in left for each in one], None, whole), 0
        for text, one in zip(part, left, strict=True):
            yield ExplainedText(reader, text, next(wanted), said=said.select_rows(slice(start, start + len(one))))
            start += len(one)


def _split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    part, number = list[str](), 0
    for text in texts:
        part.append(text)
        number += 1 + len(select_words(text))
        if number >= AT_ONCE:
            yield part
            part, number = [], 0
    if part:
        yield part


STEPS = 10  # Progress reports, about
LEAST = 2  # Words of a text, at least


@dataclass(frozen=True)
class DeletionAgreement:
    """The agreement of one attribution method with deletion over many texts."""

    method: str
    texts: int  # Texts with at least two words that are not too long for the method
    same: int  # Texts in which both methods have the same top word
    chance: float | None  # Expected share for a random word, the mean of 1 / words; None without texts
    rho: float | None  # Mean of Spearman's rho over the texts that have one; None without any
    ranked: int  # Texts with Spearman's rho: at least three words, with unequal values


def compare_with_deletion(
    reader: ExplainContext,
    texts: Sequence[str],
    on_progress: Callable[[str, float | None], None] = lambda what, share: None,
) -> list[DeletionAgreement]:
    """Compare fast attribution methods with deletion on each text's predicted class.

    Texts of fewer than two words are left out. `on_progress` gets the share done; its exceptions stop the work.
    """
    named = [name for name in QUICK if name in list_methods(reader.model.provides) and name != "deletion"]
    same = {name: list[bool]() for name in named}
    chance = {name: list[float]() for name in named}
    rho = {name: list[float]() for name in named}
    for done, reading in enumerate(iterate_texts(reader, [text for text in texts if len(select_words(text)) >= LEAST])):
        if done % max(1, len(texts) // STEPS) == 0:
            on_progress("texts", done / len(texts))
        needed = find_largest(reading.attribute_by("deletion").pushes)
        for name in reading.filter_methods(named):
            same[name].append(find_largest(reading.attribute_by(name).pushes) == needed)
            chance[name].append(1 / len(reading.words))
            value = reading.compute_agreement("deletion", name)
            rho[name] += [] if value is None else [value]
    found = []
    for name in named:
        of_chance, of_rho = (float(np.mean(each[name])) if each[name] else None for each in (chance, rho))
        agreed = len(same[name]), sum(same[name])
        found.append(DeletionAgreement(name, *agreed, of_chance, of_rho, len(rho[name])))
    return found
