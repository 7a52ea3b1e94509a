"""Predictions of a model on many texts, in batches; its parameters, and the time and memory of a prediction."""

import contextlib
import dataclasses
import platform
import statistics
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.data.dataset import Task
from core.evaluation.metrics import Array, evaluate
from core.exceptions import NotAvailable, try_call
from core.lazy_imports import scipy
from core.models.builder import Model
from core.models.trace import Batch, Intervene, Output
from core.text.token_table import TokenTable, build_token_table, split_batches, to_batch
from core.text.tokenizer import Tokenizer
from core.text.words import split_passages
from core.training.temperature import UNSCALED, Scaling

OnBatch = Callable[[float], None]


def ignore_progress(share: float) -> None:
    """Ignore the reported share of work done (default progress callback)."""


class Classifier(Protocol):
    """A model or function that classifies a batch of texts, returning logits and pooled vectors."""

    def __call__(self, batch: Batch, *, intervene: Intervene = None) -> Output:
        """Return the logits and pooled vectors of a batch of texts."""


class EnsembleLogits(NamedTuple):
    """Logits (n, C) of a network and a TF-IDF model whose probabilities are mixed; see `core.evaluation.inference`."""

    network: Array
    tfidf: Array


@dataclass(frozen=True)
class Predictions:
    """A model's predictions on texts (logits, probabilities, pooled vectors), one float32 row per text, in order."""

    logits: Array  # (n, C)
    probabilities: Array  # (n, C): softmax of the scaled logits, in a multi-label task the sigmoid of each
    pooled: Array  # (n, d): input of the model's classifier
    parts: EnsembleLogits | None = None  # the logits of both models of a mixture

    def select_rows(self, rows: slice) -> "Predictions":
        """Return the predictions on some of the texts, chosen by a slice."""
        parts = None if self.parts is None else EnsembleLogits(*(each[rows] for each in self.parts))
        return Predictions(self.logits[rows], self.probabilities[rows], self.pooled[rows], parts)

    @staticmethod
    def concatenate(portions: Sequence["Predictions"]) -> "Predictions":
        """Join a model's predictions on several lists of texts into one, in order."""
        columns = zip(*((each.logits, each.probabilities, each.pooled) for each in portions), strict=True)
        logits, chances, pooled = map(np.concatenate, columns)
        return Predictions(logits, chances, pooled)

    def apply_scaling(self, scaling: Scaling, task: Task) -> "Predictions":
        """Return predictions with probabilities recomputed from the logits with another temperature scaling."""
        found = compute_probabilities(torch.from_numpy(self.logits), task, scaling)
        return dataclasses.replace(self, probabilities=found.numpy())


def predict_texts(
    model: Classifier,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    task: Task = "single",
    batch_size: int = 128,
    intervene: Intervene = None,
    scaling: Scaling = UNSCALED,
    on_batch: OnBatch = ignore_progress,
    tokens: TokenTable | None = None,
) -> Predictions:
    """Classify texts in batches of similar length; an exception from `on_batch` (share done) stops the work."""
    device, parts = get_device(model), []
    tokens = build_token_table(tokenizer, texts) if tokens is None else tokens
    # Without texts the model reads an empty one, so that the empty result has the right widths.
    order = np.argsort(-tokens.lengths, kind="stable") if len(tokens) else np.zeros(0, np.int64)
    empty = dataclasses.replace(tokens, offsets=np.zeros(2, np.int64))
    with switch_to_eval(model):
        batches = split_batches(order, batch_size) or [order]
        for number, rows in enumerate(batches):
            on_batch(number / len(batches))
            padded = tokens.pad_rows(rows) if len(rows) else empty.pad_all()
            change = [intervene[row] for row in rows] if isinstance(intervene, Sequence) else intervene
            output = model(Batch.from_arrays(padded).to(device), intervene=change)
            logits = check_finite(output.logits.float())
            found = (logits, compute_probabilities(logits, task, scaling), output.pooled.float())
            parts.append([each[: len(rows)].cpu().numpy() for each in found])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    said, chances, pooled = (np.concatenate(column)[place] for column in zip(*parts, strict=True))
    return Predictions(said, chances, pooled)


def check_finite(logits: Tensor) -> Tensor:
    """Return a model's logits unchanged, in any shape; NotAvailable if one is not finite."""
    if not bool(torch.isfinite(logits).all()):
        raise NotAvailable("the outputs of the model are not finite: its weights or edits are too large")
    return logits


