"""When two texts are the same to a model: what the settings make of them before a vocabulary is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from core.text.config import TextConfig
from core.text.normalise import prepare_all
from core.text.words import split_words

MATTERS = ("normaliser", "lookalikes", "mark_elongation", "mark_capitals", "tokenizer")


def as_read(texts: Iterable[str], config: TextConfig) -> list[str]:
    """Return one key for each text; texts with the same key are equal to every model with these settings.

    Of the word tokenizer the words and marks of the normalised text, of byte pairs the normalised text itself. Texts
    that differ in an unknown word, or only behind the place where a long one is cut, stay different.
    """
    prepared = prepare_all(texts, config)
    return [" ".join(split_words(text)) for text in prepared] if config.tokenizer == "word" else prepared


def reading(config: TextConfig) -> dict[str, Any]:
    """The settings by which `as_read` goes; look-alikes only where they are read as one."""
    known = dataclasses.asdict(config)
    return {name: known[name] for name in known if name in MATTERS and (name != "lookalikes" or known[name])}
