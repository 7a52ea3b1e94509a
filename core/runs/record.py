"""The record of a run, `run.json`: human-readable, and complete without the process that wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from core.config import RunConfig
from core.data.dataset import Task
from core.data.findings import ReadingDecision
from core.exceptions import InputError
from core.json_store import Count, Figure, Seconds, flatten_tree
from core.metrics import INTERVAL_VERSION
from core.metrics import METRICS as MEASURES
from core.paths import ELSEWHERE
from core.training.calibration import Scaling

Status = Literal["queued", "running", "done", "failed", "cancelled", "damaged"]

# Files of a run directory.
RECORD = "run.json"
HISTORY = "history.jsonl"
MASKED = "masked.jsonl"
TOKENIZER = "tokenizer.json"
WEIGHTS = "weights.safetensors"
MIX = "mix"
"""Folder of what is mixed into the answers of the network, with a tokenizer and weights of its own."""
CHECKPOINT = "checkpoint"
LOG = "log.txt"
EVALUATION = "evaluation"
LINEAGE = "lineage"
"""Folder of digests of the texts that were learned from; see core.runs.lineage."""
PREDICTIONS, EMBEDDINGS, METRICS = "predictions.parquet", "embeddings.npy", "metrics.json"
"""Of a split, in `evaluation/<split>/`; see core.runs.results."""
TAGS = "tags.parquet"
"""In place of predictions and embeddings, where each word has a tag; see core.runs.word_tagging."""
PROBABILITY = "probability:"
"""Before the class name, the column of its probability in the predictions."""
LABEL = "label:"
"""Before the class name, the 0/1 column of a multi-label task: whether the text has that label."""
SPEAKING = (WEIGHTS, TOKENIZER, f"{MIX}/{WEIGHTS}", f"{MIX}/{TOKENIZER}")
"""All files that a run answers with; those of a mixture only where there is one."""
IMPORTED = ".imported"
"""File of a run that came from elsewhere: how many bytes came. It does not travel on."""
CANCEL = "CANCEL"
"""A person's request to stop: training sees this file at its next step, saves a checkpoint and ends."""
DISCARD = "discard"
"""Written into that file: the checkpoint is not wanted either."""


LARGEST = 4 * 1024**2
"""Bytes of a record, at most; those of our presets have 20 kB."""
LONGEST = 4_000
"""Characters of a text of a record, and of the name of a field, at most."""
SHOWN = 300
"""Characters of a reason in a table of runs; the rest stands where one run is shown."""
Interval = Annotated[list[Figure], Meta(min_length=2, max_length=2)]
LineageFile = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\.texts$")]
Metrics = dict[str, dict[str, Figure]]
Intervals = dict[str, dict[str, Interval]]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$")]


@dataclass(frozen=True)
class Process:
    """The process that trains a run, identified by ID, start time and host, as process IDs are reused."""

    pid: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    started: Seconds
    """psutil's create_time of that process; on Linux it moves whenever the machine's clock is set."""
    host: str
    ticks: Count = 0
    """Clock ticks from the start of the machine to that of the process, which no clock moves; 0: unknown."""


class Position(TypedDict, total=False):
    """The progress of a training, as of its last checkpoint."""

    stage: Literal["masked"]
    """Before the labels: masked words are guessed; without it, steps and epochs are those of the labels."""
    step: Count
    steps: Count
    epoch: Count
    epochs: Count
    rows: dict[str, Count]
    """From the first step on: of training and validation."""
    machine: str
    """From the first step on: a fingerprint, so that its speed predicts the next run's."""


class TunedThresholds(TypedDict, total=False):
    """The tuned threshold of each label of a multi-label run, chosen on validation, and the resulting metrics."""

    thresholds: dict[str, Annotated[float, Meta(ge=0, le=1)]]
    metrics: Metrics
    intervals: Intervals


class TunedYardstick(TypedDict, total=False):
    """The tuned thresholds of the multi-label TF-IDF baseline, with the metrics at these thresholds."""

    thresholds: dict[str, Annotated[float, Meta(ge=0, le=1)]]
    splits: Metrics


