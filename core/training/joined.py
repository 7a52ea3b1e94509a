"""Long texts from short ones: texts of the same class, one behind the other, as further texts to learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.text.token_table import token_table
from core.text.tokenizer import Tokenizer
from core.training.batches import Examples
from core.training.config import further


def with_joined(
    examples: Examples, texts: Sequence[str], tokenizer: Tokenizer, *, classes: int, share: float, seed: int
) -> Examples:
    """Examples with joined texts behind their own, read by the same tokenizer; nothing else changes.

    A joined text holds training texts of one class (of several labels: of one set of them) in random order. What is
    learned of it is the mean of what is learned of each, so that the model comes to add up what a long text says.

    Args:
        examples: of the training split.
        texts: of the training split.
        tokenizer: of the run; its `max_length` is the longest that a joined text may be.
        classes: C.
        share: of the rows, how many are added; 0: none.
        seed: of the run.
    """
    labels = examples.labels
    if not share:
        return examples
    kinds = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    found = groups(examples.tokens.lengths, kinds, further(len(labels), share), tokenizer.max_length, seed)
    own = examples.learned(classes)
    added = np.stack([own[rows].mean(0) for rows in found])
    strung = [" ".join(texts[row] for row in rows) for rows in found]
    return examples.followed_by(token_table(tokenizer, strung), added, classes)


def groups(lengths: np.ndarray, kinds: np.ndarray, count: int, longest: int, seed: int) -> list[np.ndarray]:
    """The rows of each joined text; the same for the same arguments.

    The kind of a text is as frequent as its rows are. Its length is drawn evenly between two tokens and `longest`; rows
    of that kind follow each other until the next one would not fit; the first one is there in any case.

    Args:
        lengths: (n,) int, tokens of each row.
        kinds: (n,) int, what the rows of one text have in common.
        count: of joined texts.
        longest: tokens of a joined text.
        seed: of the run.
    """
    random = np.random.default_rng([seed, count])
    pools = {kind: np.flatnonzero(kinds == kind) for kind in np.unique(kinds)}
    found = []
    for first in random.integers(0, len(kinds), count):
        room, pool = random.integers(2, max(3, longest + 1)), pools[kinds[first]]
        drawn = np.array([first, *random.choice(pool, room // 2)])
        fits = int((np.cumsum(lengths[drawn]) <= room).sum())
        found.append(drawn[: max(1, fits)])
    return found
