"""Whether a training fits into the memory of its machine and into a week, said before it starts. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from core.config import RunConfig
from core.exceptions import ConfigError
from core.models.describe import parameters, parts
from core.runs.budget import estimate, longest
from core.runs.record import RunRecord

if TYPE_CHECKING:
    import torch

NUMBER = 4
WEIGHTS, LEARNED, WRITTEN = 1, 4, 2
"""Numbers for each weight: itself; its gradient, two means of AdamW and a copy of the best; twice the file as written.

The second only where it learns; the third is the file of the best epoch in the memory of its library. A checkpoint is
written number by number.
"""
OF_WIDTH, OF_FF_WIDTH = 12, 2
"""Numbers kept for the gradient of each token in each layer, as multiples of the two widths of a layer. Measured on
BERT's blocks: 10.0 widths and 2 feed-forward widths, 11.2 with a lexicon in the attention."""
LONGEST_DAYS, DAY = 7, 86_400
GROUPS, OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
V1 = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
V2 = "", "memory.max", "memory.current", "inactive_file"
"""Of the two versions of Linux's control groups: folder, limit, what is taken, and what of it are files once read."""
PROCESS = 800_000_000


def needed(config: RunConfig, length: int) -> int:
    """Return the bytes that a training of a pretrained model takes at most, if its longest text has `length` tokens."""
    model, training = config.model, config.training
    below = sum(part.parameters for part in parts(model, vocabulary=config.text.max_vocab, classes=2)[:2])
    every = parameters(model, vocabulary=config.text.max_vocab, classes=2)
    layer = sum(part.parameters for part in parts(model, vocabulary=0, classes=2) if part.layer)
    still = below + (training.frozen - 1) * layer if training.frozen else 0
    rows = -(-training.batch_size // training.portions)
    layers = model.layers - max(0, training.frozen - 1)
    tokens = rows * (length + 2) * max(1, layers) * (OF_WIDTH * model.width + OF_FF_WIDTH * model.ff_width)
    return PROCESS + NUMBER * (WEIGHTS * every + (LEARNED + WRITTEN) * max(0, every - still) + tokens)


def check_fits(config: RunConfig, length: int, free: int) -> None:
    """Refuse a training that cannot fit into `free` bytes of its device; ConfigError says what takes less."""
    takes, training = needed(config, length), config.training
    if takes <= free:
        return
    ways = []
    if training.portions < training.batch_size and not config.model.normalizes_batches:
        ways.append(f"training.portions={min(training.batch_size, 4 * training.portions)} (the same batch in portions)")
    if training.frozen <= config.model.layers:
        ways.append(f"training.frozen={config.model.layers + 1} (only the head learns)")
    ways.append("a shorter text.max_length or a smaller backbone")
    raise ConfigError(
        f"{config.model.backbone}: this training needs about {takes / 1e9:.1f} GB of memory, and {free / 1e9:.1f} are "
        f"free; choose {', or '.join(ways)}"
    )


class Cost(NamedTuple):
    """What a training of a backbone takes."""

    bytes: int
    seconds: float | None


def cost(config: RunConfig, records: Sequence[RunRecord]) -> Cost | None:
    """Return what a training takes before it is created; None of a model of ours, which fits wherever Python does.

    ConfigError says what takes less, if it cannot fit into memory or time. `records` of earlier runs tell length and
    speed.
    """
    if config.model.family != "pretrained":
        return None
    from core.training.device import choose_device  # torch

    length, time = longest(config, records), estimate(config, records)
    check_fits(config, length, free_memory(choose_device(config.training.device)))
    if time is not None:
        check_time(config, time.seconds)
    return Cost(needed(config, length), None if time is None else time.seconds)


def check_time(config: RunConfig, seconds: float) -> None:
    """Refuse a training that would not end within a week; ConfigError says what takes less."""
    if seconds <= LONGEST_DAYS * DAY:
        return
    ways = ["fewer training.epochs", "data.limit", "a smaller backbone", "a GPU"]
    if config.training.frozen <= config.model.layers:
        ways.insert(0, f"training.frozen={config.model.layers + 1} (only the head learns)")
    raise ConfigError(
        f"{config.model.backbone}: this training would take about {seconds / DAY:.0f} days here, and at most "
        f"{LONGEST_DAYS} are begun; choose {', or '.join(ways)}"
    )


def free_memory(device: torch.device | None = None) -> int:
    """Return the bytes that are free for a training: of this machine and its container, or of a GPU."""
    if device is not None and device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return min((int(psutil.virtual_memory().available), *_left_by_limits()))


def _left_by_limits(root: Path = GROUPS, own: Path = OWN_GROUP) -> Iterator[int]:
    """Yield the bytes that each control group of this process leaves; what was read of files can be let go."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:  # no Linux
        lines = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers not in ("", "memory"):
            continue
        base, limit, used, cached = V1 if controllers else V2
        inside = Path(path.lstrip("/"))
        for folder in (root / base / each for each in (inside, *inside.parents)):
            try:
                files = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                taken = int((folder / used).read_text()) - int(files.get(cached, 0))
                yield max(0, int((folder / limit).read_text()) - taken)
            except (OSError, ValueError):  # not there, or `max`: no limit
                continue
