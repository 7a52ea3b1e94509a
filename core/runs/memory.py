"""Whether a training fits into the memory of its machine, said before it starts. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from core.config import RunConfig
from core.exceptions import ConfigError
from core.models.describe import parameters, parts

if TYPE_CHECKING:
    import torch

NUMBER = 4
"""Bytes of one, float32."""
WEIGHTS, LEARNED = 1, 4
"""Numbers for each weight: itself; and where it learns its gradient, two means of AdamW, and a copy of the best."""
OF_WIDTH, OF_FF_WIDTH = 12, 2
"""Numbers kept for the gradient of each token in each layer, as multiples of the two widths of a layer. Measured on
BERT's blocks: 10.0 widths and 2 feed-forward widths, 11.2 with a lexicon in the attention."""
PROCESS = 500_000_000
"""Bytes of Python, its libraries and the texts."""


def needed(config: RunConfig, length: int) -> int:
    """Bytes that a training of a pretrained model takes at most; it is less where texts are shorter than the longest.

    Args:
        config: of the run.
        length: tokens of the longest text.
    """
    model, training = config.model, config.training
    below = sum(part.parameters for part in parts(model, vocabulary=config.text.max_vocab, classes=2)[:2])
    every = parameters(model, vocabulary=config.text.max_vocab, classes=2)
    layer = sum(part.parameters for part in parts(model, vocabulary=0, classes=2) if part.layer)
    still = below + (training.frozen - 1) * layer if training.frozen else 0
    rows = -(-training.batch_size // training.portions)
    layers = model.layers - max(0, training.frozen - 1)
    tokens = rows * (length + 2) * max(1, layers) * (OF_WIDTH * model.width + OF_FF_WIDTH * model.ff_width)
    return PROCESS + NUMBER * (WEIGHTS * every + LEARNED * max(0, every - still) + tokens)


def check_fits(config: RunConfig, length: int, free: int) -> None:
    """Refuse a training that cannot fit, before it has begun.

    Args:
        config: of the run, with a backbone.
        length: tokens of the longest text.
        free: bytes, of the device that it would train on.

    Raises:
        ConfigError: says how much is needed and free, and what takes less.
    """
    takes, training = needed(config, length), config.training
    if takes <= free:
        return
    ways = []
    if training.portions < training.batch_size:
        ways.append(f"training.portions={min(training.batch_size, 4 * training.portions)} (the same batch in portions)")
    if training.frozen <= config.model.layers:
        ways.append(f"training.frozen={config.model.layers + 1} (only the head learns)")
    ways.append("a shorter text.max_length or a smaller backbone")
    raise ConfigError(
        f"{config.model.backbone}: this training needs about {takes / 1e9:.1f} GB of memory, and {free / 1e9:.1f} are "
        f"free; choose {', or '.join(ways)}"
    )


def free_memory(device: torch.device | None = None) -> int:
    """Bytes that are free for a training: of this machine, or of a GPU."""
    if device is not None and device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)
