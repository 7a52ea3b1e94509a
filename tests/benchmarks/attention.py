"""Time of N components against plain attention: forward and backward of the whole model, interleaved in one process.

    python tests/benchmarks/attention.py [--repeats 15] [--lengths 64 128 256 512]

Median ratios to `vanilla-swiglu` with explicit softmax (as in the paper) and with the fused kernel.
"""

import dataclasses
from functools import partial
from unittest import mock

import torch
from timing import measure_in_turn, read_arguments

from core.models import attention
from core.models.attention_kernels import attend_explicit
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Batch
from core.training.device import keep_freed_memory

GOALS = {2: 1.2, 3: 1.45, 4: 1.8}


def step(model: torch.nn.Module, batch: Batch) -> None:
    model.zero_grad(set_to_none=True)
    model(batch).logits.logsumexp(-1).sum().backward()


def explicit_step(model: torch.nn.Module, batch: Batch) -> None:
    with mock.patch.object(attention, "attend_fused", lambda *a: attend_explicit(*a)[0]):
        step(model, batch)


def main() -> None:
    args = read_arguments(__doc__, repeats=15, lengths=[64, 128, 256, 512])
    keep_freed_memory()
    torch.manual_seed(0)
    names = ["vanilla-swiglu", *(f"ndt-01-n{n}" for n in GOALS), "differential"]
    # Without dropout: its cost is the same for all and would bring the ratios closer to 1.
    configs = {name: dataclasses.replace(PRESETS[name].model, dropout=0.0) for name in names}
    models = {name: build_model(config, vocabulary=1000, classes=2) for name, config in configs.items()}
    print(f"torch {torch.__version__}, {args.threads} threads, median of {args.repeats}, forward and backward")
    print(f"{'batch x length':>14} {'explicit ms':>11} {'fused ms':>9} | ratio to explicit / to fused vanilla-swiglu")
    for length in args.lengths:
        size = 32 if length < 512 else 16
        keep = torch.arange(length) < torch.linspace(0.7 * length, length, size)[:, None]
        batch = Batch(torch.randint(2, 1000, (size, length)) * keep, keep)
        ways = {"explicit": partial(explicit_step, models["vanilla-swiglu"], batch)}
        ways |= {name: partial(step, model, batch) for name, model in models.items()}
        median = measure_in_turn(ways, args.repeats, warm=2)
        cells = []
        for name in names[1:]:
            ratio = median[name] / median["explicit"]
            components = models[name].layers[0].attention.components
            mark = " ok" if ratio <= GOALS[components] else f" > {GOALS[components]}"
            cells.append(f"{name} {ratio:.2f}/{median[name] / median['vanilla-swiglu']:.2f}{mark}")
        explicit, fused = 1e3 * median["explicit"], 1e3 * median["vanilla-swiglu"]
        print(f"{f'{size} x {length}':>14} {explicit:11.1f} {fused:9.1f} | " + "  ".join(cells))


if __name__ == "__main__":
    main()
