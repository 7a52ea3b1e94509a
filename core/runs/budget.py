"""How long a training run may take, chosen before it starts, and how long it will take. Imports nothing heavy."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.config import RunConfig, compose
from core.data.findings import plural
from core.models.config import ModelConfig
from core.models.describe import parameters
from core.numbers import count
from core.runs import queue
from core.runs.record import RunRecord
from core.runs.store import this_machine
from core.text.config import TextConfig
from core.training.config import TFIDF, further

LENGTHS: dict[str, dict[str, Any]] = {
    "short": {"training.epochs": 4, "data.limit": 16_000},
    "medium": {"training.epochs": 10, "data.limit": 64_000},
    "full": {"training.epochs": 30, "data.limit": 0},
}
"""Settings for a length of training: at most 1,000 and 10,000 steps of 64 texts, and all until nothing improves.

The names promise no time, which depends on texts, model, machine and whatever else it does: `estimate` says it.
"""
START_SECONDS = 10.0
"""Imports, data, vocabulary, and the metrics at the end."""
GUESS_MODEL, GUESS_SECONDS = "ndt-01-n3", 0.045
"""One step of that model on 64 texts of the built-in corpus on two cores takes 0.03 s; said with caution."""
GUESS_LENGTH, UNKNOWN_LENGTH = 24, 64
MASKED_SHARE = 0.15
"""Of the tokens, as in core.training.masked, which needs torch (a test compares them)."""
DENSE = 256
"""Up to this length a window saves nothing, as in core.models.attention, which needs torch (a test compares them)."""
SIMILAR = 4.0
"""Runs that cost at most so many times more or less for each step can be compared."""


LESSON_SECONDS, READ_SECONDS = 8e-5, 2e-6
"""For each text of the training split and each token of the longest: five fits of TF-IDF, or one pass of a run."""


@dataclass(frozen=True)
class Counts:
    """The counts of a data set that has been read, with the text settings of a run."""

    rows: int
    classes: int
    vocabulary: int = 0
    """Tokens that a tokenizer learns from these rows; 0: not counted."""
    longest: int = 0
    """Tokens of the longest text that is read whole; 0: not counted."""


@dataclass(frozen=True)
class Estimate:
    """What a training run will take at most (it may stop early)."""

    steps: int
    seconds: float
    runs: int
    """Earlier runs on this machine that its speed was measured on; 0: a guess."""
    counted: bool = True
    """Whether the training rows are counted; else their limit is taken."""


def estimate(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> Estimate | None:
    """Estimate the time from the click to the test metrics; None where nobody knows how many texts there are."""
    rows = _rows(config, records, counts)
    if rows is None or not config.model.by_steps:
        return None
    learned = rows + sum(further(rows, share) for share in (config.training.nonsense, config.training.joined))
    steps = config.training.epochs * -(-learned // config.training.batch_size)
    length = longest(config, records, counts)
    cost = _cost(config, length)
    near = [pair for record in records if (pair := _measured(record)) and 1 / SIMILAR <= pair[0] / cost <= SIMILAR]
    nearest = sorted(near, key=lambda pair: max(pair[0] / cost, cost / pair[0]))[:3]
    if nearest:
        each = statistics.median(seconds * cost / other for other, seconds in nearest)
    else:
        threads = config.training.threads or queue.threads()
        each = GUESS_SECONDS * cost / _cost(compose(GUESS_MODEL), GUESS_LENGTH) * max(1.0, 2 / threads)
    before = _lessons(config, rows, length) + _masked_steps(config, rows) * each * _masked_cost(config, length) / cost
    counted = uncut_rows(config, records, counts) is not None
    return Estimate(steps, START_SECONDS + before + steps * each, len(nearest), counted)


def _masked_steps(config: RunConfig, rows: int) -> int:
    return config.training.masked_epochs * -(-rows // config.training.batch_size)


def _masked_cost(config: RunConfig, length: int) -> float:
    guessed = config.training.batch_size * length * MASKED_SHARE
    return _cost(config, length) + guessed * config.text.max_vocab * config.model.width


def _lessons(config: RunConfig, rows: int, length: int) -> float:
    teacher = config.training.teacher
    return rows * length * LESSON_SECONDS if teacher == TFIDF else rows * length * READ_SECONDS if teacher else 0.0


def shortened(preset: str, config: RunConfig, rows: int | None = None) -> Iterator[str]:
    """Yield what it costs to train for less than the preset does, a sentence each; `rows`: without limit, if known."""
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
    """How large a model will be on its data."""

    parameters: int
    vocabulary: int
    counted: Literal["run", "data", "bound"]
    """Whether an earlier run or a read of these data counted the vocabulary; a bound may be too large."""


def size(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> Size | None:
    """Count the parameters of the model on its data; None where it counts n-grams and nobody has done so yet."""
    same = [each for each in records if each.vocabulary and len(each.classes) > 1 and _same_data(each, config)]
    rows = _rows(config, records, counts)
    known = next((each for each in same if _same_tokens(each.config, config) and _trained_on(each) == rows), None)
    if known is None and not config.model.by_steps and config.model.family != "lexicon":
        return None
    classes = counts.classes if counts else len(same[0].classes) if same else config.data.classes or 2
    counted: Literal["run", "data", "bound"] = "bound"
    vocabulary = config.text.max_vocab
    if known:
        vocabulary, counted = known.vocabulary, "run"
    elif counts and counts.vocabulary:
        vocabulary, counted = counts.vocabulary, "data" if rows == counts.rows else "bound"
    return Size(parameters(config.model, vocabulary=vocabulary, classes=classes), vocabulary, counted)


def _same_tokens(first: RunConfig, second: RunConfig) -> bool:
    ngrams = {each.model.family.startswith("tfidf") for each in (first, second)}
    return len(ngrams) == 1 and vocabulary_settings(first.text) == vocabulary_settings(second.text)


def vocabulary_settings(text: TextConfig) -> TextConfig:
    """Return text settings with only those of their values that decide which tokens there are."""
    return replace(text, max_length=0, tagger="none", lexicon="", lexicon_match="word")


def _trained_on(record: RunRecord) -> int | None:
    return record.progress.get("rows", {}).get("train")


def _measured(record: RunRecord) -> tuple[float, float] | None:
    """Return cost and seconds of one step of a finished run, if this machine trained it as it would the next."""
    steps = record.results.get("steps")
    here = record.progress.get("machine") == this_machine() and record.threads == queue.threads()
    if record.status != "done" or not here or not steps or not record.seconds:
        return None
    length = _filled(record.config, record.max_length, _typical(record.config, ()))
    seconds = record.seconds - record.results.get("masked", {}).get("seconds", 0.0)
    return _cost(record.config, length), seconds / steps


def _cost(config: RunConfig, length: int) -> float:
    """Return the multiplications of one step, up to a factor; the constant stands for what every step costs."""
    model, head = config.model, config.model.head
    if model.family == "bilstm":
        below = model.width + (model.layers - 1) * 2 * model.ff_width
        each = 8 * model.ff_width * (below + model.layers * model.ff_width)
    elif model.family == "cnn":
        each = model.width * sum(head.widths()) * head.channels
    else:
        each = model.layers * _layer_cost(model, length) + _head_cost(model, length)
    return config.training.batch_size * length * each + 1e8


def _layer_cost(model: ModelConfig, length: int) -> int:
    part = model.attention
    seen = min(length, part.window + part.random_globals + 2) if part.window and length > DENSE else length
    projections = (2 * part.components + 2) * model.width**2
    return projections + 2 * part.components * seen * model.width + 3 * model.width * model.ff_width


def _head_cost(model: ModelConfig, length: int) -> int:
    head = model.head
    joined = model.width + len(head.widths()) * head.channels
    attention = 4 * joined**2 + 2 * length * joined if head.attention_heads else 0
    return model.width * sum(head.widths()) * head.channels + attention


def _rows(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None) -> int | None:
    known, limit = uncut_rows(config, records, counts), config.data.limit
    if known is None:
        return limit or None
    return min(known, limit) if limit else known


def uncut_rows(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> int | None:
    """Return the training texts that there are, as counted, of the corpus or by an earlier run; None: nobody knows."""
    if counts:
        return counts.rows
    data = config.data
    known = _built_in(data.classes) if data.name == "built-in" and not (data.split or data.folds) else None
    for record in records:
        rows = _trained_on(record)
        if known is None and rows and _uncut(record) and _same_data(record, config):
            known = rows
    return known


def _built_in(classes: int) -> int:
    from core.data.sources.builtin.generate import ROWS  # pandas

    return ROWS["train"] if classes == 2 else ROWS["train"] * 5 // 4


def _uncut(record: RunRecord) -> bool:
    limit = record.config.data.limit
    return not limit or record.progress["rows"]["train"] < limit


def _same_data(record: RunRecord, config: RunConfig) -> bool:
    cut = ("name", "split", "classes", "folds")
    return all(getattr(record.config.data, name) == getattr(config.data, name) for name in cut)


def longest(config: RunConfig, records: Sequence[RunRecord], counts: Counts | None = None) -> int:
    """Return the longest text in tokens: as counted or as an earlier run on the same data, cut where that is set."""
    typical = _typical(config, records) or (counts.longest if counts else 0)
    return _filled(config, config.text.max_length, typical) or typical or UNKNOWN_LENGTH


def _typical(config: RunConfig, records: Sequence[RunRecord]) -> int:
    """Return the longest text of the data where nothing is cut; 0: nobody knows."""
    if config.data.name == "built-in":
        return GUESS_LENGTH
    return next(
        (each.max_length for each in records if not each.config.text.max_length and _same_data(each, config)), 0
    )


def _filled(config: RunConfig, most: int, typical: int) -> int:
    """Return how far texts are filled up where they are cut at `most`: hardly ever to it if they are shorter anyway."""
    fixed = config.training.batching == "fixed" or config.model.pad_mode == "as_released"
    return min(most, typical) if config.text.max_length and typical and not fixed else most
