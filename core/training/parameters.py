"""Parameter groups by role: lambda is never decayed; everything else is (NDT, section 3), or only matrices are."""

from __future__ import annotations

from typing import Any

from core.models.build import Model
from core.models.encoder import EncoderClassifier
from core.training.config import TrainingConfig


def freeze(model: Model, config: TrainingConfig) -> None:
    """Keep what stands below `config.frozen` from learning, and nothing else."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(_depth(model, name) >= config.frozen)


def parameter_groups(model: Model, config: TrainingConfig) -> list[dict[str, Any]]:
    """Return groups for AdamW, each with the `names` of its parameters; every trainable one is in exactly one.

    `rate` is the factor on the learning rate: `lambda_lr` of what makes lambda, and `layer_decay` to the power of how
    far below the head a parameter stands (Howard and Ruder 2018; Clark et al. 2020).
    """
    lambdas = model.lambda_parameters()
    groups: dict[tuple[str, float], list[str]] = {}
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    for name, parameter in named.items():
        spared = config.decay == "matrices" and parameter.ndim < 2
        role = "lambda" if name in lambdas else "vectors" if spared else "weights"
        below = _head(model) - _depth(model, name)
        factor = config.lambda_lr if role == "lambda" else 1.0
        groups.setdefault((role, factor * config.layer_decay**below), []).append(name)
    order = {role: place for place, role in enumerate(("weights", "vectors", "lambda"))}
    return [
        {
            "role": role,
            "names": names,
            "params": [named[name] for name in names],
            "weight_decay": config.weight_decay if role == "weights" else 0.0,
            "rate": rate,
        }
        for (role, rate), names in sorted(groups.items(), key=lambda each: order[each[0][0]])
    ]


def _depth(model: Model, name: str) -> int:
    return model.depth(name) if isinstance(model, EncoderClassifier) else 0


def _head(model: Model) -> int:
    return len(model.layers) + 1 if isinstance(model, EncoderClassifier) else 0
