"""Small models for explanations, as trained or with changes inside."""

import dataclasses

import torch
from small_models import small

from core.evaluation.inference import predict_texts
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.sentence_inspection import inspect_text
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer
from core.training.temperature import UNSCALED

TEXT = "very very good , but never bad"
CLASSES = ("bad", "good")


def lent(model, tokenizer, classes=CLASSES, change=UNCHANGED, **about) -> ExplainContext:
    """A model with its tokenizer, as a run provides them."""
    about = {"task": "single", "scaling": UNSCALED, **about}
    return ExplainContext(
        predict=lambda texts, intervene=None: predict_texts(model, tokenizer, texts, intervene=intervene, **about),
        inspect=lambda text: inspect_text(model, tokenizer, classes, text, intervene=change, **about),
        model=model,
        tokenizer=tokenizer,
        classes=classes,
        change=change,
        **about,
    )


def reader(preset, change=UNCHANGED, *, max_length=12, buckets=0, **other) -> ExplainContext:
    """A model of a preset with new weights, which knows the words of `TEXT`."""
    lexicon = "vader" if preset.startswith("lexical") else ""
    tokenizer = fit_tokenizer([TEXT], TextConfig(min_freq=1, max_length=max_length, lexicon=lexicon))
    tokenizer.buckets = buckets
    torch.manual_seed(0)
    config = dataclasses.replace(small(PRESETS[preset].model), ngram_buckets=buckets, **other)
    model = build_model(config, vocabulary=tokenizer.size, classes=2, max_length=max_length).eval()
    return lent(model, tokenizer, change=change)
