"""Stratified, seeded splits with exact sizes, the same on every platform."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
LEAST = 3  # Rows of a class, at least, for one in each part of a cut


def order_stratified(labels: npt.NDArray[np.int64], seed: int) -> Indices:
    """Order all rows so that every prefix of the order has the class shares of the whole, apart from rounding.

    The i-th of the n_c shuffled rows of class c (`labels`, shape (n,)) is at (i + 1/2) / n_c, the first one at 0. So
    every class comes before any class comes twice.
    """
    rng = np.random.default_rng(seed)
    place = np.empty(len(labels), dtype=np.float64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        order = rng.permutation(rows)
        place[order] = (np.arange(len(rows)) + 0.5) / len(rows)
        place[order[0]] = 0
    return np.lexsort((labels, place)).astype(np.int64)


def cut_rows(labels: npt.NDArray[np.int64], size: int, seed: int) -> tuple[Indices, Indices]:
    """Return the row numbers of a stratified sample of exactly `size` rows, and all other row numbers, ascending."""
    order = order_stratified(labels, seed)
    return np.sort(order[:size]), np.sort(order[size:])


def cut_three_parts(
    labels: npt.NDArray[np.int64], shares: tuple[float, float, float], seed: int
) -> tuple[Indices, Indices, Indices]:
    """Return the row numbers of stratified train, validation and test splits; test takes what is left by rounding."""
    train, rest = cut_rows(labels, _round_down(shares[0] * len(labels)), seed)
    first, second = cut_rows(labels[rest], _round_down(len(rest) * shares[1] / (shares[1] + shares[2])), seed)
    return train, rest[first], rest[second]


def cover_classes(labels: npt.NDArray[np.int64], parts: Sequence[Indices], seed: int) -> list[Indices]:
    """Swap rows between the parts of a split so that every class of at least three rows has one in each part.

    A smaller class has one row in the first part, which is for training. A part keeps its size, but grows if it has
    fewer rows than there are classes. Parts with all classes do not change.
    """
    numbers = np.unique(labels, return_inverse=True)[1]
    random, part_of = np.random.default_rng(seed), np.empty(len(labels), np.int64)
    counts = np.zeros((len(parts), numbers.max(initial=-1) + 1), np.int64)  # (parts, classes)
    for number, part in enumerate(parts):
        part_of[part] = number
        counts[number] = np.bincount(numbers[part], minlength=counts.shape[1])

    def move_row(label: int, source: int, target: int) -> None:
        part_of[random.choice(np.flatnonzero((numbers == label) & (part_of == source)))] = target
        counts[source, label] -= 1
        counts[target, label] += 1

    for label, rows in enumerate(counts.sum(0)):
        for target in range(len(parts) if rows >= LEAST else 1):
            if counts[target, label]:
                continue
            most = int(counts[target].argmax())
            source = int(counts[:, label].argmax())
            move_row(label, source, target)
            if counts[target, most] > 1:
                move_row(most, target, source)
    return [np.flatnonzero(part_of == number) for number in range(len(parts))]


def select_fold(labels: npt.NDArray[np.int64], count: int, number: int, seed: int) -> tuple[Indices, Indices]:
    """Return the rows of fold `number` of `count` stratified folds, equal in size but for one row, and the others."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    dealt = shuffled[np.argsort(labels[shuffled], kind="stable")]
    held = np.arange(len(labels)) % count == number
    return np.sort(dealt[held]), np.sort(dealt[~held])


def _round_down(size: float) -> int:
    return math.floor(size + 1e-6)  # 0.7 * 700,000 is 489,999.99999999994


def find_strata(targets: npt.NDArray[np.generic]) -> Indices:
    """Return the stratum of each row of targets (n, C): its rarest label, or C for a row without labels."""
    has = targets != 0
    rows = np.where(has, has.sum(0), len(has) + 1)
    return np.where(has.any(1), rows.argmin(1), has.shape[1]).astype(np.int64)
