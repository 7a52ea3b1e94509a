"""Time of banded attention against full attention, by the length of the text; interleaved in one process.

    python tests/benchmarks/banded.py [--repeats 9] [--lengths 256 512 1024 2048 4096 8192 16384] [--threads 2]

One text, 8 heads of 32, window 64; first, last and two random tokens are global; attention alone. `flash`: torch's
fused kernel without a mask, which the goals are against. `full`: a model without a window. `masked`: the same with the
L x L mask of the support. `explicit`: every map in memory. Medians; a row is measured together.
"""

import itertools
import math
import os
from collections.abc import Callable
from functools import partial
from unittest import mock

import torch
import torch.nn.functional as F
from timing import measure_in_turn, read_arguments

from core.models import attention_kernels
from core.models.attention_kernels import (
    attend_banded,
    attend_explicit,
    attend_fused,
    build_support_mask,
    draw_global_positions,
)

HEADS, WIDTH, WINDOW = 8, 32, 64
LONGEST_DENSE = 4096  # up to here with an L x L mask or maps: explicit attention over 8,192 tokens takes 6 GB
FASTER = {2048: 4.5, 4096: 9.0}
GROWTH, ERROR = 1.2, 1e-6

Way = Callable[[], torch.Tensor]


def ways(length: int, *, gradients: bool) -> tuple[dict[str, Way], list[torch.Tensor]]:
    """Name → attention over the same q, k, v, and these three."""
    q, k, v = (torch.randn(1, 1, HEADS, length, WIDTH) for _ in range(3))
    q = q / math.sqrt(WIDTH)
    leaves = [x.requires_grad_(gradients) for x in (q, k, v[:, 0])]
    q, k, v = leaves
    one, keep = torch.ones(1, 1, 1, 1, 1), torch.ones(1, length, dtype=torch.bool)
    positions = draw_global_positions(keep.sum(1), layer=0, random=2, seed=0)
    found: dict[str, Way] = {
        "flash": lambda: F.scaled_dot_product_attention(q[:, 0], k[:, 0], v, scale=1.0),
        "banded": lambda: attend_banded(q, k, v, one, keep, positions, window=WINDOW),
        "full": lambda: attend_fused(q, k, v, one, keep),
    }
    if length <= LONGEST_DENSE:
        found["masked"] = lambda: attend_fused(q, k, v, one, keep, build_support_mask(keep, positions, WINDOW))
        found["explicit"] = lambda: attend_explicit(q, k, v, one, keep, build_support_mask(keep, positions, WINDOW))[0]
    return found, leaves


def measure(length: int, repeats: int, *, gradients: bool) -> dict[str, float]:
    """Median milliseconds of each implementation, forward or forward and backward."""
    found, leaves = ways(length, gradients=gradients)
    weight = torch.randn(1, HEADS, length, WIDTH)
    if gradients:
        found = {name: partial(gradient, way, leaves, weight) for name, way in found.items()}
    return {name: 1e3 * seconds for name, seconds in measure_in_turn(found, repeats).items()}


def gradient(way: Way, leaves: list[torch.Tensor], weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad(way(), leaves, weight)


def sizes(length: int, repeats: int) -> None:
    """Print forward and backward times of each block and buffer size, the reason for `BLOCK` and `BUFFER_BYTES`."""
    found, leaves = ways(length, gradients=True)
    weight = torch.randn(1, HEADS, length, WIDTH)

    def step(block: int, megabytes: int) -> None:
        with mock.patch.multiple(attention_kernels, BLOCK=block, BANDED_BUFFER_BYTES=megabytes * 1_000_000):
            gradient(found["banded"], leaves, weight)

    all_sizes = {size: partial(step, *size) for size in itertools.product((32, 64, 128), (1, 2, 4))}
    seconds = measure_in_turn(all_sizes, repeats)
    cells = [f"{block}/{megabytes} {1e3 * each:.2f}" for (block, megabytes), each in seconds.items()]
    print(f"\nblock / megabytes of buffer at {length}, forward and backward: " + "  ".join(cells))


def error(length: int) -> float:
    """Largest difference between banded and explicit outputs, in float32."""
    found, _ = ways(length, gradients=False)
    return (found["banded"]() - found["explicit"]()).abs().max().item()


def growth(milliseconds: dict[int, float], first: int = 2048, last: int = 16384) -> float | None:
    """p of time ~ length^p between two lengths."""
    if not {first, last} <= milliseconds.keys():
        return None
    return math.log(milliseconds[last] / milliseconds[first]) / math.log(last / first)


def verdict(good: bool) -> str:
    return "ok" if good else "MISSED"


def main() -> None:
    args = read_arguments(__doc__, repeats=9, lengths=[256, 512, 1024, 2048, 4096, 8192, 16384])
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {args.threads} threads of {os.cpu_count()}, median of {args.repeats}")
    for title, gradients in (("forward", False), ("forward and backward", True)):
        print(f"\n{title}: milliseconds (how many times faster banded is)")
        by_length = {}
        for length in args.lengths:
            row = by_length[length] = measure(length, args.repeats if length < 8192 else 3, gradients=gradients)
            best = row["banded"]
            cells = [f"{name} {ms:.2f}" + f" ({ms / best:.1f})" * (name != "banded") for name, ms in row.items()]
            goal = FASTER.get(length)
            if goal and not gradients:
                cells.append(f"goal {goal} over flash: {verdict(row['flash'] / row['banded'] >= goal)}")
            print(f"{length:>6}  load {os.getloadavg()[0]:.1f}  " + "  ".join(cells), flush=True)
        for name in ("banded", "flash"):
            power = growth({length: row[name] for length, row in by_length.items()})
            if power is not None:
                goal_text = f", goal {GROWTH}: {verdict(power <= GROWTH)}" if name == "banded" and not gradients else ""
                print(f"growth of {name} from 2,048 to 16,384: length^{power:.2f}{goal_text}")
    sizes(4096, args.repeats)
    for length in args.lengths:
        if length <= LONGEST_DENSE:
            print(f"largest difference to explicit at {length}: {(e := error(length)):.1e}, {verdict(e <= ERROR)}")


if __name__ == "__main__":
    main()
