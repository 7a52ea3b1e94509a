"""The orthogonal parts of a model as the builder offers them, and what is said of a model that is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import RunConfig
from core.models.config import READS, ModelConfig
from core.models.describe import marks
from core.models.neighbours import words
from core.runs.budget import Size
from dashboard.figures.numbers import count

GROUPS: dict[str, tuple[str, ...]] = {
    "Maps and lambda": (
        "model.attention.mixing",
        "model.attention.components",
        "model.attention.constraint",
        "model.attention.lambda_per_head",
        "model.attention.lambda_input",
        "model.attention.learn_beta",
        "model.attention.lambda_start",
        "model.attention.head_norm",
        "model.attention.row_norm",
        "training.lambda_lr",
        "training.diversity",
    ),
    "Scores": (
        "model.attention.heads",
        "model.attention.qk_width",
        "model.attention.rotary",
        "model.attention.qk_norm",
    ),
    "Gate and window": (
        "model.attention.gate",
        "model.attention.lexicon_gate",
        "model.attention.window",
        "model.attention.random_globals",
        "model.attention.support_seed",
    ),
    "Lexicon": (
        "model.attention.lexical",
        "model.attention.lexical_heads",
        "model.attention.lexical_component",
        "model.attention.lexical_scaled",
        "model.attention.lexical_strength",
        "model.attention.learn_strength",
        "text.lexicon",
        "text.lexicon_match",
    ),
    "Positions": ("model.position", "model.recency", "model.pos_tags", "text.tagger"),
    "Layers": (
        "model.family",
        "model.width",
        "model.layers",
        "model.ff_width",
        "model.feedforward",
        "model.norm",
        "model.norm_place",
        "model.dropout",
        "model.initial",
        "model.pad_mode",
    ),
    "Pooling and head": (
        "model.pooling",
        "model.head.kernels",
        "model.head.channels",
        "model.head.attention_heads",
        "model.head.dense",
        "model.head.one_logit",
    ),
}
"""Every setting of the model, and those of other rooms that a part reads or that act on one."""
OFFERED = frozenset(name for names in GROUPS.values() for name in names)
FURTHER = {
    "training.lambda_lr": "learning rate of lambda, as a factor",
    "training.diversity": "penalty on maps that look alike",
    "text.lexicon": "lexicon",
    "text.lexicon_match": "match of the lexicon",
    "text.tagger": "tagger",
}


def effective(setting: str, model: ModelConfig) -> bool:
    """Whether a setting of the builder does something in this model; one that does not is not offered."""
    part = model.attention
    room, _, name = setting.rpartition(".")
    if model.family != "encoder" and room.startswith("model") and name != "family":
        return setting.removeprefix("model.") in READS[model.family]
    further = part.components > 1
    rules = {
        "constraint": part.mixing == "additive" and further,
        "lambda_per_head": part.mixing in ("additive", "differential") and further,
        "lambda_input": part.mixing == "additive" and further,
        "lambda_start": part.mixing in ("additive", "differential") and further,
        "lambda_lr": model.has_lambda,
        "learn_beta": part.mixing == "additive" and further,
        "row_norm": further,
        "diversity": further and model.family == "encoder",
        "lexicon_gate": part.gate,
        "random_globals": part.window > 0,
        "support_seed": part.window > 0,
        "lexical_heads": part.lexical != "none",
        "lexical_component": part.lexical != "none" and further,
        "lexical_scaled": part.lexical == "add",
        "lexical_strength": part.lexical != "none",
        "learn_strength": part.lexical == "add",
        "lexicon": model.needs_lexicon,
        "lexicon_match": model.needs_lexicon,
        "recency": model.position == "polarity-aware",
        "pos_tags": model.position == "polarity-aware",
        "tagger": model.needs_tags,
        "norm_place": model.norm != "none",
        "channels": bool(model.head.kernels),
    }
    return rules.get(name, True)


def shown(own: Mapping[str, str], model: ModelConfig | None) -> dict[str, list[str]]:
    """The settings that the builder shows, by group: what has an effect and what a person has set.

    Args:
        own: settings that a person has set.
        model: as they make it; None where they contradict each other: then everything is shown, to mend it.
    """
    wanted = {
        title: [name for name in names if model is None or name in own or effective(name, model)]
        for title, names in GROUPS.items()
    }
    return {title: names for title, names in wanted.items() if names}


def label(setting: str) -> str:
    """What a setting of the builder is, in words."""
    return FURTHER.get(setting) or words(setting)


def size_said(size: Size | None) -> str:
    """How large it will be and what that rests on, in one phrase."""
    if size is None:
        return "Its size is known when its n-grams are counted"
    rest = "as an earlier run counted" if size.exact else "the most allowed"
    return f"{millions(size.parameters)} parameters at {count(size.vocabulary)} tokens, {rest}"


def millions(parameters: int) -> str:
    """`0.41 M`; below ten thousand the number itself."""
    return f"{parameters / 1e6:.2f} M" if parameters >= 10_000 else count(parameters)


def composed_said(config: RunConfig, own: Mapping[str, str], along: Mapping[str, Any]) -> str:
    """What a person's choices make of the preset: its parts, the changes, what came along."""
    parts = f"It has {', '.join(marks(config.model)) or 'nothing beside a plain encoder'}."
    changed = [name for name in own if name in OFFERED]
    said = f"{len(changed)} {'change' if len(changed) == 1 else 'changes'} to the preset." if changed else ""
    brought = " and ".join(f"{name}={value}" for name, value in along.items())
    return " ".join(filter(None, (parts, said, f"With it: {brought}, which a part reads." if brought else "")))
