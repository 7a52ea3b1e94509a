"""Token values from small models of every kind."""

import dataclasses
from typing import Any

import torch
from several_lexicons import ask_two
from small_models import make, small

from core.interpret.sentence_inspection import inspect_text
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer


def read(preset: str, words: str = "not a bad film", **attention: Any):
    """Token values of these words by a small model of a preset with its tags and polarities; and the model."""
    config = PRESETS[preset].model
    config = small(dataclasses.replace(config, attention=dataclasses.replace(config.attention, **attention)))
    text = TextConfig(
        min_freq=1, tagger="en" if config.needs_tags else "none", lexicon="vader" if config.needs_lexicon else ""
    )
    tokenizer = fit_tokenizer(["not a bad film"] * 3, text)
    if config.attention.lexicons > 1:
        ask_two(tokenizer)
    model = make(config, torch.float32)
    return inspect_text(model, tokenizer, ("a", "b", "c"), words), model
