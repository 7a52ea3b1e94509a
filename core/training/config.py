"""The settings of a training run. Has no heavy imports."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.data.dataset import Task
from core.exceptions import ConfigError
from core.metrics import METRICS
from core.paths import ELSEWHERE
from core.settings import LARGEST_SEED, Need, Range, check_needs, check_ranges, setting

UNASKED: dict[Task, str] = {"single": "accuracy", "multi": "f1_macro", "tokens": "span_f1"}
_OF = {"single": "one label per text", "multi": "several labels per text", "tokens": "a tag for each word"}
TFIDF = "tfidf"  # the teacher that is not a run
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
if TYPE_CHECKING:
    MetricName = str
else:  # the table of metrics is the only list of the names
    MetricName = Literal[("auto", *METRICS)]


def resolve_metric(metric: str, task: Task, *, ordered: bool = False) -> str:
    """Return the validation metric of a training, for `auto` the task's default; ConfigError if it does not fit."""
    if metric == "auto":
        return UNASKED[task]
    if task in METRICS[metric].tasks and METRICS[metric].ordered and not ordered:
        why = "needs three classes or more in an order (data.order=worst,…,best)"
        raise ConfigError(f"training.metric={metric}: {why}; the nearest is {METRICS[metric].nearest}")
    if task not in METRICS[metric].tasks:
        near = METRICS[metric].nearest
        nearest = near if near in METRICS and task in METRICS[near].tasks else UNASKED[task]
        raise ConfigError(f"training.metric={metric}: not defined for {_OF[task]}; the nearest is {nearest}")
    return metric


