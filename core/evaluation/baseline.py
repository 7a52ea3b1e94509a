"""TF-IDF baselines (bags of n-grams), fitted like runs of their presets and cached, to compare every model with."""

import io
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from core import json_store
from core.cache import get_cache_folder, keep_files, read_arrays
from core.config import compose
from core.data.dataset import TEST, TRAIN, VALIDATION, Dataset, Task, encode_targets
from core.evaluation import metrics
from core.evaluation.baseline_schema import VERSION, BaselineResult
from core.evaluation.inference import predict_texts
from core.exceptions import NotAvailable, RunDamaged
from core.fingerprint import hash_value
from core.metrics import METRICS
from core.models.baselines import BagOfNgrams, BagOfPairs, Plain
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import restore_tokenizer
from core.training.linear import SOLVERS, fit_linear
from core.training.temperature import UNSCALED, Scaling, fit_scaling

log = logging.getLogger(__name__)

WORDS = "tfidf-logreg"  # lower-cased words and word pairs that occur in at least two texts
CHARACTERS = "tfidf-logreg-chars"  # the same with character n-grams within words
YARDSTICKS = (WORDS, CHARACTERS)  # presets
BETTER = ""  # the one of both with the better score on validation, words if they are equal or there is no validation


@dataclass(frozen=True)
class FittedBaseline:
    """A fitted TF-IDF baseline in memory: its model, tokenizer and temperature scaling."""

    model: Plain
    tokenizer: Tokenizer
    task: Task
    scaling: Scaling = UNSCALED

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return the TF-IDF baseline's class probabilities of texts, (n, C) float32."""
        return predict_texts(self.model, self.tokenizer, texts, task=self.task, scaling=self.scaling).probabilities


def fit_baseline(dataset: Dataset, model: str = BETTER) -> dict[str, Any]:
    """Fit a TF-IDF baseline (logistic regression, regularisation chosen on validation), cached on disk by data set.

    A multi-label task has one regression per label. `model` is one of `YARDSTICKS`, or `BETTER`. Returns a
    `BaselineResult`: `temperature` is fitted on validation, `splits` are all but train, `phenomena` maps each named
    phenomenon of the data to its test accuracy, and `tuned` has thresholds chosen on validation.

    Raises DataError if training has only one class, or no label; NotAvailable if words have tags.
    """
    if dataset.task == "tokens":
        raise NotAvailable("TF-IDF classifies whole texts, and here each word has a tag")
    return read_baseline(dataset.fingerprint, dataset.classes, lambda: dataset, model)


def read_baseline(
    fingerprint: str, classes: Sequence[str], dataset: Callable[[], Dataset], model: str = BETTER
) -> dict[str, Any]:
    """Return the metrics of a data set's TF-IDF baseline; the data are needed only if they are not cached."""
    if model == BETTER:
        return max((read_baseline(fingerprint, classes, dataset, each) for each in YARDSTICKS), key=_score_validation)
    try:
        return {**json_store.read(_build_path(fingerprint, classes, model), BaselineResult)}
    except FileNotFoundError:
        pass
    except RunDamaged as error:
        log.warning("%s; measuring again", error)
    return _fit_and_cache(dataset(), model)[0]


def predict_split(
    fingerprint: str, classes: Sequence[str], split: str, dataset: Callable[[], Dataset], model: str = BETTER
) -> np.ndarray:
    """Return TF-IDF's probabilities (n, C) of a split but train; `dataset` is called if they are not cached."""
    model = model or read_baseline(fingerprint, classes, dataset)["model"]
    path = _build_path(fingerprint, classes, model).with_suffix(".npz")
    found = read_arrays(path, lambda arrays: arrays[_name_array(split)])
    said = _fit_and_cache(dataset(), model)[1][split] if found is None else found
    return said.astype(np.float64)


def load_baseline(
    fingerprint: str, classes: Sequence[str], dataset: Callable[[], Dataset], model: str = BETTER
) -> FittedBaseline:
    """Return the fitted TF-IDF baseline of a data set; arguments and errors as of `predict_split`."""
    model = model or read_baseline(fingerprint, classes, dataset)["model"]
    found = read_arrays(_build_path(fingerprint, classes, model).with_suffix(".npz"), _unpack_baseline)
    return _fit_and_cache(dataset(), model)[2] if found is None else found


def _score_validation(result: dict[str, Any]) -> float:
    """Return a baseline's accuracy on validation, or its macro F1 if texts have several labels."""
    measured = result["splits"].get(VALIDATION, {})
    return measured.get("accuracy", measured.get("f1_macro", 0.0))


def _build_path(data: str, classes: Sequence[str], model: str) -> Path:
    config = compose(model)
    values = SOLVERS[config.model.family].values
    settings = {"version": VERSION, "model": model, "text": config.text, "strengths": values}
    # The key includes the metrics, so that a new metric invalidates cached results.
    key = hash_value({"data": data, "classes": classes, **settings, "metrics": list(METRICS)})
    return get_cache_folder() / f"yardstick-{key}.json"