def compute_probabilities(logits: Tensor, task: Task, scaling: Scaling = UNSCALED) -> Tensor:
    """Return (…, C) probabilities of temperature-scaled logits: softmax over classes, or the sigmoid of each label."""
    cooled = scale_logits(logits, task, scaling)
    return cooled.softmax(-1) if task == "single" else cooled.sigmoid()


def scale_logits(logits: Tensor, task: Task, scaling: Scaling) -> Tensor:
    """Apply temperature scaling: divide logits by T or, with a class prior, only their differences from its logits."""
    cooled = logits / scaling.temperature
    if not scaling.prior:
        return cooled
    return cooled + (1 - 1 / scaling.temperature) * logits.new_tensor(scaling.compute_prior_logits(task))


def get_device(model: Classifier) -> torch.device:
    """Return the device of a model's weights; the CPU for a plain function."""
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    first = next(iter(parameters), None)
    return torch.device("cpu") if first is None else first.device


@contextlib.contextmanager
def switch_to_eval(model: Classifier) -> Iterator[None]:
    """Switch a model to evaluation mode without gradients while the context is open; then restore its former mode."""
    learning = [each for each in model.modules() if each.training] if isinstance(model, nn.Module) else []
    for module in learning:
        module.training = False
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in learning:
            module.training = True


@dataclass(frozen=True)
class PassagePredictions:
    """Predictions of n texts that were cut into passages, and predictions of the passages."""

    whole: Predictions  # one row per text
    cut: list[list[str]]  # (n,) the passages of each text, at least one
    each: Predictions  # one row per passage, text by text
    weights: Array  # (passages,): of each in the logits of its text, where they sum to 1

    @classmethod
    def read_own(
        cls, model: Model, tokenizer: Tokenizer, text: str, whole: Predictions, task: Task, scaling: Scaling
    ) -> Self:
        """Return the passages in which a model reads a long text by itself; `whole` is its prediction of the text."""
        encoding = tokenizer.encode(text)
        with switch_to_eval(model):
            parts = model(Batch.from_arrays(to_batch(encoding)).to(get_device(model))).passages
        if parts is None:
            raise NotAvailable("the text is short enough to be read as a whole")
        spans = [encoding.offsets[start:end] for start, end in pairwise([0, *parts.ends.tolist()])]
        cut = [encoding.text[own[0][0] : own[-1][1]] for own in spans]
        logits = parts.logits.float().cpu()
        each = Predictions(logits.numpy(), compute_probabilities(logits, task, scaling).numpy(), logits.numpy())
        return cls(whole, [cut], each, parts.weights.cpu().numpy())

    def apply_scaling(self, scaling: Scaling, task: Task) -> "PassagePredictions":
        """Return predictions with the whole texts' probabilities recomputed with another temperature scaling."""
        return dataclasses.replace(self, whole=self.whole.apply_scaling(scaling, task))

    def measure_effects(self, task: Task, scaling: Scaling) -> Array:
        """Return how far the log-odds of a single text's prediction fall without each of its passages."""
        logits, weights = self.each.logits.astype(np.float64), self.weights[:, None].astype(np.float64)
        whole = (weights * logits).sum(0)
        rest = (whole - weights * logits) / np.maximum(1 - weights, np.finfo(np.float64).eps)
        scaled = scale_logits(torch.from_numpy(np.concatenate([whole[None], rest])), task, scaling).numpy()
        asked = int(whole.argmax())
        others = scipy.special.logsumexp(np.delete(scaled, asked, 1), 1) if task == "single" else 0.0
        odds: Array = scaled[:, asked] - others
        return odds[0] - odds[1:]


def predict_passages(
    read: Callable[[Sequence[str]], Predictions], texts: Sequence[str], words: int
) -> PassagePredictions:
    """Predict long texts as the mean over their passages of at most `words` words."""
    cut = [split_passages(text, words) for text in texts]
    each = read([passage for own in cut for passage in own])
    lengths = np.array([len(own) for own in cut], np.int64)
    starts = np.cumsum(lengths) - lengths

    def average_passages(values: Array) -> Array:
        """Average the values of passages (passages, k) to values of whole texts (texts, k)."""
        sums = np.add.reduceat(values, starts) if len(starts) else values[:0]
        return (sums / lengths[:, None]).astype(values.dtype)

    logits, chances, pooled = map(average_passages, (each.logits, each.probabilities, each.pooled))
    parts = None if each.parts is None else EnsembleLogits(*map(average_passages, each.parts))
    return PassagePredictions(Predictions(logits, chances, pooled, parts), cut, each, np.repeat(1 / lengths, lengths))