class Yardstick(TypedDict, total=False):
    """Results of the TF-IDF baseline with logistic regression on a run's data; see core.evaluation.baseline."""

    model: str
    C: Figure
    scale: Figure
    temperature: Figure
    splits: Metrics
    phenomena: dict[str, Figure]
    tuned: TunedYardstick
    seconds: Seconds
    left_out: str


class Temperature(TypedDict, total=False):
    """The calibration of a run's probabilities by a temperature; see core.training.temperature."""

    value: Annotated[float, Meta(gt=0, le=1e6)]
    rows: Count
    """Of the validation split, on which it was fitted; below `LEAST` of them it stays 1."""
    prior: dict[str, Annotated[float, Meta(gt=0, lt=1)]]
    """By class, towards which it moves the answers of a run that was taught doubt: how frequent each is in the training
    split; absent: every class alike."""
    as_trained: Metrics
    """By split, what reads probabilities without it: loss, ece, brier."""


class TfidfMixture(TypedDict, total=False):
    """The weights and metrics of TF-IDF mixed into a run's predictions; see core.evaluation.ensemble."""

    model: str
    weight: Annotated[float, Meta(ge=0, le=1)]
    """Of the network, the rest is that of TF-IDF; chosen on the validation split."""
    rows: Count
    network: Metrics
    """By split, what the network reaches alone, as trained."""
    tfidf: Metrics


class Timing(TypedDict, total=False):
    """Milliseconds of one forward pass (median and quartiles), and the rows and tokens of its input."""

    milliseconds: Figure
    low: Figure
    high: Figure
    rows: Count
    tokens: Count


class Inference(Timing, total=False):
    """The time and memory of predicting one text and a batch. Records of older runs have only the batch."""

    one: Timing
    memory: Count
    device: str
    processor: str
    machine: str
    """A fingerprint: times of different machines are not compared."""


class WarmStart(TypedDict, total=False):
    """Which parts of a model were copied from the run that its training started from."""

    run: str
    numbers: Count
    """How many numbers of the model were copied,"""
    of: Count
    """of so many."""
    fresh: list[str]
    partly: list[str]
    words: Count
    """Tokens that are new."""


class BackboneShare(TypedDict, total=False):
    """How much of a run's model is unchanged from its pretrained encoder; see core.runs.backbone_weights."""

    name: str
    digests: dict[str, str]
    unchanged: Count
    """How many numbers of the model are the backbone's own, and not copied into the run,"""
    of: Count
    """of so many."""


class IncludedExamples(TypedDict):
    """The counter-examples (edited texts) in the training data of a run: their number and digest."""

    rows: Count
    digest: str
    """Of the list as it was then."""


class MaskedWords(TypedDict, total=False):
    """The loss and duration of pretraining with masked words."""

    loss: Figure
    """Mean cross-entropy of the last epoch over the places to be guessed."""
    epochs: Count
    seconds: Seconds


class Silhouette(TypedDict, total=False):
    """How well the classes of a split separate in the embeddings; see core.evaluation.class_separability."""

    rows: Count
    of: Count
    overall: Figure | None
    per_class: dict[str, Figure]
    left_out: str


Results = TypedDict(
    "Results",
    {
        "best_epoch": Annotated[int, Meta(ge=-1, le=2**53)],
        "steps": Count,
        "metrics": Metrics,
        "intervals": Intervals,
        "interval_version": Count,
        "lambda": list[list[Figure]],
        "lambda_heads": list[list[list[Figure]]],
        "scalars": dict[str, list[Figure]],
        "gates": list[list[Figure]],
        "silhouette": dict[str, Silhouette],
        "start": WarmStart,
        "backbone": BackboneShare,
        "examples": IncludedExamples,
        "masked": MaskedWords,
        "inference": Inference,
        "neutral_share": dict[str, Figure | None],
        "tuned": TunedThresholds,
        "mix": TfidfMixture,
        "temperature": Temperature,
        "yardstick": Yardstick,
        "C": Figure,
        "alpha": Figure,
        "scale": Figure,
        "feature": str,
    },
    total=False,
)
"""What a run reached; `lambda` by layer and component, `scalars` by name and layer, `gates` as mean and deviation."""


