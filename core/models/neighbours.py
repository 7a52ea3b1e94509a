"""What sets one model apart from another: the settings in which they differ, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.models.describe import RANGES

WORDS = {
    "model.family": "kind of model",
    "model.width": "width",
    "model.layers": "layers",
    "model.attention.heads": "heads",
    "model.attention.qk_width": "width of queries and keys",
    "model.attention.components": "maps per head",
    "model.attention.mixing": "how maps combine",
    "model.attention.constraint": "range of lambda",
    "model.attention.learn_beta": "learned beta",
    "model.attention.lambda_per_head": "lambda per head",
    "model.attention.lambda_input": "lambda per token",
    "model.attention.lambda_start": "lambda at the start",
    "model.attention.head_norm": "norm of each head",
    "model.attention.row_norm": "weights of maps normalised",
    "model.attention.rotary": "rotary positions",
    "model.attention.qk_norm": "cosine scores with a temperature",
    "model.attention.gate": "gate on the keys",
    "model.attention.lexicon_gate": "gate guided by the lexicon",
    "model.attention.window": "window of neighbours",
    "model.attention.random_globals": "random tokens that see all",
    "model.attention.support_seed": "seed of these tokens",
    "model.attention.lexical": "sigma of the lexicon",
    "model.attention.lexical_heads": "heads that sigma reaches",
    "model.attention.lexical_scaled": "sigma divided by the root of the head width",
    "model.attention.lexical_strength": "strength of sigma",
    "model.attention.learn_strength": "learned strength of sigma",
    "model.attention.lexical_component": "map that sigma reaches",
    "model.position": "positions",
    "model.recency": "recency in the positions",
    "model.pos_tags": "parts of speech in the positions",
    "model.norm": "norm",
    "model.norm_place": "place of the norm",
    "model.feedforward": "feed-forward",
    "model.ff_width": "feed-forward width",
    "model.pooling": "pooling",
    "model.head.kernels": "convolutions of the head",
    "model.head.channels": "channels of each convolution",
    "model.head.attention_heads": "attention heads of the head",
    "model.head.dense": "dense layer of the head",
    "model.head.one_logit": "one logit",
    "model.dropout": "dropout",
    "model.pad_mode": "padding",
    "model.initial": "weights at the start",
}
"""By dotted setting; tests hold it to every setting of the model."""


class Difference(NamedTuple):
    """One setting in which two models differ."""

    setting: str
    """Dotted, as in `--set`."""
    words: str
    """What it is."""
    first: str
    second: str


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Difference, ...]:
    """All settings in which two runs differ, those of the model first, otherwise in order of declaration.

    Args:
        first: every dotted setting with its value.
        second: the same of another.
    """
    names = [name for name in first if first[name] != second[name]]
    names.sort(key=lambda name: not name.startswith("model."))  # stable
    return tuple(Difference(name, words(name), said(name, first[name]), said(name, second[name])) for name in names)


def nearest(name: str, settings: Mapping[str, Mapping[str, Any]]) -> str:
    """The preset that differs in the fewest settings of the model, then of all; of equals the one declared first.

    Args:
        name: the preset that is asked about.
        settings: of each preset, every dotted setting with its value, in order of declaration.
    """
    own = settings[name]

    def distance(other: str) -> tuple[int, int]:
        changed = [key for key, value in settings[other].items() if value != own[key]]
        return sum(key.startswith("model.") for key in changed), len(changed)

    return min((other for other in settings if other != name), key=distance)


def words(setting: str) -> str:
    """What a dotted setting is; outside the model its name says it."""
    return WORDS.get(setting) or setting.rpartition(".")[2].replace("_", " ")


def said(setting: str, value: Any) -> str:
    """A value as a person reads it."""
    if setting == "model.attention.constraint":
        return RANGES[value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "none"
