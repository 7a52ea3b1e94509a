"""Random configurations: parts combined at random, with contradictions repaired."""

import random
from typing import Any

from core.exceptions import ConfigError
from core.models.config import AttentionConfig, HeadConfig, ModelConfig

BOTH = [False, True]
CHOICES: dict[str, list[Any]] = {
    "attention.mixing": ["single", "differential", "differential-v2", "additive"],
    "attention.components": [1, 2, 3, 6],
    "attention.constraint": ["01", "pm1", "pos", "free"],
    "attention.qk_width": ["full", "half"],
    "attention.heads": [1, 2, 4],
    **{f"attention.{name}": BOTH for name in ("learn_beta", "lambda_per_head", "lambda_input")},
    "attention.lambda_start": ["paper", "0.4"],
    **{f"attention.{name}": BOTH for name in ("head_norm", "row_norm", "rotary", "qk_norm", "gate", "lexicon_gate")},
    "attention.window": [0, 2, 4, 64],
    "attention.random_globals": [2, 0],
    "attention.lexical": ["none", "add", "hadamard"],
    "attention.lexical_heads": ["all", "last"],
    "attention.lexical_scaled": BOTH,
    "attention.lexical_strength": [1.0, 3.0],
    "attention.learn_strength": BOTH,
    "attention.lexical_component": [-1, 0],
    "position": ["none", "sinusoidal", "polarity-aware"],
    **{name: [True, False] for name in ("recency", "pos_tags")},
    "norm": ["layer", "rms", "none"],
    "norm_place": ["pre", "post"],
    "feedforward": ["relu", "gelu", "swiglu"],
    "pooling": ["mean", "cls"],
    "pad_mode": ["masked", "masked", "masked", "as_released"],
    "initial": ["xavier", "torch"],
    "head.kernels": ["", "2,3,5,7", "3"],
    "head.attention_heads": [0, 2],
    "head.dense": [0, 8],
    "head.activation": ["relu-norm", "tanh"],
}


def drawn(seed: int) -> ModelConfig:
    """A configuration with random choices; refused choices are reset to their defaults."""
    generator = random.Random(seed)
    chosen = {name: generator.choice(values) for name, values in CHOICES.items()}
    while True:
        try:
            return put_together(chosen)
        except ConfigError as error:
            said = str(error)
            assert "choose" in said or "nearest" in said or " to " in said, said
            named = [name for name in CHOICES if f"model.{name}=" in said or f"model.{name}:" in said]
            # A default can contradict another choice (one component, mixing 'differential'): then drop that choice.
            chosen.pop(next((name for name in named if name in chosen), "attention.mixing"))


def put_together(chosen: dict[str, Any]) -> ModelConfig:
    rooms: dict[str, dict[str, Any]] = {"attention": {}, "head": {}, "": {}}
    for name, value in chosen.items():
        room, _, last = name.rpartition(".")
        rooms[room][last] = value
    if rooms["head"].get("kernels"):
        rooms["head"]["channels"] = 4
    parts = {"attention": AttentionConfig(**rooms["attention"]), "head": HeadConfig(**rooms["head"])}
    return ModelConfig(width=16, layers=2, ff_width=12, **parts, **rooms[""])
