"""Small models of every preset with a tokenizer, as a run provides them for explanations; their token values."""

import dataclasses
from typing import Any

import numpy as np
import small_readers
import torch
from small_models import make, small

from core.evaluation.inference import switch_to_eval
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.forward_pass import compute_stages
from core.interpret.sentence_inspection import inspect_text
from core.models.presets import PRESETS
from core.models.trace import Batch
from core.text.config import TextConfig
from core.text.lexicon import Lexicon
from core.text.ngrams import NGramTokenizer
from core.text.token_table import to_batch
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.training.temperature import UNSCALED

TEXT = "Not bad at all, but the ending never works and the film drags on"
CLASSES = ("bad", "fair", "good")
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def ask_two(tokenizer: Tokenizer) -> None:
    """By word length, the second lexicon gives words of the first a slightly negative value, or none."""
    assert tokenizer.lexicon is not None
    first = tokenizer.lexicon.entries
    tokenizer.set_lexicon(Lexicon({word: (*counts, 0.0, 0.2, len(word) % 3) for word, counts in first.items()}))


def reader(preset, *, task="single", scaling=UNSCALED, text=TEXT, spoilt=(), edited=UNCHANGED, **change):
    config = PRESETS[preset].model
    if config.family == "encoder":
        config = dataclasses.replace(small(dataclasses.replace(config, **change)), layers=change.get("layers", 2))
    about = {"min_freq": 1, "max_length": 15}
    if config.family.startswith("tfidf"):
        tokenizer = NGramTokenizer.fit([text], TextConfig(min_freq=1, max_vocab=40))
    else:
        lexicon = {"lexicon": "vader"} if config.needs_lexicon else {}
        tagger = {"tagger": "auto"} if config.needs_tags else {}
        tokenizer = fit_tokenizer([text], TextConfig(**about, **lexicon, **tagger))
        tokenizer.buckets = config.ngram_buckets
        if config.attention.lexicons > 1:
            ask_two(tokenizer)
    model = make(config, pairs=tokenizer.pairs)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean += 0.1
            module.running_var *= 1.7
    return lent(model, tokenizer, edited, task=task, scaling=scaling)


def lent(model, tokenizer, change=UNCHANGED, **given) -> ExplainContext:
    """A model of three classes with its tokenizer."""
    return small_readers.lent(model, tokenizer, CLASSES, change, **given)


def traced(own, text=TEXT):
    with switch_to_eval(own.model):
        return own.model(Batch.from_arrays(to_batch(own.tokenizer.encode(text))), trace=True)


def check(own, text=TEXT, **place):
    """All steps of a text by their rules, and the result."""
    found = compute_stages(own, text, **place)
    for stage in found.stages:
        for matrix in stage.matrices:
            assert matrix.values.shape == (len(matrix.rows), len(matrix.columns) - bool(matrix.words)), matrix.name
            if matrix.rule is None:
                continue
            np.testing.assert_allclose(
                matrix.values, matrix.rule.compute_values(), **CLOSE, err_msg=f"{stage.key} {matrix.name}"
            )
            matrix.format_cell(0, 0)
    said = own.predict_texts([text], own.intervene).probabilities[0]
    np.testing.assert_allclose(found.stages[-1].made[0], said, **CLOSE)
    return found


def read_values(preset: str, words: str = "not a bad film", **attention: Any):
    """Token values of these words by a small model of a preset with its tags and polarities; and the model."""
    config = PRESETS[preset].model
    config = small(dataclasses.replace(config, attention=dataclasses.replace(config.attention, **attention)))
    tagger, lexicon = "en" if config.needs_tags else "none", "vader" if config.needs_lexicon else ""
    tokenizer = fit_tokenizer(["not a bad film"] * 3, TextConfig(min_freq=1, tagger=tagger, lexicon=lexicon))
    if config.attention.lexicons > 1:
        ask_two(tokenizer)
    model = make(config, torch.float32)
    return inspect_text(model, tokenizer, ("a", "b", "c"), words), model
