"""Doubt is taught: further training texts of made-up words, whose right answer is how frequent each class is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.text.nonsense import nonsense
from core.text.token_table import token_table
from core.text.tokenizer import Tokenizer
from core.training.batches import Examples
from core.training.config import further
from core.training.temperature import class_prior


def with_nonsense(
    examples: Examples, texts: Sequence[str], tokenizer: Tokenizer, *, classes: int, share: float, seed: int
) -> Examples:
    """Examples with made-up texts behind their own, read by the same tokenizer; nothing else changes.

    The target of those is the class prior (`core.training.temperature`). Where the loss weighs classes, it weighs this
    target too.

    Args:
        examples: of the training split.
        texts: of the training split.
        tokenizer: of the run.
        classes: C.
        share: of the rows, how many are added; 0: none.
        seed: of the run.
    """
    if not share:
        return examples
    added = nonsense(texts, further(len(examples.labels), share), seed)
    prior = np.broadcast_to(class_prior(examples.labels, classes), (len(added), classes))
    return examples.followed_by(token_table(tokenizer, added), prior, classes)
