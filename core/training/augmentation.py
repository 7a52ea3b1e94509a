"""Additional training texts: texts of one class joined into a long one, and texts of made-up words."""

import string
from collections.abc import Iterable, Sequence

import numpy as np

from core.text.token_table import build_token_table
from core.text.tokenizer import Tokenizer
from core.training.config import count_added_texts
from core.training.temperature import compute_class_prior
from core.training.training_stage import Examples


def append_joined(
    examples: Examples, texts: Sequence[str], tokenizer: Tokenizer, *, classes: int, share: float, seed: int
) -> Examples:
    """Append joined texts of one class to the training examples, as a share of the rows, with the same tokenizer.

    A joined text consists of training texts of one class (or one label set) in random order, with at most `max_length`
    tokens. Its target is the mean of their targets, so that the model learns to aggregate a long text.
    """
    labels = examples.labels
    if not share:
        return examples
    kinds = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)
    found = draw_groups(
        examples.tokens.lengths, kinds, count_added_texts(len(labels), share), tokenizer.max_length, seed
    )
    own = examples.get_targets(classes)
    added = np.stack([own[rows].mean(0) for rows in found])
    strung = [" ".join(texts[row] for row in rows) for rows in found]
    return examples.append_texts(build_token_table(tokenizer, strung), added, classes)


def draw_groups(lengths: np.ndarray, kinds: np.ndarray, count: int, longest: int, seed: int) -> list[np.ndarray]:
    """Draw which training rows form each of `count` joined texts; the same arguments give the same rows.

    `lengths` (n,) are the tokens of each row; all rows of a text have the same kind (`kinds`, (n,)), drawn in
    proportion to its rows. A text's length is drawn uniformly from two tokens to `longest`; rows are added until the
    next one does not fit, and there is at least one.
    """
    random = np.random.default_rng([seed, count])
    pools = {kind: np.flatnonzero(kinds == kind) for kind in np.unique(kinds)}
    found = []
    for first in random.integers(0, len(kinds), count):
        room, pool = random.integers(2, max(3, longest + 1)), pools[kinds[first]]
        drawn = np.array([first, *random.choice(pool, room // 2)])
        found.append(drawn[: max(1, int((np.cumsum(lengths[drawn]) <= room).sum()))])
    return found


def append_nonsense(
    examples: Examples, texts: Sequence[str], tokenizer: Tokenizer, *, classes: int, share: float, seed: int
) -> Examples:
    """Append texts of made-up words to the training examples, as a share of rows, with the class prior as target."""
    if not share:
        return examples
    added = generate_nonsense(texts, count_added_texts(len(examples.labels), share), seed)
    prior = np.broadcast_to(compute_class_prior(examples.labels, classes), (len(added), classes))
    return examples.append_texts(build_token_table(tokenizer, added), prior, classes)


MOST_WORDS, SHORTEST, LONGEST = 16, 3, 9
DIFFERENT = 5  # different letters of a made-up word, at most, so that words like `zzz` and `kxrqvbnw` both occur


def generate_nonsense(texts: Iterable[str], count: int, seed: int) -> list[str]:
    """Generate `count` texts of made-up words: half with the letters a to z, half with letters of the given texts."""
    known = sorted(letter for letter in set().union(*texts) if letter.isalpha())
    alphabets: Sequence[Sequence[str]] = [string.ascii_lowercase, known or string.ascii_lowercase]
    random = np.random.default_rng([seed, count])
    found = []
    for number in range(count):
        words = random.integers(1, MOST_WORDS + 1)
        found.append(" ".join(_generate_word(random, alphabets[number % 2]) for _ in range(words)))
    return found


def _generate_word(random: np.random.Generator, letters: Sequence[str]) -> str:
    few = [letters[place] for place in random.integers(0, len(letters), random.integers(1, DIFFERENT + 1))]
    return "".join(few[place] for place in random.integers(0, len(few), random.integers(SHORTEST, LONGEST + 1)))
