"""The record of a run, `run.json`: human-readable, and complete without the process that wrote it."""

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
from core.paths import ELSEWHERE, UNKNOWN
from core.training.temperature import Scaling

Status = Literal["queued", "running", "done", "failed", "cancelled", "damaged"]

# Files of a run directory.
RECORD = "run.json"
HISTORY = "history.jsonl"
MASKED = "masked.jsonl"
TOKENIZER = "tokenizer.json"
WEIGHTS = "weights.safetensors"
MIX = "mix"  # folder with tokenizer and weights of a TF-IDF model that is mixed into the predictions
CHECKPOINT = "checkpoint"
STEPS = "steps"  # folder of the weights kept by training.keep, <step>.safetensors; it is not exported
LOG = "log.txt"
EVALUATION = "evaluation"
LINEAGE = "lineage"  # folder of digests of the training texts; see core.runs.lineage
PREDICTIONS, EMBEDDINGS, METRICS = "predictions.parquet", "embeddings.npy", "metrics.json"
"""Files of a split, in `evaluation/<split>/`; see core.runs.results."""
TAGS = "tags.parquet"  # replaces predictions and embeddings for runs that tag words; see core.runs.word_tagging
PROBABILITY = "probability:"  # prefix of the column with the probability of a class in the predictions
LABEL = "label:"  # prefix of the 0/1 column of a label of a multi-label task
SPEAKING = (WEIGHTS, TOKENIZER, f"{MIX}/{WEIGHTS}", f"{MIX}/{TOKENIZER}")  # for predictions; the last two: mixture
IMPORTED = ".imported"  # file with the size in bytes of an imported run; it is not exported
CANCEL = "CANCEL"  # file that requests a stop: training saves a checkpoint at its next step and ends
DISCARD = "discard"  # content of that file if the checkpoint is to be deleted too
LARGEST = 4 * 1024**2  # bytes of a record, at most; those of the presets have 20 kB
LONGEST = 4_000  # characters of a text in a record, and of the name of a field, at most
SHOWN = 300  # characters of a reason in a table of runs
Interval = Annotated[list[Figure], Meta(min_length=2, max_length=2)]
LineageFile = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\.texts$")]
Metrics = dict[str, dict[str, Figure]]
Intervals = dict[str, dict[str, Interval]]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$")]


@dataclass(frozen=True)
class Process:
    """The process that trains a run, identified by ID, start time and host, as process IDs are reused."""

    pid: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    started: Seconds  # psutil's create_time of that process; on Linux it changes when the machine's clock is set
    host: str
    ticks: Count = 0  # clock ticks from the start of the machine to that of the process; 0: unknown
    job: str = ""  # engine and ID of the job, `ray:ID` (`core.runs.engines`); empty: a process of the machine's queue

    @property
    def title(self) -> str:
        """Return the number of a process, or its job and machine, such as `ray job ID on node-3`."""
        job = self.job.replace(":", " job ", 1)
        return " on ".join(filter(None, (job, self.host))) if job else f"number {self.pid}"

    def to_tree(self) -> dict[str, Any]:
        """Return the process as plain data, without the job if there is none."""
        return {name: value for name, value in vars(self).items() if name != "job" or value}


class Position(TypedDict, total=False):
    """The progress of a training, as of its last checkpoint."""

    stage: Literal["masked"]  # pretraining with masked words; absent during the labelled training
    step: Count
    steps: Count
    epoch: Count
    epochs: Count
    rows: dict[str, Count]  # of training and validation; from the first step
    machine: str  # a fingerprint, to estimate the time of later runs; from the first step


class TunedThresholds(TypedDict, total=False):
    """The threshold of each label of a multi-label run, tuned on validation, and the resulting metrics."""

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
    rows: Count  # validation rows on which it was fitted; with fewer than `LEAST` it is 1
    prior: dict[str, Annotated[float, Meta(gt=0, lt=1)]]
    """Class → share in the training split, towards which probabilities move if the run was trained on nonsense texts;
    absent: uniform."""
    as_trained: Metrics  # split → probability metrics (loss, ece, brier) without the temperature


class TfidfMixture(TypedDict, total=False):
    """The weights and metrics of TF-IDF mixed into a run's predictions; see core.evaluation.inference."""

    model: str
    weight: Annotated[float, Meta(ge=0, le=1)]  # of the network (TF-IDF has the rest), chosen on validation
    rows: Count
    network: Metrics  # split → metrics of the network alone, as trained
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
    machine: str  # a fingerprint, as times of different machines are not compared


