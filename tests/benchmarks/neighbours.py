"""CPU seconds for the neighbours of a lasso around 3,000 of 25,000 points, next to those of all distances.

    python tests/benchmarks/neighbours.py [--repeats 5]

The ratio holds on any machine; a selection must not wait longer for its neighbours than a page does for itself.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from core.evaluation.neighbourhood import NEIGHBOURS, _all, nearest
from core.failures.neighbours import LOOKED_AT

POINTS, SELECTED, WIDTH, GOAL = 25_000, 3_000, 128, 0.3


def spend(compute: Callable[[], object], repeats: int) -> float:
    """Return the median CPU seconds of this process."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        compute()
        found.append(time.process_time() - start)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    vectors = np.random.default_rng(0).normal(size=(POINTS, WIDTH))
    asked, others = vectors[:SELECTED][:LOOKED_AT], vectors[SELECTED:]
    ours = spend(lambda: nearest(asked, others, NEIGHBOURS), repeats)
    every = spend(lambda: _all(asked, others, None, NEIGHBOURS), repeats)
    verdict = "ok" if ours / every < GOAL else "MISSED"
    print(f"nearest {ours:.2f} s, all distances {every:.2f} s, ratio {ours / every:.2f}, goal {GOAL}  {verdict}")


if __name__ == "__main__":
    main()
