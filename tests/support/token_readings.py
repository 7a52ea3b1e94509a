"""Readings by small models of every kind, with what they know of each token."""

from __future__ import annotations

import torch
from small_models import make, small

from core.interpret.sentence import inspect_text
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizers import fit_tokenizer


def read(preset: str, words: str = "not a bad film"):
    """A reading of these words by a small model of a preset, with the tags and polarities it needs; and the model."""
    config = small(PRESETS[preset].model)
    text = TextConfig(
        min_freq=1, tagger="en" if config.needs_tags else "none", lexicon="vader" if config.needs_lexicon else ""
    )
    tokenizer = fit_tokenizer(["not a bad film"] * 3, text)
    model = make(config, torch.float32)
    return inspect_text(model, tokenizer, ("a", "b", "c"), words), model