class WarmStart(TypedDict, total=False):
    """Which parts of a model were copied from the run that its training started from."""

    run: str
    numbers: Count  # parameters of the model that were copied
    of: Count  # all parameters
    fresh: list[str]
    partly: list[str]
    words: Count  # new tokens


class BackboneShare(TypedDict, total=False):
    """How much of a run's model is unchanged from its pretrained encoder; see core.runs.backbone_weights."""

    name: str
    digests: dict[str, str]
    unchanged: Count  # parameters of the model that are read from the encoder and not stored in the run
    of: Count  # all parameters


class IncludedExamples(TypedDict):
    """The counter-examples (edited texts) in the training data of a run: their number and digest."""

    rows: Count
    digest: str  # of the list that was used


class MaskedWords(TypedDict, total=False):
    """The loss and duration of pretraining with masked words."""

    loss: Figure  # mean cross-entropy of the masked tokens in the last epoch
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
"""Results of a run; `lambda` by layer and component, `scalars` by name and layer, `gates` as mean and deviation."""


@dataclass(frozen=True)
class RunRecord:
    """The record of one training run: settings, status, progress, and `results` when it is done."""

    run: str
    preset: str
    status: Status
    config: RunConfig
    created: Time
    reason: str = ""  # why it failed, was cancelled or is damaged, and what to do
    process: Process | None = None
    classes: tuple[str, ...] = ()
    task: Task = "single"  # single-label, multi-label or word tags; known with the classes
    ordered: bool = False  # whether the classes have an order, the worst first
    vocabulary: Count = 0
    max_length: Count = 0  # tokens, as used (text.max_length=0 is resolved from the data)
    lineage: Annotated[tuple[LineageFile, ...], Meta(max_length=1000)] = ()
    """Files in `lineage/`: digests of its training texts, then those of its start runs and teachers; empty for runs of
    versions without these files."""
    lineage_unknown: Annotated[tuple[str, ...], Meta(max_length=1000)] = ()
    """Start runs and teachers whose training texts are unknown."""
    pairs: bool = False
    data_fingerprint: str = ""
    data_notes: tuple[str, ...] = ()
    data_decisions: Annotated[tuple[ReadingDecision, ...], Meta(max_length=100)] = ()
    """How the data file was read; without quoted lines if the run stores no texts."""
    parameters: Count = 0
    seconds: Seconds = 0.0
    threads: Count = 0
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    progress: Position = field(default_factory=Position)
    results: Results = field(default_factory=Results)
    recipe: str = ""  # the recipe that changes the preset's settings (`core.recipes`); empty: none
    left_out: dict[str, str] = field(default_factory=dict)  # setting of the recipe → why it was not applied
    parent: str = ""
    newer: dict[str, Any] = field(default_factory=dict)
    """Unknown fields of the file, from a newer version, as plain data; they are kept when the file is rewritten."""

    @property
    def is_live(self) -> bool:
        """Return whether the run waits or trains, as far as its record knows."""
        return self.status in ("queued", "running")

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
    def from_outside(self) -> bool:
        """Return whether the run is a model from outside, which was not trained here."""
        return self.config.data.name.startswith(ELSEWHERE + UNKNOWN)

    @property
    def foreign_reason(self) -> str:
        """Explain why an imported run cannot be trained further here, and what to do; empty if it can."""
        data, lexicons, teacher = self.config.data.name, self.config.text.lexicons, self.config.training.teacher
        backbone = self.config.model.backbone
        if self.from_outside:
            return f"run '{self.run}' was not trained here: what it learned from is not known"
        named = (data, *lexicons, teacher, backbone, self.config.data.examples)
        files = [name.removeprefix(ELSEWHERE) for name in named if name.startswith(ELSEWHERE)]
        if not files:
            return ""
        own = f"--data {'FILE' if data.startswith(ELSEWHERE) else data}"
        known = ["FILE" if each.startswith(ELSEWHERE) else each for each in lexicons]
        own += f" --set text.lexicon={','.join(known)}" if "FILE" in known else ""
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
    """Raise InputError for a run that reads text pairs, which cannot be split, or that splits long texts itself."""
    if record.pairs:
        raise InputError(f"--passage: run '{record.run}' reads two texts side by side, each as a whole")
    if tokens := record.config.training.passages:
        raise InputError(f"--passage: run '{record.run}' reads texts in passages of {tokens} tokens by itself")


def update_intervals(results: Results) -> Results:
    """Return results with intervals by the current methods: shares computed again, ECE's and empty ones left out."""
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
