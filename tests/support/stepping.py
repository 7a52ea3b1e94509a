"""Small models of every preset with a tokenizer, as a run lends them to whoever explains its answers."""

from __future__ import annotations

import dataclasses

import torch
from several_lexicons import ask_two
from small_models import make, small

from core.evaluation.predict import predict_texts
from core.interpret.reader import UNCHANGED, Reader
from core.interpret.sentence import inspect_text
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.tokenizers import fit_tokenizer
from core.training.scaling import UNSCALED

TEXT = "Not bad at all, but the ending never works and the film drags on"
CLASSES = ("bad", "fair", "good")


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
    given = {"task": task, "scaling": scaling}
    return Reader(
        predict=lambda texts, intervene=None: predict_texts(model, tokenizer, texts, intervene=intervene, **given),
        inspect=lambda text: inspect_text(model, tokenizer, CLASSES, text, **given),
        model=model,
        tokenizer=tokenizer,
        classes=CLASSES,
        change=edited,
        **given,
    )
