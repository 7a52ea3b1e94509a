"""Warm start of a model from another: weights that fit are copied, and the others are listed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.models.encoder import EncoderClassifier

WORDS = "embedding.weight"


@dataclass(frozen=True)
class CopyResult:
    """Which weights a model received from another one: counts, and names of tensors not copied or copied in part."""

    numbers: int  # Copied numbers
    of: int  # All numbers of the model
    fresh: tuple[str, ...]  # Tensors that keep their random start
    partly: tuple[str, ...]  # Tensors copied in part: with more components, or new words


def copy_weights(
    model: EncoderClassifier, source: EncoderClassifier, *, origins: Sequence[Sequence[int]], same_classes: bool
) -> CopyResult:
    """Copy the weights of a trained model `source` into a new `model`, as far as names and shapes allow.

    Queries and keys have one block per component; those that both models have are copied, so the map of plain attention
    becomes the base map. The first words of `model` are those of `source`; each new word gets the mean of its `origins`
    (token ids of the source), if any. All else keeps its random start: further layers and parts, and the head unless
    both have the same classes. Raises ValueError if the vocabulary is not that of the source and `origins`.
    """
    theirs, own = source.state_dict(), dict(model.named_parameters())
    if len(own[WORDS]) != len(theirs[WORDS]) + len(origins):
        raise ValueError(f"{len(own[WORDS])} words, but {len(theirs[WORDS])} known and {len(origins)} new ones")
    taken: dict[str, int] = {}
    with torch.no_grad():
        for name, target in own.items():
            known = theirs.get(name)
            if known is None or (name.startswith("head.") and not same_classes):
                taken[name] = 0
            elif name == WORDS:
                taken[name] = _copy_words(target, known * (source.scale / model.scale), origins)
            elif name.startswith("ngrams."):
                taken[name] = _copy_whole(target, known * (source.scale / model.scale))
            elif name.split(".")[-2:-1] in (["query"], ["key"]):
                taken[name] = _copy_components(target, known, model, source)
            else:
                taken[name] = _copy_whole(target, known)
    sizes = {name: tensor.numel() for name, tensor in own.items()}
    return CopyResult(
        numbers=sum(taken.values()),
        of=sum(sizes.values()),
        fresh=tuple(name for name, count in taken.items() if not count),
        partly=tuple(name for name, count in taken.items() if 0 < count < sizes[name]),
    )


def _copy_whole(target: Tensor, known: Tensor) -> int:
    """Copy a whole weight tensor if the shapes agree; return how many of its numbers were copied."""
    if target.shape != known.shape:
        return 0
    target.copy_(known)
    return known.numel()


def _copy_words(target: Tensor, known: Tensor, origins: Sequence[Sequence[int]]) -> int:
    """Copy known word embeddings, and for new words the mean of their word pieces; return how many numbers were set."""
    if target.shape[1] != known.shape[1]:
        return 0
    target[: len(known)].copy_(known)
    made = 0
    for row, pieces in enumerate(origins, len(known)):
        if pieces:
            target[row] = known[list(pieces)].mean(0)
            made += 1
    return (len(known) + made) * known.shape[1]


def _copy_components(target: Tensor, known: Tensor, model: EncoderClassifier, source: EncoderClassifier) -> int:
    """Copy the weights of the attention maps that both models have; return how many numbers were copied."""
    ours, theirs = model.components, source.components
    if target[: len(target) // ours].shape != known[: len(known) // theirs].shape:
        return 0
    shared = min(ours, theirs) * (len(target) // ours)
    target[:shared].copy_(known[:shared])
    return target[:shared].numel()