@dataclass(frozen=True)
class RunRecord:
    """The record of one training run: settings, status, progress, and `results` when it is done."""

    run: str
    preset: str
    status: Status
    config: RunConfig
    created: Time
    reason: str = ""
    """Why it failed, was cancelled or is damaged, and what to do; for a person."""
    process: Process | None = None
    classes: tuple[str, ...] = ()
    task: Task = "single"
    """Whether texts have one label or several, or their words a tag each; known with the classes."""
    ordered: bool = False
    """Whether the classes stand in an order, the worst first."""
    vocabulary: Count = 0
    max_length: Count = 0
    """Tokens, as used (text.max_length=0 is resolved from the data)."""
    lineage: Annotated[tuple[LineageFile, ...], Meta(max_length=1000)] = ()
    """Its files in `lineage/`: digests of the texts that it learned from, then those of the runs that it started from
    and of its teachers; empty of runs that are older than these files."""
    lineage_unknown: Annotated[tuple[str, ...], Meta(max_length=1000)] = ()
    """Runs that it started from or was taught by, of which it is not known what they learned from."""
    pairs: bool = False
    data_fingerprint: str = ""
    data_notes: tuple[str, ...] = ()
    data_decisions: Annotated[tuple[ReadingDecision, ...], Meta(max_length=100)] = ()
    """How the file of the data was read; without lines of it where the run keeps no texts."""
    parameters: Count = 0
    seconds: Seconds = 0.0
    threads: Count = 0
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    progress: Position = field(default_factory=Position)
    results: Results = field(default_factory=Results)
    recipe: str = ""
    """The recipe whose settings stand on top of the preset (`core.recipes`); empty: none."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Setting of the recipe → why this model did not take it."""
    parent: str = ""
    newer: dict[str, Any] = field(default_factory=dict)
    """What the file holds beyond these fields, as plain data: written by a newer version, kept when it is rewritten."""

    @property
    def tuned_thresholds(self) -> dict[str, float] | None:
        """Return the tuned threshold of each label, chosen on validation; None for single-label runs."""
        return self.results.get("tuned", {}).get("thresholds")

    @property
    def temperature(self) -> float:
        """Return the temperature that calibrates the run's probabilities; 1 (no change) for older runs."""
        return self.results.get("temperature", {}).get("value", 1.0)

    @property
    def scaling(self) -> Scaling:
        """Return the scaling of the run's logits: the temperature, and the class prior if one is used."""
        prior = self.results.get("temperature", {}).get("prior", {})
        return Scaling(self.temperature, tuple(prior[name] for name in self.classes) if prior else ())

    @property
    def answering(self) -> str:
        """Return a cache key that changes with the calibration and TF-IDF mixture of the run's predictions."""
        prior = "".join(f" {share}" for share in self.scaling.prior)
        return f"{self.temperature} {self.mix_weight}{prior}"

    @property
    def mix_weight(self) -> float | None:
        """Return the weight (0 to 1) of the run's network if TF-IDF is mixed in; None otherwise."""
        return self.results.get("mix", {}).get("weight")

    @property
    def mixture(self) -> str:
        """Describe the TF-IDF mixture of the run's predictions; empty if there is none."""
        return describe_mixture([self])

    @property
    def described(self) -> str:
        """Return the run's preset and TF-IDF mixture, as in `vanilla mixed with TF-IDF, w = 0.60`."""
        return f"{self.preset} {self.mixture}".rstrip()

    @property
    def foreign_reason(self) -> str:
        """Explain why an imported run cannot be trained further here, and what to do; empty if it can."""
        data, lexicons, teacher = self.config.data.name, self.config.text.lexicons, self.config.training.teacher
        backbone = self.config.model.backbone
        named = (data, *lexicons, teacher, backbone, self.config.data.examples)
        files = [name.removeprefix(ELSEWHERE) for name in named if name.startswith(ELSEWHERE)]
        if not files:
            return ""
        own = f"--data {'FILE' if data.startswith(ELSEWHERE) else data}"
        if any(each.startswith(ELSEWHERE) for each in lexicons):
            own += (
                f" --set text.lexicon={','.join('FILE' if each.startswith(ELSEWHERE) else each for each in lexicons)}"
            )
        own += " --set model.backbone=FOLDER" if backbone.startswith(ELSEWHERE) else ""
        own += " --set training.teacher=RUN" if teacher.startswith(ELSEWHERE) else ""
        return (
            f"run '{self.run}' was made with {' and '.join(map(repr, files))} of the machine that it comes from, which "
            "was not included: it can be viewed here but not trained. With a copy of your own, train it again: "
            f"`sentiscope train --model {self.preset} {own}`"
        )

    @property
    def unknown_fields(self) -> list[str]:
        """Return the dotted names of record fields that only a newer version of Sentiscope knows."""
        return list(flatten_tree(self.newer))


