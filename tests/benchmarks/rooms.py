"""Times of single rooms against their goals: the built-in corpus, one batch, silhouettes next to scikit-learn.

    python tests/benchmarks/rooms.py [--repeats 3] [--rows 10000]

Absolute times are of this machine only; the corpus is measured in processor time, so a busy machine counts less.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import silhouette_samples

from core.data.sources.builtin import generate
from core.evaluation.representation import silhouette
from core.models.trace import Batch
from core.text.token_table import TokenTable
from core.training.batches import plan

CORPUS_SECONDS, BATCH_MILLISECONDS = 5.0, 0.2


def report(name: str, seconds: float, goal: float) -> None:
    print(f"{name:<52} {1e3 * seconds:10.2f} ms   goal {1e3 * goal:10.2f}  {'ok' if seconds < goal else 'MISSED'}")


def corpus() -> float:
    start = time.process_time()
    generate(5)
    return time.process_time() - start


def batch() -> float:
    """Median time to build one of 64 texts of 5 to 63 tokens, planned by length."""
    lengths = np.random.default_rng(0).integers(5, 64, 5000)
    table = TokenTable.of([[1] * length for length in lengths])
    times = []
    for rows in plan(table.lengths, batch_size=64, seed=0, epoch=0):
        start = time.perf_counter()
        Batch.of(table.padded(rows))
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def silhouettes(rows: int, repeats: int) -> tuple[float, float]:
    """Best times of ours and scikit-learn's, interleaved, on vectors of width 128 in three classes."""
    random = np.random.default_rng(4)
    labels = random.integers(0, 3, rows)
    points = (random.normal(size=(3, 128))[labels] + random.normal(size=(rows, 128)) + 5).astype(np.float32)
    ways: list[Callable[[], object]] = [
        lambda: silhouette(points, labels, ["a", "b", "c"]),
        lambda: silhouette_samples(points, labels),
    ]
    best = [float("inf")] * len(ways)
    for _ in range(repeats):
        for number, way in enumerate(ways):
            start = time.perf_counter()
            way()
            best[number] = min(best[number], time.perf_counter() - start)
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000)
    args = parser.parse_args()
    report("built-in corpus, all splits (processor time)", min(corpus() for _ in range(args.repeats)), CORPUS_SECONDS)
    report("one batch of 64 texts", batch(), BATCH_MILLISECONDS / 1e3)
    ours, reference = silhouettes(args.rows, args.repeats)
    report(f"silhouettes of {args.rows} vectors; goal: scikit-learn's", ours, reference)


if __name__ == "__main__":
    main()
