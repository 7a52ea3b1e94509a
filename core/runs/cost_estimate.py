"""Estimates of the time and memory that a training run needs, made before it starts. Imports nothing heavy."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import psutil

from core.config import RunConfig, compose
from core.exceptions import ConfigError, try_call
from core.formatting import count, plural
from core.models.model_description import count_parameters, list_parts
from core.runs import queue
from core.runs.record import RunRecord
from core.runs.store import get_machine_id
from core.text.config import TextConfig
from core.training.config import TFIDF, count_added_texts

if TYPE_CHECKING:
    import torch

NUMBER = 4
WEIGHTS, LEARNED, WRITTEN = 1, 4, 2
"""Numbers stored for each weight; for each trained weight (gradient, two AdamW moments, copy of the best epoch); and
for each trained weight while safetensors writes the best epoch. A checkpoint is written in small pieces."""
OF_WIDTH, OF_FF_WIDTH = 12, 2
"""Numbers stored for the gradient per token and layer, as multiples of width and feed-forward width. Measured on BERT's
blocks: 10.0 widths and 2 feed-forward widths, 11.2 with a lexicon in the attention."""
OWN_WIDTH, OWN_FF_WIDTH, OWN_MAP, OWN_ALIKE = 24, 4, 10, 5
"""The same for our own layers; and per further map, in widths, and per weight of a map if the loss compares the maps.
They give 0.8 to 1.4 times what was measured in 12 trainings of 128 to 1 024 tokens (28 November 2026)."""
LONGEST_DAYS, DAY = 7, 86_400
GROUPS, OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
V1 = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
V2 = "", "memory.max", "memory.current", "inactive_file"
"""Folder, limit, used memory and cached file pages in the two versions of Linux control groups."""
PROCESS = 800_000_000


def estimate_memory(config: RunConfig, length: int) -> int:
    """Estimate the peak bytes for training a model, if its longest text has `length` tokens."""
    model, training = config.model, config.training
    below = sum(part.parameters for part in list_parts(model, vocabulary=config.text.max_vocab, classes=2)[:2])
    every = count_parameters(model, vocabulary=config.text.max_vocab, classes=2)
    layer = sum(part.parameters for part in list_parts(model, vocabulary=0, classes=2) if part.layer)
    still = below + (training.frozen - 1) * layer if training.frozen else 0
    rows = -(-training.batch_size // training.portions)
    layers = model.layers - max(0, training.frozen - 1)
    each = OF_WIDTH * model.width + OF_FF_WIDTH * model.ff_width
    if model.family != "pretrained":
        part = model.attention
        each = OWN_WIDTH * model.width + OWN_FF_WIDTH * model.ff_width + OWN_MAP * model.width * (part.components - 1)
        each += OWN_ALIKE * part.components * part.heads * length if training.diversity else 0
    tokens = rows * (length + 2) * max(1, layers) * each
    return PROCESS + NUMBER * (WEIGHTS * every + (LEARNED + WRITTEN) * max(0, every - still) + tokens)


def check_fits(config: RunConfig, length: int, free: int) -> None:
    """Refuse a training that needs more than `free` bytes on its device; ConfigError suggests smaller settings."""
    takes, training = estimate_memory(config, length), config.training
    if takes <= free:
        return
    ways = []
    if training.portions < training.batch_size and not config.model.normalizes_batches:
        ways.append(f"training.portions={min(training.batch_size, 4 * training.portions)} (the same batch in portions)")
    own = config.model.family != "pretrained"
    if training.frozen <= config.model.layers and not own:
        ways.append(f"training.frozen={config.model.layers + 1} (only the head learns)")
    ways.append(f"a shorter text.max_length or a smaller {'training.batch_size' if own else 'backbone'}")
    raise ConfigError(
        f"{config.model.backbone or 'this model'}: this training needs about {takes / 1e9:.1f} GB of memory, and "
        f"{free / 1e9:.1f} are free; choose {', or '.join(ways)}"
    )


class Cost(NamedTuple):
    """The estimated memory and time of a training."""

    bytes: int
    seconds: float | None


def estimate_cost(config: RunConfig, records: Sequence[RunRecord]) -> Cost | None:
    """Estimate memory and time of a training; None: unknown; ConfigError, with cheaper settings: too much.

    Of a model from scratch only the memory is checked, and only if the length of its texts is known before they are
    read; the training checks it again when it has read them.
    """
    if config.model.family != "pretrained":
        if config.model.by_steps and config.training.device != "cuda" and _find_uncut_length(config, records):
            check_fits(config, find_longest_text(config, records), get_free_memory())
        return None
    from core.training.device import choose_device  # torch

    length, time = find_longest_text(config, records), estimate_time(config, records)
    check_fits(config, length, get_free_memory(choose_device(config.training.device)))
    if time is not None:
        check_time(config, time.seconds)
    return Cost(estimate_memory(config, length), None if time is None else time.seconds)


def check_time(config: RunConfig, seconds: float) -> None:
    """Refuse a training that would take more than a week; ConfigError suggests shorter settings."""
    if seconds <= LONGEST_DAYS * DAY:
        return
    ways = ["fewer training.epochs", "data.limit", "a smaller backbone", "a GPU"]
    if config.training.frozen <= config.model.layers:
        ways.insert(0, f"training.frozen={config.model.layers + 1} (only the head learns)")
    raise ConfigError(
        f"{config.model.backbone}: this training would take about {seconds / DAY:.0f} days here, and at most "
        f"{LONGEST_DAYS} are allowed; choose {', or '.join(ways)}"
    )


def get_free_memory(device: torch.device | None = None) -> int:
    """Return the free bytes for a training: of this machine and its container, or of a GPU."""
    if device is not None and device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return min((int(psutil.virtual_memory().available), *_read_cgroup_memory()))


def _read_cgroup_memory(root: Path = GROUPS, own: Path = OWN_GROUP) -> Iterator[int]:
    """Yield the bytes still free in each Linux control group of this process; cached file pages count as free."""
    lines = [line.split(":", 2) for line in try_call(OSError, "", own.read_text).splitlines()]  # OSError: not Linux
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
            except (OSError, ValueError):  # missing, or `max`: no limit
                continue


LENGTHS: dict[str, dict[str, Any]] = {
    "short": {"training.epochs": 4, "data.limit": 16_000},
    "medium": {"training.epochs": 10, "data.limit": 64_000},
    "full": {"training.epochs": 30, "data.limit": 0},
}
"""Settings for a length of training: at most 1,000 and 10,000 steps of 64 texts, and until validation stops improving.

