"""Time of an epoch with batches by length against fixed padding, on simulated text lengths.

    python tests/benchmarks/batching.py [--repeats 5]

Lengths are drawn to the shapes of IMDB reviews (median 172, mean 212, cut at 512, batch 32) and tweets (median 19, mean
22, at most 64, fixed to 128, batch 64). Prints the time of a step per real token, relative to fixed padding.
"""

from functools import partial

import numpy as np
import torch
from timing import measure_in_turn, read_arguments

from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Batch
from core.text.token_table import TokenTable
from core.training.device import keep_freed_memory
from core.training.training_stage import plan_batches

SAMPLE = 12
GOALS = {"IMDB": 2.6, "tweets": 5.0}


def lengths(kind: str) -> tuple[np.ndarray, int, int]:
    """Text lengths, width of fixed padding, batch size."""
    random = np.random.default_rng(0)
    if kind == "IMDB":
        return np.clip(random.lognormal(np.log(172), 0.68, 6_400), 10, 512).astype(int), 512, 32
    return np.clip(random.lognormal(np.log(19), 0.55, 12_800), 2, 64).astype(int), 128, 64


def sampled(table: TokenTable, batches: list[np.ndarray]) -> list[np.ndarray]:
    """Batches spread evenly over the plan's range of lengths."""
    by_length = sorted(batches, key=lambda rows: int(table.lengths[rows].max()))
    return [by_length[i] for i in np.linspace(0, len(by_length) - 1, SAMPLE).astype(int)]


def main() -> None:
    args = read_arguments(__doc__, repeats=5)
    keep_freed_memory()
    print(f"torch {torch.__version__}, {args.threads} threads, median of {args.repeats}, {SAMPLE} batches per epoch")
    for kind, goal in GOALS.items():
        sizes, width, batch_size = lengths(kind)
        random = np.random.default_rng(1)
        table = TokenTable.from_ids([random.integers(2, 5_000, n).tolist() for n in sizes])
        for preset in ("vanilla", "ndt-01-n2"):
            torch.manual_seed(0)
            model = build_model(PRESETS[preset].model, vocabulary=5_000, classes=2)
            optimizer = torch.optim.AdamW(model.parameters(), fused=True)
            plan = partial(plan_batches, sizes, batch_size=batch_size, seed=0, epoch=0)
            plans = {way: plan(batching=way) for way in ("fixed", "length")}
            chosen = {way: sampled(table, batches) for way, batches in plans.items()}

            def epoch(rows_of: list[np.ndarray], width: int, model=model, optimizer=optimizer, table=table) -> None:
                for rows in rows_of:
                    optimizer.zero_grad()
                    model(Batch.from_arrays(table.pad_rows(rows, width))).logits.logsumexp(-1).sum().backward()
                    optimizer.step()

            widths = {"fixed": width, "length": 0}
            ways = {way: partial(epoch, rows, widths[way]) for way, rows in chosen.items()}
            real = {way: sum(int(sizes[rows].sum()) for rows in each) for way, each in chosen.items()}
            seconds = measure_in_turn(ways, args.repeats)
            gain = (seconds["fixed"] / real["fixed"]) / (seconds["length"] / real["length"])
            places = sum(len(rows) * max(1, int(sizes[rows].max())) for rows in plans["length"])
            share = 1 - float(sizes.sum()) / places
            print(
                f"{kind:>7} {preset:>10}: by length {gain:.2f}x faster than fixed to {width}"
                f" (goal {goal}{', met' if gain >= goal else ', missed'}); padding {share:.1%} of places"
            )


if __name__ == "__main__":
    main()
