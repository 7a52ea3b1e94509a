"""Speed and memory of presets with random weights on all threads (NDT, Table XI; SentiFormer, section V)."""

import platform
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from core.config import compose
from core.evaluation.inference import count_parameters, get_processor, measure_memory, switch_to_eval, wait_for_device
from core.exceptions import InputError
from core.models.builder import build_model
from core.models.trace import Batch
from core.papers.reported_results import select_efficiency
from core.papers.training_cells import Tell

SPARSE, FULL = "sentiformer", "sentiformer-full"
"""Presets that differ only in attention: a window and a few global tokens, or all tokens."""
VOCABULARY = 30_000
GLOBALS = 2
"""s in n/(k + s), the paper's count of operations saved; k: tokens in the window."""
ROUNDS, SECONDS = 7, 20.0
"""Passes of each model, after one that does not count; after so many seconds of its passes, three are enough."""
ASYMPTOTIC = 1024  # tokens from which slopes are fitted: below, the layers' other work dominates


def measure_efficiency(
    models: Sequence[str], *, length: int, batch: int, lengths: Sequence[int], device: str = "cpu", tell: Tell
) -> dict[str, Any]:
    """Measure the inference speed and peak memory of presets, and the growth of sparse and full attention with length.

    Returns:
        `processor`, `threads`, `torch`, `length` (tokens of each text), `batch` (texts); `models`: of each
        `model`, `parameters`, `milliseconds` (median of a batch), `sentences_per_second`, `memory` (peak bytes of
        tensors), `ratio` (time by that of the first model, median over rounds) and `reported`; `lengths`: of each
        `tokens`, `sparse` and `full` (`milliseconds`, `memory` without the weights), `faster` (full by sparse) and
        `theory` (n/(k + s)); PyTorch's fused kernel keeps no map of all pairs, so that full memory grows linearly;
        `slopes`: p of time and memory ~ length^p from 1,024 tokens; null with fewer than two such lengths.

    Raises:
        InputError: a preset that is not trained by steps.
    """
    place = torch.device(device)
    measured = _measure_models(models, length, batch, place, tell) if models else []
    rows = []
    for number, tokens in enumerate(sorted(lengths)):
        tell(f"one text of {tokens:,} tokens", number / len(lengths))
        rows.append(_measure_length(tokens, place))
    return {
        "processor": get_processor(place),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "length": length,
        "batch": batch,
        "models": measured,
        "lengths": rows,
        "slopes": {
            way: {of: fit_slope(rows, way, of) for of in ("milliseconds", "memory")} for way in ("sparse", "full")
        },
    }


def fit_slope(rows: Sequence[dict[str, Any]], way: str, of: str) -> float | None:
    """Fit p of `of` ~ length^p by least squares of logarithms, from 1,024 tokens; None for fewer than two lengths."""
    points = [(row["tokens"], row[way][of]) for row in rows if row["tokens"] >= ASYMPTOTIC]
    if len(points) < 2:
        return None
    tokens, values = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(tokens, values, 1)[0])


def count_saved_operations(tokens: int) -> float:
    """Return n/(k + s), by which a window of k tokens and s global tokens reduce the pairs of n tokens; at least 1."""
    return max(1.0, tokens / (2 * compose(SPARSE).model.attention.window + GLOBALS))


def _measure_models(
    models: Sequence[str], length: int, batch: int, device: torch.device, tell: Tell
) -> list[dict[str, Any]]:
    built = {}
    for number, name in enumerate(models):
        tell(f"building {name}", number / len(models))
        built[name] = _build_preset(name, length, device)
    texts = _draw_texts(batch, length, device)
    times: dict[str, list[float]] = {name: [] for name in built}
    for round_ in range(ROUNDS + 1):  # in turn, so that a change of the machine's load meets all models
        tell("predicting a batch", round_ / (ROUNDS + 1))
        for name, model in built.items():
            if len(times[name]) <= 3 or sum(times[name]) < SECONDS:
                times[name].append(_measure_pass(model, texts))
    seconds = {name: each[1:] for name, each in times.items()}  # the first pass warms up
    first = seconds[models[0]]
    return [
        {
            "model": name,
            "parameters": count_parameters(model),
            "milliseconds": 1000 * (middle := statistics.median(seconds[name])),
            "sentences_per_second": batch / middle,
            "memory": measure_memory(model, texts),
            "ratio": statistics.median(own / base for own, base in zip(seconds[name], first, strict=False)),
            "reported": select_efficiency(name),
        }
        for name, model in built.items()
    ]


def _measure_length(tokens: int, device: torch.device) -> dict[str, Any]:
    texts, found = _draw_texts(1, tokens, device), {}
    for way, preset in (("sparse", SPARSE), ("full", FULL)):
        model = _build_preset(preset, tokens, device)
        times = [_measure_pass(model, texts)]
        while len(times) < 2 or (len(times) <= ROUNDS and sum(times) < SECONDS / 4):
            times.append(_measure_pass(model, texts))
        weights = sum(each.nbytes for each in (*model.parameters(), *model.buffers()))
        peak = measure_memory(model, texts) - weights
        found[way] = {"milliseconds": 1000 * statistics.median(times[1:]), "memory": peak}
    faster = found["full"]["milliseconds"] / found["sparse"]["milliseconds"]
    return {"tokens": tokens, **found, "faster": faster, "theory": count_saved_operations(tokens)}


def _build_preset(name: str, length: int, device: torch.device) -> torch.nn.Module:
    config = compose(name).model
    if not config.by_steps:
        raise InputError(
            f"--models: {name} is fitted in one go, without layers; measure a run of it: `runs measure RUN`"
        )
    torch.manual_seed(0)
    return build_model(config, vocabulary=VOCABULARY, classes=2, max_length=length).to(device)


def _draw_texts(texts: int, length: int, device: torch.device) -> Batch:
    drawn = torch.Generator().manual_seed(0)
    ids = torch.randint(5, VOCABULARY, (texts, length), generator=drawn)
    tags = torch.randint(1, 13, (texts, length), generator=drawn)
    shares = torch.rand(texts, length, 3, generator=drawn)
    polarity = shares / shares.sum(2, keepdim=True)
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool), tags, polarity).to(device)


def _measure_pass(model: torch.nn.Module, texts: Batch) -> float:
    with switch_to_eval(model):
        started = time.perf_counter()
        model(texts)
        wait_for_device(texts.ids.device)
        return time.perf_counter() - started