def describe_mixture(records: Iterable[RunRecord]) -> str:
    """Describe the TF-IDF mixture of runs that differ in their seeds, from the smallest weight to the largest."""
    weights = sorted({f"{record.mix_weight:.2f}" for record in records if record.mix_weight is not None})
    return f"mixed with TF-IDF, w = {' to '.join(dict.fromkeys((weights[0], weights[-1])))}" if weights else ""


def refuse_tagged(record: RunRecord) -> None:
    """Raise InputError for a run that labels words, and name the commands that support it."""
    if record.task == "tokens":
        raise InputError(
            f"run '{record.run}' gives each word a tag, and this is about labels of whole texts. What it can show: the "
            f"page Tagging, `sentiscope evaluate {record.run}`, `sentiscope predict {record.run} TEXT`"
        )


def refuse_passages(record: RunRecord) -> None:
    """Raise InputError for a run that reads text pairs, which cannot be split into passages."""
    if record.pairs:
        raise InputError(f"--passage: run '{record.run}' reads two texts side by side, each as a whole")


def update_intervals(results: Results) -> Results:
    """Return a run's results with intervals updated to the current methods (`core.evaluation.intervals.METHOD`).

    Records without a version have a percentile bootstrap for every metric. Shares are computed anew from their value
    and the rows of the split. What only the predictions could tell is left out: the calibration error, whose old
    interval may not even hold its value; so is what has no width.
    """
    if "intervals" not in results or results.get("interval_version", 1) >= INTERVAL_VERSION:
        return results
    rows = {split: known.get("of", 0) for split, known in results.get("silhouette", {}).items()}
    found: Results = {**results, "interval_version": INTERVAL_VERSION}
    found["intervals"] = _update_ranges(results["intervals"], results.get("metrics", {}), rows)
    if "intervals" in results.get("tuned", {}):
        tuned = results["tuned"]
        found["tuned"] = {**tuned, "intervals": _update_ranges(tuned["intervals"], tuned.get("metrics", {}), rows)}
    return found


def _update_ranges(intervals: Intervals, metrics: Metrics, rows: dict[str, int]) -> Intervals:
    return {
        split: {
            name: new
            for name, ends in ranges.items()
            if (new := _update_interval(name, ends, metrics.get(split, {}).get(name), rows.get(split, 0))) is not None
        }
        for split, ranges in intervals.items()
    }


def _update_interval(name: str, ends: list[float], value: Any, rows: int) -> list[float] | None:
    metric = MEASURES.get(name)
    if metric is not None and metric.whole_rows:
        from core.evaluation.intervals import compute_wilson  # NumPy: lists of runs are read without it

        return list(compute_wilson(round(value * rows), rows)) if rows and value is not None else None
    return None if (metric is not None and metric.parts) or ends[0] == ends[1] else ends