def count_added_texts(rows: int, share: float) -> int:
    """Return how many texts augmentation adds for a share of the training rows; at least one for a share above 0."""
    return max(1, round(share * rows)) if share else 0


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a training run: optimiser, schedule, early stopping, augmentation, precision and device."""

    # fmt: off
    epochs: int = setting(10, within=(1, 1_000_000))
    start: str = setting("",
        help="A finished run whose tokenizer, words and layers this training starts from; empty: from random numbers.")
    frozen: int = setting(0,
        help="Of a training that starts from another run or from a backbone: what stays as it starts, counted from "
        "below: 1 the words, 2 the first layer too, and so on; 0: nothing.", within=(0, 128))
    layer_decay: float = setting(1.0,
        help="Factor on the learning rate for each step down from the head: layers near the words learn more slowly.",
        within=Range(0, 1, "low"))
    masked_epochs: int = setting(0,
        help="Epochs, before those that learn the labels, of guessing masked words of the training texts; 0: none.",
        within=(0, 1_000_000))
    batch_size: int = setting(64, within=(1, 1_000_000))
    portions: int = setting(1, "accumulation steps",
        help="In how many portions a batch is read, their gradients added up before the step: less memory, the same "
        "step but for rounding and dropout. Not with batch normalisation (model.head.kernels).", within=(1, 1_000_000))
    lr: float = setting(5e-4, within=Range(0, 1, "low"))
    lambda_lr: float = setting(1.0, "learning rate of lambda, as a factor", "Maps and lambda",
        "Factor on the learning rate of what makes lambda: its vectors and, where it is learned, beta.",
        within=Range(0, 1000, "low"))
    weight_decay: float = setting(0.1, within=(0, 1000))
    decay: Literal["all", "matrices"] = setting("all",
        help="What is decayed: all = every parameter but lambda · matrices = no biases, norms, gates and factors "
        "either.")
    diversity: float = setting(0.0, "penalty on maps that look alike", "Maps and lambda",
        "Weight of a penalty on component maps that look alike (their mean cosine); 0: none. Needs every map: slow.",
        within=(0, 1000))
    schedule: Literal["cosine", "linear", "constant"] = setting("cosine",
        help="What follows the warm-up; cosine and linear end at 0.")
    warmup: float = setting(0.05, help="Share of all steps in which the learning rate rises from 0.",
        within=Range(0, 1, "high", "a share of the steps"))
    word_dropout: float = setting(0.0,
        help="Share of the words that each batch replaces by the unknown one: a model that has learned without a word "
        "reads unknown ones better. Never in validation or prediction; 0: none.",
        within=Range(0, 1, "high", "a share of the words"))
    vectors: Literal["random", "ppmi"] = setting("random", "word vectors at the start",
        help="ppmi: from the company that words keep in the training texts (positive pointwise mutual information, "
        "truncated SVD).")
    teacher: str = setting("",
        help="Whose probabilities are learned beside the labels: tfidf = TF-IDF of words and character n-grams, each "
        "row taught by a fit that has not seen it · the name of a finished run with the same classes · empty: none.")
    teacher_weight: float = setting(0.6, "weight of the teacher",
        help="Share of the teacher in what is learned, the labels have the rest.", within=Range(0, 1, "low"),
        needs=(Need(lambda training: bool(training.teacher), "there is no teacher; choose training.teacher=tfidf"),))
    mix: Literal["none", "tfidf"] = setting("none", "mixed in at prediction",
        help="tfidf: the probabilities of TF-IDF of words and character n-grams, fitted on the training split, are "
        "mixed with those of the network; the weight is the one with the least loss on the validation split.")
    nonsense: float = setting(0.0, "share of made-up texts",
        help="How many further training texts of made-up words there are, as a share of the rows; what is learned of "
        "them is how frequent each class is, so that a text of unknown words only is answered with doubt. 0: none; try "
        "0.1.", within=(0, 1))
    joined: float = setting(0.0, "share of joined texts",
        help="How many further training texts there are, as a share of the rows, that are made of training texts of "
        "one class, one behind the other, up to text.max_length: a model that has only short texts to learn from then "
        "reads long ones. 0: none; try 0.02.", within=(0, 1))
    passages: int = setting(0, "tokens of a passage",
        help="Without it, a model of sentences reads long texts worse than TF-IDF. So many tokens are read at once, in "
        "training and after it, and their logits averaged with learned weights; 0: texts are read whole; try 64. Set "
        "text.max_length too, which is 256 at most by itself.", within=(0, 16_384))
    label_smoothing: float = setting(0.0, within=Range(0, 1, "high"))
    class_weights: Literal["none", "balanced"] = setting("none",
        help="balanced: each class weighs n / (classes * its rows); of several labels per text with one (n - rows) / "
        "rows.")
    clip: float = setting(1.0, help="Largest gradient norm; 0: no clipping.", within=(0, 1_000_000))
    metric: MetricName = setting("auto",
        help="Validation metric that chooses the best epoch and stops early; auto: accuracy, of several labels "
        "f1_macro, of tagged words span_f1.")
    patience: int = setting(3, help="Epochs without a better validation metric before stopping; 0: never stop early.",
        within=(0, 1_000_000))
    batching: Literal["length", "fixed"] = setting("length",
        help="length: texts of similar length together, padded to the longest of them · fixed: all padded to "
        "max_length.")
    precision: Literal["float32", "bfloat16"] = setting("float32",
        help="bfloat16 is refused on a CPU that would be slower with it.")
    weights: Literal["float32", "float16", "int8"] = setting("float32",
        help="How the weights are kept on disk, and evaluated: whole · float16: half the space · int8: a quarter, a "
        "byte for each number of a matrix and a scale for each of its rows. Embeddings of texts are then float16.")
    device: str = setting("auto", help="auto (CUDA, then MPS, then CPU), cpu, cuda, cuda:1, mps.")
    threads: int = setting(0,
        help="CPU threads; 0: the cores of this machine divided by the number of runs that may train at once.",
        within=(0, 1024))
    keep: int = setting(0, "checkpoints kept",
        help="How many checkpoints are kept, evenly from the first step to the last, so that a sentence can be read as "
        "the model read it then (edit step:N); each takes the space of the weights. 0: none.", within=(0, 50))
    seed: int = setting(0, within=(0, LARGEST_SEED))
    # fmt: on

    def __post_init__(self) -> None:
        check_ranges(self, "training")
        check_needs(self, "training")
        if self.teacher and not _RUN.fullmatch(self.teacher.removeprefix(ELSEWHERE)):
            raise ConfigError(f"training.teacher={self.teacher!r:.60}: tfidf, or the name of a run")
        if self.start and not _RUN.fullmatch(self.start.removeprefix(ELSEWHERE)):
            raise ConfigError(f"training.start={self.start!r:.60}: the name of a run")
        if not re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]{1,3})?", self.device):
            raise ConfigError(f"training.device={self.device!r:.60}: auto, cpu, cuda, cuda:1 or mps")
