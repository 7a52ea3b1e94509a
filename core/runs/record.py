"""The record of a run: what `run.json` holds. Readable by a person, complete without the process that wrote it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from core.config import RunConfig
from core.data.table import Task

Status = Literal["queued", "running", "done", "failed", "cancelled", "damaged"]

# Files of a run directory.
RECORD = "run.json"
HISTORY = "history.jsonl"
TOKENIZER = "tokenizer.json"
WEIGHTS = "weights.safetensors"
CHECKPOINT = "checkpoint"
LOG = "log.txt"
EVALUATION = "evaluation"
PREDICTIONS, EMBEDDINGS, METRICS = "predictions.parquet", "embeddings.npy", "metrics.json"
"""Of a split, in `evaluation/<split>/`; see core.runs.results."""
PROBABILITY = "probability:"
"""Before the class name, the column of its probability in the predictions."""
LABEL = "label:"
"""Before the class name, the 0/1 column of a multi-label task: whether the text has that label."""
CANCEL = "CANCEL"
"""A person's wish to stop: the training sees this file at its next step, saves a checkpoint and ends."""
DISCARD = "discard"
"""Written into that file: the checkpoint is not wanted either."""


@dataclass(frozen=True)
class Process:
    """Who trains: enough to tell a living process from a reused number."""

    pid: int
    started: float
    """psutil's create_time of that process."""
    host: str


@dataclass(frozen=True)
class RunRecord:
    """One run. `results` is filled when it is done; everything else is known from the start or as it goes."""

    run: str
    """Directory name; letters, digits, dot, dash, underscore."""
    preset: str
    status: Status
    config: RunConfig
    created: str
    """ISO time with zone."""
    reason: str = ""
    """Why it failed, was cancelled or is damaged, and what to do; for a person."""
    process: Process | None = None
    classes: tuple[str, ...] = ()
    task: Task = "single"
    """Whether texts have one label or several; known with the classes."""
    vocabulary: int = 0
    max_length: int = 0
    """Tokens, as used (text.max_length=0 is resolved from the data)."""
    data_fingerprint: str = ""
    data_notes: tuple[str, ...] = ()
    parameters: int = 0
    seconds: float = 0.0
    """Training time, resumed parts added up."""
    threads: int = 0
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    progress: dict[str, Any] = field(default_factory=dict)
    """step, steps, epoch, epochs of the last checkpoint; from the first step on rows (training and validation) and
    machine (a fingerprint, so that its speed can be told for the next run)."""
    results: dict[str, Any] = field(default_factory=dict)
    """metrics and intervals per split, lambda per layer and component, yardstick (TF-IDF) per split; of a multi-label
    task also `tuned`: thresholds by label, chosen on validation, and metrics and intervals per split at these."""
    parent: str = ""
    """The sweep this run belongs to."""