@dataclass(frozen=True)
class Ensemble:
    """The TF-IDF model to mix with a network's predictions, and the weight of the network in the mixture."""

    model: Model
    tokenizer: Tokenizer
    weight: float  # w, 0 to 1

    @classmethod
    def fit_weight(
        cls, model: Model, tokenizer: Tokenizer, network: Array, texts: Sequence[str], labels: Array, task: Task
    ) -> "Ensemble":
        """Return a mixture with the network's weight fitted to its logits on validation texts, (n, C)."""
        parts = cls(model, tokenizer, 1.0).predict_parts(network, texts, task)
        return cls(model, tokenizer, find_weight(parts, labels, task))

    def predict_parts(self, network: Array, texts: Sequence[str], task: Task) -> EnsembleLogits:
        """Return the given logits of a mixture's network, and the logits of its TF-IDF model for the same texts."""
        return EnsembleLogits(network, predict_texts(self.model, self.tokenizer, texts, task=task).logits)

    def blend_predictions(self, found: Predictions, texts: Sequence[str], task: Task) -> Predictions:
        """Mix TF-IDF into a network's predictions; the result also keeps the logits of both models."""
        return self.blend_parts(found, self.predict_parts(found.logits, texts, task), task)

    def blend_parts(self, found: Predictions, parts: EnsembleLogits, task: Task) -> Predictions:
        """Mix known logits of TF-IDF into a network's predictions."""
        logits = blend_logits(parts, self.weight, task).astype(np.float32)
        return dataclasses.replace(found, logits=logits, parts=parts).apply_scaling(UNSCALED, task)


def blend_logits(parts: EnsembleLogits, weight: float, task: Task) -> Array:
    """Return (n, C) logits whose softmax (or sigmoid, for multi-label data) is a mixture of a network with TF-IDF."""
    network, other = (torch.from_numpy(np.asarray(each, np.float64)) for each in parts)
    return blend_tensors(network, other, weight, task).numpy()


def blend_tensors(network: Tensor, other: Tensor, weight: float, task: Task) -> Tensor:
    """Return the mixed logits of a network and a TF-IDF model, tensors (…, C), with gradients."""
    ours, theirs = network.new_tensor([weight, 1 - weight]).log()
    if task == "single":
        return torch.logaddexp(ours + network.log_softmax(-1), theirs + other.log_softmax(-1))
    yes, no = (
        torch.logaddexp(ours + F.logsigmoid(sign * network), theirs + F.logsigmoid(sign * other)) for sign in (1, -1)
    )
    return yes - no


def evaluate_parts(
    parts: EnsembleLogits, labels: Array, task: Task, *, ordered: bool = False
) -> dict[str, dict[str, float]]:
    """Compute the metrics of each of a mixture's two models alone; for multi-label data at a threshold of 0.5."""
    return {
        name: evaluate(labels, compute_probabilities(torch.from_numpy(logits), task).numpy(), task, ordered=ordered)
        for name, logits in parts._asdict().items()
    }


def find_weight(parts: EnsembleLogits, labels: Array, task: Task) -> float:
    """Return the network's weight in [0, 1] in a mixture with TF-IDF that has the least cross-entropy."""
    ours, theirs = (_select_true(each, labels, task) for each in parts)

    def cross_entropy(weight: float) -> float:
        given = weight * ours + (1 - weight) * theirs
        return -float(np.log(np.maximum(given, np.finfo(np.float64).tiny)).mean())

    between = float(scipy.optimize.minimize_scalar(cross_entropy, bounds=(0, 1), method="bounded").x)
    return min((1.0, between, 0.0), key=cross_entropy)  # the search never reaches 0 or 1


def _select_true(logits: Array, labels: Array, task: Task) -> Array:
    """Return the probability of each row's true class or, for multi-label data, of each label's true value (0 or 1)."""
    exact = np.asarray(logits, np.float64)
    if task == "single":
        return scipy.special.softmax(exact, -1)[np.arange(len(labels)), labels]
    return scipy.special.expit(np.where(labels != 0, exact, -exact)).ravel()


BATCH = 64  # texts that are predicted together; a single text is measured too
WARM_UP, REPEATS, SECONDS = 3, 15, 2.0  # passes that do not count, at most, and seconds after which three are enough
CPU_INFO = Path("/proc/cpuinfo")