def _name_array(split: str) -> str:
    return f"split {split}"  # the name of a split may be that of an argument of np.savez


def _unpack_baseline(arrays: Any) -> FittedBaseline:
    weights = {name: torch.from_numpy(arrays[f"model {name}"]) for name in ("idf", "weight", "bias")}
    kind = BagOfNgrams if len(weights["weight"]) == len(weights["idf"]) else BagOfPairs
    model = kind(vocabulary=len(weights["idf"]), classes=weights["weight"].shape[1])
    model.load_state_dict(weights)
    task: Task = "multi" if arrays["task"].tobytes() == b"multi" else "single"
    tokenizer, temperature = restore_tokenizer(arrays["tokenizer"].tobytes().decode()), float(arrays["temperature"])
    return FittedBaseline(model.eval(), tokenizer, task, Scaling(temperature))


def _fit_and_cache(dataset: Dataset, model: str) -> tuple[dict[str, Any], dict[str, np.ndarray], FittedBaseline]:
    """Fit and measure a TF-IDF baseline; cache and return its metrics, its probabilities by split, and the model."""
    result, said, fitted = _fit_and_measure(dataset, model)
    path, stream = _build_path(dataset.fingerprint, dataset.classes, model), io.BytesIO()
    arrays: dict[str, Any] = {_name_array(name): found.astype(np.float32) for name, found in said.items()}
    arrays |= {f"model {name}": tensor.numpy() for name, tensor in fitted.model.state_dict().items()}
    texts = {"tokenizer": fitted.tokenizer.to_json(), "task": fitted.task}
    arrays |= {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    arrays["temperature"] = np.array(fitted.scaling.temperature)
    np.savez_compressed(stream, **arrays)
    keep_files([(path.with_suffix(".npz"), stream.getvalue()), (path, json.dumps(result).encode())], "yardstick")
    return result, said, fitted


def _fit_and_measure(dataset: Dataset, preset: str) -> tuple[dict[str, Any], dict[str, np.ndarray], FittedBaseline]:
    started, config = time.perf_counter(), compose(preset)
    train, validation = dataset.splits[TRAIN], dataset.splits.get(VALIDATION)
    held = train.iloc[:0] if validation is None else validation
    classes = len(dataset.classes)
    texts, held_texts = train["text"].tolist(), held["text"].tolist()
    labels, held_labels = (encode_targets(rows, classes, dataset.task) for rows in (train, held))
    family = config.model.family
    fit = fit_linear(texts, labels, held_texts, held_labels, config=config.text, classes=classes, family=family)
    logits = predict_texts(fit.model, fit.tokenizer, held_texts, task=dataset.task).logits
    fitted = FittedBaseline(fit.model, fit.tokenizer, dataset.task, fit_scaling(logits, held_labels))
    said = {name: fitted.predict(rows["text"].tolist()) for name, rows in dataset.splits.items() if name != TRAIN}
    measured = {
        "phenomena": _evaluate_phenomena(dataset, said),
        "splits": _evaluate_splits(dataset, said),
        **_evaluate_tuned(dataset, said),
    }
    seconds = round(time.perf_counter() - started, 2)
    chosen = {**fit.settings, "temperature": fitted.scaling.temperature}
    return {"model": preset, **chosen, **measured, "seconds": seconds}, said, fitted


def _evaluate_splits(
    dataset: Dataset, said: Mapping[str, np.ndarray], thresholds: np.ndarray | float = metrics.HALF
) -> dict[str, dict[str, float]]:
    return {
        name: metrics.evaluate(dataset.get_targets(name), found, dataset.task, thresholds, ordered=dataset.ordered)
        for name, found in said.items()
    }


def _evaluate_phenomena(dataset: Dataset, said: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return phenomenon (such as negation) → a baseline's test accuracy; empty if rows have several labels."""
    test = dataset.splits.get(TEST)
    if dataset.task == "multi" or test is None or "phenomenon" not in test:
        return {}
    correct = pd.Series(said[TEST].argmax(1) == dataset.get_targets(TEST))
    by_name = correct.groupby(test["phenomenon"].to_numpy()).mean()
    return {str(each): float(share) for each, share in by_name.items()}


def _evaluate_tuned(dataset: Dataset, said: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Compute a baseline's metrics at thresholds tuned on validation, if texts have several labels."""
    if dataset.task == "single" or VALIDATION not in said:
        return {}
    limits = metrics.tune_thresholds(dataset.get_targets(VALIDATION), said[VALIDATION])
    named = dict(zip(dataset.classes, map(float, limits), strict=True))
    return {"tuned": {"thresholds": named, "splits": _evaluate_splits(dataset, said, limits)}}