The time is not fixed, as it depends on texts, model and machine: `estimate_time` estimates it.
"""
START_SECONDS = 10.0  # imports, data, vocabulary, and the metrics at the end
GUESS_MODEL, GUESS_SECONDS = "ndt-01-n3", 0.045  # a step, cautiously: 0.03 s for 64 built-in texts on two cores
GUESS_LENGTH, UNKNOWN_LENGTH = 24, 64
MASKED_SHARE = 0.15  # share of masked tokens, as in core.training.mlm, which needs torch (a test compares them)
DENSE = 256  # up to this length a window saves nothing, as in core.models.attention (a test compares them)
SIMILAR = 4.0  # largest ratio between the step costs of a planned run and of an earlier run used for the estimate
LESSON_SECONDS, READ_SECONDS = 8e-5, 2e-6
"""Seconds per training text and token of the longest text: for five fits of TF-IDF, and for one pass of a run."""


@dataclass(frozen=True)
class Counts:
    """The numbers of rows, classes and tokens of a data set, as counted with a run's text settings."""

    rows: int
    classes: int
    vocabulary: int = 0  # tokens that a tokenizer learns from these rows; 0: not counted
    longest: int = 0  # tokens of the longest text before cutting; 0: not counted


@dataclass(frozen=True)
class Estimate:
    """The estimated duration of a training run without early stopping."""

    steps: int
    seconds: float
    runs: int  # earlier runs on this machine from which the speed is estimated; 0: a guess
    counted: bool = True  # whether the training rows are counted; if not, the row limit is used


