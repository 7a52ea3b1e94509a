"""The structures of presets: presets that differ only in size share one, so tests need only one of them."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from seeds import cases

from core.models.config import ModelConfig
from core.models.presets import PRESETS

STRUCTURES = (
    *("vanilla", "vanilla-swiglu", "differential", "differential-v2"),
    *("ndt-01-n3", "ndt-pm1-n2", "ndt-pos-n3", "ndt-free-n4"),
    *("sentiformer", "sentiformer-sinusoidal", "sentiformer-no-gate", "sentiformer-full", "sentiformer-no-norm"),
    *("sentiformer-no-pos", "sentiformer-no-recency", "tweet-v1-p1", "tweet-v3-p2"),
    *("lexical-none", "lexical-all", "lexical-all-scaled", "lexical-last", "lexical-last-scaled", "lexical-hadamard"),
    *("inceptive-64", "inceptive-no-attention", "inceptive-no-dense", "inceptive-mean-dense", "inceptive-single"),
    *("bilstm", "cnn", "tfidf-logreg", "tfidf-logreg-chars", "tfidf-nb", "tfidf-svm", "lexicon", "pretrained"),
)
"""One preset of each structure; two of TF-IDF with logistic regression, because one uses characters."""
QUICK = ("vanilla", "differential", "ndt-01-n3", "sentiformer", "tweet-v3-p2", "lexical-all", "inceptive-64")
"""One of each family of encoders, for the quick run."""
SIZES = {"width", "layers", "heads", "window", "channels", "attention_heads", "dense", "ff_width", "dropout"}
"""Settings of which the structure includes only whether there are any."""


def structure(config: ModelConfig) -> tuple[tuple[str, Any], ...]:
    """Return the choices of a configuration without its sizes."""
    return tuple(_choices(config))


def _choices(part: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if dataclasses.is_dataclass(value):
            yield from ((f"{field.name}.{name}", choice) for name, choice in _choices(value))
        elif field.name == "components":
            yield field.name, value > 1
        else:
            yield field.name, bool(value) if field.name in SIZES else value


def same_structure(name: str) -> list[str]:
    """Return the presets of `STRUCTURES` that have the structure of this one."""
    return [each for each in STRUCTURES if structure(PRESETS[each].model) == structure(PRESETS[name].model)]


def encoders() -> list[Any]:
    """Return the encoders of `STRUCTURES` as test cases; those that are not in `QUICK` are slow."""
    return cases((name for name in STRUCTURES if PRESETS[name].model.family == "encoder"), QUICK)