def count_parameters(model: nn.Module) -> int:
    """Return the number of a model's trainable parameters."""
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def measure_inference(
    model: nn.Module, tokens: TokenTable, beside: tuple[nn.Module, TokenTable] | None = None
) -> dict[str, Any]:
    """Measure time and memory of a model's prediction from token ids to logits, on its device, with one CPU thread.

    Tokenisation is not measured. One thread, since the gain from several depends on the load of the machine. `tokens`
    are the texts of a split: one of median length is measured alone, and `BATCH` texts together whose lengths are
    distributed like those of the split. `beside` is a second model that reads the same texts after the first: times and
    memory are summed. Returns the fields of `measure_time` for the batch; `one`, the same for the single text; `memory`
    (bytes, see `measure_memory`), `device` and `processor` (its name).
    """
    if beside is not None:
        return _add_measurements(measure_inference(model, tokens), measure_inference(*beside))
    order = np.argsort(tokens.lengths, kind="stable")
    spread = order[((np.arange(min(BATCH, len(order))) + 0.5) * len(order) / min(BATCH, len(order))).astype(int)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, batch = (Batch.from_arrays(tokens.pad_rows(rows)) for rows in (order[len(order) // 2 :][:1], spread))
        return {
            **measure_time(model, batch),
            "one": {name: value for name, value in measure_time(model, one).items() if name != "device"},
            "memory": measure_memory(model, batch),
            "device": str(get_device(model)),
            "processor": get_processor(get_device(model)),
        }
    finally:
        torch.set_num_threads(threads)


def _add_measurements(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    def add_numbers(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        numbers = ("milliseconds", "low", "high", "memory")
        return {name: value + other[name] if name in numbers else value for name, value in one.items()}

    return add_numbers(first, second) | {"one": add_numbers(first["one"], second["one"])}


def measure_time(model: nn.Module, batch: Batch) -> dict[str, Any]:
    """Measure milliseconds of a forward pass over a batch on the model's device.

    Returns `milliseconds` (median of `REPEATS`, or three in `SECONDS`, after `WARM_UP`), quartiles, shape and `device`.
    """
    device = get_device(model)
    batch = batch.to(device)
    times: list[float] = []
    with switch_to_eval(model):
        for _ in range(WARM_UP):
            model(batch)
        wait_for_device(device)
        until = time.perf_counter() + SECONDS
        while len(times) < REPEATS and (len(times) < 3 or time.perf_counter() < until):
            started = time.perf_counter()
            model(batch)
            wait_for_device(device)
            times.append(1000 * (time.perf_counter() - started))
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    rows, tokens = batch.ids.shape
    return {"milliseconds": middle, "low": low, "high": high, "rows": rows, "tokens": tokens, "device": str(device)}


def measure_memory(model: nn.Module, batch: Batch) -> int:
    """Count the peak bytes of all tensors while a model predicts a batch; memory inside kernels is not included."""
    batch = batch.to(get_device(model))
    given = [each for each in (*model.parameters(), *model.buffers(), *batch) if each is not None]
    with switch_to_eval(model), _TensorMemoryCounter(given) as alive:
        model(batch)
    return alive.peak


class _TensorMemoryCounter(TorchDispatchMode):
    """A counter of the bytes of all live tensors, from their creation until they are freed, and of their peak."""

    def __init__(self, given: Iterable[Tensor]) -> None:
        super().__init__()
        self._known = {each._cdata: each.nbytes() for each in (tensor.untyped_storage() for tensor in given)}
        self.now = self.peak = sum(self._known.values())

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False, so that PyTorch does not load its compiler, which would take 2 seconds and is not needed."""
        return False

    def __torch_dispatch__(
        self, operation: Any, types: Any, given: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        made = operation(*given, **(named or {}))
        for tensor in tree_leaves(made):
            storage = tensor.untyped_storage() if isinstance(tensor, Tensor) else None
            if storage is not None and (key := storage._cdata) not in self._known:  # views share it
                self._known[key] = storage.nbytes()
                self.now += self._known[key]
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._drop_storage, key).atexit = False
        return made

    def _drop_storage(self, key: int) -> None:
        self.now -= self._known.pop(key)


def get_processor(device: torch.device) -> str:
    """Return the name of a device's processor, such as `AMD EPYC 9R14` or `NVIDIA H100`."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    lines = try_call(OSError, "", CPU_INFO.read_text, "utf-8", "replace").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def wait_for_device(device: torch.device) -> None:
    """Wait until the device (GPU) has finished its work, so that a time measurement includes this work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