def estimate_time(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> Estimate | None:
    """Estimate the time from the start of a training run to its test metrics; None: number of texts unknown."""
    rows = count_rows(config, records, counts)
    if rows is None or not config.model.by_steps:
        return None
    learned = rows + sum(count_added_texts(rows, share) for share in (config.training.nonsense, config.training.joined))
    steps = config.training.epochs * -(-learned // config.training.batch_size)
    length = find_longest_text(config, records, counts)
    cost = _compute_step_cost(config, length)
    near = [pair for pair in filter(None, map(_read_step_time, records)) if 1 / SIMILAR <= pair[0] / cost <= SIMILAR]
    nearest = sorted(near, key=lambda pair: max(pair[0] / cost, cost / pair[0]))[:3]
    if nearest:
        each = statistics.median(seconds * cost / other for other, seconds in nearest)
    else:
        threads = config.training.threads or queue.count_threads()
        each = GUESS_SECONDS * cost / _compute_step_cost(compose(GUESS_MODEL), GUESS_LENGTH) * max(1.0, 2 / threads)
    teacher = config.training.teacher
    taught = rows * length * (LESSON_SECONDS if teacher == TFIDF else READ_SECONDS) if teacher else 0.0
    masked_steps = config.training.masked_epochs * -(-rows // config.training.batch_size)
    masked_tokens = config.training.batch_size * length * MASKED_SHARE
    masked = masked_steps * each * (cost + masked_tokens * config.text.max_vocab * config.model.width) / cost
    counted = count_uncut_rows(config, records, counts) is not None
    return Estimate(steps, START_SECONDS + (taught + masked) + steps * each, len(nearest), counted)


def describe_shortcuts(preset: str, config: RunConfig, rows: int | None = None) -> Iterator[str]:
    """Yield a sentence for each setting that shortens the preset's training; `rows`: training rows, if known."""
    own, chosen, limit = compose(preset).training, config.training, config.data.limit
    if config.model.by_steps and chosen.epochs < own.epochs:
        epochs = f"{plural(chosen.epochs, 'epoch')} in place of the {count(own.epochs)} of {preset}"
        if chosen.lr > own.lr:
            yield f"{epochs}, at a higher learning rate: fewer epochs can do with that, compare on validation."
        else:
            yield (
                f"{epochs}: learning rate and epochs belong together, and {chosen.lr:g} was chosen for {own.epochs}. "
                f"Try training.lr={2 * chosen.lr:g} or {4 * chosen.lr:g} as well, and choose on validation."
            )
    if limit and rows is None:
        yield f"At most {count(limit)} training rows are used; nobody has counted these yet."
    elif limit and rows is not None and rows > limit:
        yield f"At most {count(limit)} training rows: fewer known words, and a lower score than all of them would give."


@dataclass(frozen=True)
class Size:
    """The number of parameters of a model on its data set, with the vocabulary size it was computed from."""

    parameters: int
    vocabulary: int
    counted: Literal["run", "data", "bound"]  # by an earlier run, in the data, or an upper bound


def estimate_size(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> Size | None:
    """Count the parameters of a planned model on its data; None for an n-gram model that no run has counted yet."""
    same = [each for each in records if each.vocabulary and len(each.classes) > 1 and _has_same_data(each, config)]
    rows = count_rows(config, records, counts)
    alike = (each for each in same if _has_same_tokens(each.config, config) and _get_train_rows(each) == rows)
    known = next(alike, None)
    if known is None and not config.model.by_steps and config.model.family != "lexicon":
        return None
    classes = counts.classes if counts else len(same[0].classes) if same else config.data.classes or 2
    counted: Literal["run", "data", "bound"] = "bound"
    vocabulary = config.text.max_vocab
    if known:
        vocabulary, counted = known.vocabulary, "run"
    elif counts and counts.vocabulary:
        vocabulary, counted = counts.vocabulary, "data" if rows == counts.rows else "bound"
    return Size(count_parameters(config.model, vocabulary=vocabulary, classes=classes), vocabulary, counted)


def _has_same_tokens(first: RunConfig, second: RunConfig) -> bool:
    ngrams = {each.model.family.startswith("tfidf") for each in (first, second)}
    return len(ngrams) == 1 and get_vocab_settings(first.text) == get_vocab_settings(second.text)


def get_vocab_settings(text: TextConfig) -> TextConfig:
    """Return text settings reduced to those that decide which tokens the vocabulary has."""
    return replace(text, max_length=0, tagger="none", lexicon="", lexicon_match="word")


def _get_train_rows(record: RunRecord) -> int | None:
    return record.progress.get("rows", {}).get("train")


def _read_step_time(record: RunRecord) -> tuple[float, float] | None:
    """Return the relative cost and the seconds of one training step of a finished run; None if from another machine."""
    steps = record.results.get("steps")
    here = record.progress.get("machine") == get_machine_id() and record.threads == queue.count_threads()
    if record.status != "done" or not here or not steps or not record.seconds:
        return None
    length = _get_padded_length(record.config, record.max_length, _find_uncut_length(record.config, ()))
    seconds = record.seconds - record.results.get("masked", {}).get("seconds", 0.0)
    return _compute_step_cost(record.config, length), seconds / steps


def _compute_step_cost(config: RunConfig, length: int) -> float:
    """Return the relative cost of one training step: its multiplications plus a constant."""
    model, head = config.model, config.model.head
    if model.family == "bilstm":
        below = model.width + (model.layers - 1) * 2 * model.ff_width
        each = 8 * model.ff_width * (below + model.layers * model.ff_width)
    elif model.family == "cnn":
        each = model.width * sum(head.parse_widths()) * head.channels
    else:
        part, local = model.attention, sum(head.parse_widths()) * head.channels
        seen = min(length, part.window + part.random_globals + 2) if part.window and length > DENSE else length
        layer = (2 * part.components + 2) * model.width**2 + 2 * part.components * seen * model.width
        layer += 3 * model.width * model.ff_width
        joined = model.width + len(head.parse_widths()) * head.channels
        pooling = 4 * joined**2 + 2 * length * joined if head.attention_heads else 0
        each = model.layers * layer + model.width * local + pooling
    return config.training.batch_size * length * each + 1e8


def count_rows(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> int | None:
    """Return how many training texts a run has at most; None if neither a count nor a row limit is known."""
    known, limit = count_uncut_rows(config, records, counts), config.data.limit
    if known is None:
        return limit or None
    return min(known, limit) if limit else known


def count_uncut_rows(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> int | None:
    """Return how many training texts a data set has without a row limit; None if not counted or otherwise known."""
    if counts:
        return counts.rows
    data = config.data
    if data.name == "built-in" and not (data.split or data.folds):
        from core.data.sources.builtin.generate import ROWS  # pandas

        return ROWS["train"] if data.classes == 2 else ROWS["train"] * 5 // 4
    for record in records:
        rows, limit = _get_train_rows(record), record.config.data.limit
        if rows and (not limit or rows < limit) and _has_same_data(record, config):
            return rows
    return None


def _has_same_data(record: RunRecord, config: RunConfig) -> bool:
    cut = ("name", "split", "classes", "folds")
    return all(getattr(record.config.data, name) == getattr(config.data, name) for name in cut)


def find_longest_text(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> int:
    """Return the length of a data set's longest text in tokens after cutting, counted or known from an earlier run."""
    typical = _find_uncut_length(config, records) or (counts.longest if counts else 0)
    return _get_padded_length(config, config.text.max_length, typical) or typical or UNKNOWN_LENGTH


def _find_uncut_length(config: RunConfig, records: Sequence[RunRecord]) -> int:
    """Return the length in tokens of a data set's longest text before any cutting; 0 if unknown."""
    if config.data.name == "built-in":
        return GUESS_LENGTH
    return next(
        (each.max_length for each in records if not each.config.text.max_length and _has_same_data(each, config)), 0
    )


def _get_padded_length(config: RunConfig, most: int, typical: int) -> int:
    """Return the length to which texts are padded: at most `most` tokens, fewer if all texts are shorter."""
    fixed = config.training.batching == "fixed" or config.model.pad_mode == "as_released"
    return min(most, typical) if config.text.max_length and typical and not fixed else most
