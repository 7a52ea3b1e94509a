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

AT_ONCE = 2048
"""Texts, those without a word among them, that are read before the words of the next are counted."""


@dataclass(frozen=True)
class DeletionAttribution:
    """The words of one text with their attributions by deletion (loss of log-odds without each word)."""

    target: str  # The class whose log-odds are pushed
    words: tuple[str, ...]
    pushes: tuple[float, ...]  # What the log-odds lose without each
    unknown: tuple[bool, ...]  # Not in the vocabulary, in whole or in part


def attribute_texts(reader: ExplainContext, texts: Sequence[str], targets: Sequence[str]) -> list[DeletionAttribution]:
    """Return deletion attributions of n texts' words to given or predicted classes; InputError for an unknown class."""
    bare = "embedding" not in reader.model.provides  # counts have no token for what they do not know
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


STEPS = 10  # Of progress, about
LEAST = 2  # Words of a text in which there is something to choose


@dataclass(frozen=True)
class DeletionAgreement:
    """The agreement of one attribution method with deletion over many texts."""

    method: str
    texts: int  # That have two words or more, and are not too long for the method
    same: int  # In how many of them its word that counts most (of attention: is most read) is the most needed one
    chance: float | None  # In which share a word drawn at random would be: mean of 1 / words; None: no text
    rho: float | None  # Mean of Spearman's rho over those that have one; None: none has
    ranked: int  # How many have one: three words or more, and not all alike


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
            found = reading.compute_agreement("deletion", name)
            rho[name] += [] if found is None else [found]
    return [
        DeletionAgreement(
            name,
            len(same[name]),
            sum(same[name]),
            _average_values(chance[name]),
            _average_values(rho[name]),
            len(rho[name]),
        )
        for name in named
    ]


def _average_values(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
