"""Train, resume, and what a training run reports."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.config import RunConfig, compose
from core.data.config import DataConfig, listed
from core.data.sources import SOURCES, named, suited
from core.exceptions import DataError, InputError
from core.models.presets import paper_of
from core.numbers import count, whole_percent
from core.papers.reported import counterpart
from core.recipes import RECIPES, Applied, apply
from core.runs.backbones import with_backbone
from core.runs.budget import LENGTHS, shortened, uncut_rows
from core.runs.memory import cost
from core.runs.queue import check_room
from core.runs.record import RunRecord
from core.runs.start import START, with_start
from core.runs.store import RunStore
from core.runs.teacher import teacher_of


def configure(
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    recipe: str = "",
    *,
    store: RunStore | None = None,
) -> RunConfig:
    """The complete settings of a run: what suits the data set, the preset's own, a recipe's, and on top `settings`.

    With `training.start` the tokenizer and the body of the model are those of that run, of `store`, unless set.

    Raises:
        InputError: unknown preset, setting, recipe, data set or path.
    """
    return configured(data, model, settings, recipe, store=store)[0]


def configured(
    data: str, model: str, settings: Mapping[str, Any] | None, recipe: str, *, store: RunStore | None = None
) -> tuple[RunConfig, Applied]:
    """`configure`, and what the recipe came to."""
    if not named(data) and not os.path.exists(os.path.expanduser(data)):  # Path would raise for one too long
        from core.data.load import load

        load(DataConfig(name=data))  # raises with the nearest name
    given, fits = with_start(settings or {}, store or RunStore()), suited(data, paper_of(model))
    given = with_backbone(model, given, recipe)
    found = apply(recipe, model, {"data.name": data, **given}, fits)
    if recipe:
        ours = [name for name in RECIPES[recipe].settings if name in given and name not in (settings or {})]
        found.left_out.update(dict.fromkeys(ours, "the run that this training starts from has its own"))
    return compose(model, found.settings, fits), found


def train(  # noqa: PLR0913 - what a training is chosen by, by name
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    *,
    add: Sequence[str] = (),
    start: str = "",
    recipe: str = "",
    length: str = "",
    epochs: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train and evaluate in this process; see `summary` for what comes back.

    Args:
        data: a registered name, a file or a folder.
        model: a preset.
        settings: dotted settings on top of it, e.g. `{"training.lr": 1e-3}`.
        add: short for `data.add`, registered data sets whose training texts join the training split; and
            `counter-examples`, those that are kept (`counter_examples_list`), for `data.examples`.
        start: short for `training.start`, a finished run whose tokenizer, words and layers this one starts from.
        recipe: settings that make small models better, over the preset's and under `settings`: `strong`. What the model
            cannot take is left out, and told by an event `recipe` and in the record.
        length: epochs and training rows at most: `short`, `medium` or `full`; `settings` override it.
        epochs: short for `training.epochs`.
        seed: short for `training.seed`.
        limit: short for `data.limit`, training rows at most.
        name: of the run; empty: data, model, seed and time.
        store: where runs live.
        on_event: called with what happens; see `core.runs.worker.OnEvent`.

    Raises:
        InputError: no such data, preset, recipe, setting or length; a run has this `name` already; the teacher is no
            finished run; as many runs wait as this machine allows; the data cannot be used: then no run is kept.
    """
    store = store or RunStore()
    short = {"training.epochs": epochs, "training.seed": seed, "data.limit": limit}
    given = {name: value for name, value in short.items() if value is not None} | ({START: start} if start else {})
    given |= _added(add, store)
    config, used = configured(data, model, {**_of_length(length), **(settings or {}), **given}, recipe, store=store)
    check_room(store.folder)
    teacher_of(config, store)
    takes = cost(config, store.list())
    record = store.create(config, model, name, exactly=True, recipe=used)
    if on_event and takes:
        on_event({"kind": "cost", **takes._asdict()})
    if on_event and used.left_out:
        on_event({"kind": "recipe", "recipe": recipe, "left_out": used.left_out})
    try:
        return resume(record.run, store=store, on_event=on_event)
    except DataError:
        if not store.read(record.run).data_fingerprint:  # it has never begun: its data cannot be used
            store.remove(record.run)
        raise


def _added(add: Sequence[str], store: RunStore) -> dict[str, Any]:
    """The settings of what joins the training split; of counter-examples a copy of the list as it is now."""
    from core.data.kept_examples import NAME
    from core.failures.counter_examples import planned

    sets = [name for name in add if name != NAME]
    along = {"data.examples": planned(store.folder)} if NAME in add else {}
    return along | ({"data.add": listed(sets)} if sets else {})


def pretrain(
    data: Sequence[str],
    model: str = "vanilla-swiglu",
    settings: Mapping[str, Any] | None = None,
    *,
    apart: Sequence[str] = (),
    start: str = "",
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train an encoder that others start from: masked words first, then the labels of several data sets at once.

    The same as `train` on the mixture of `data` with the recipe `pretrain`; `resume` continues it.

    Args:
        data: registered names of one task; `data.rename` makes their classes one.
        model: a preset of an encoder.
        settings: dotted settings on top of preset and recipe.
        apart: registered names of further data sets whose texts beyond train are kept out of the training split; those
            of `data` always are.
        start: a finished run to start from.
        seed: short for `training.seed`.
        limit: short for `data.limit`.
        name: of the run; empty: data, model, seed and time.
        store: where runs live.
        on_event: called with what happens.

    Raises:
        InputError: as `train`; or a name that is no registered data set.
    """
    if strange := [each for each in (*data, *apart) if each not in SOURCES]:
        raise InputError(f"--data {strange[0]}: a registered data set; `sentiscope data list` shows all")
    kept = {"data.apart": listed(apart)} if apart else {}
    return train(
        "+".join(data),
        model,
        {**kept, **(settings or {})},
        start=start,
        recipe="pretrain",
        seed=seed,
        limit=limit,
        name=name,
        store=store,
        on_event=on_event,
    )


def _of_length(name: str) -> dict[str, Any]:
    if name and name not in LENGTHS:
        raise InputError(f"--length {name!r}: one of {', '.join(map(repr, LENGTHS))}")
    return LENGTHS.get(name, {})


def resume(
    run: str, *, store: RunStore | None = None, on_event: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """Train a queued, failed or cancelled run to its end in this process, from its last checkpoint."""
    from core.runs.worker import execute

    return summary(execute(store or RunStore(), run, on_event=on_event))


def summary(record: RunRecord) -> dict[str, Any]:
    """What a training run reports: status, metrics and intervals per split, lambda, seconds, the TF-IDF yardstick.

    `data_notes` is what was done to the data, `data_decisions` how its file was read, `interval_method` says in words
    what an interval is, `shortened` what it cost to train for less than the preset does, `pairs` whether it reads two
    texts at once. `reported` is what a paper reports for the same preset and data set, with a note where splits differ;
    else null.
    """
    from core.evaluation.intervals import METHOD

    results, paper = record.results, counterpart(record.preset, record.config)
    return {
        "run": record.run,
        "status": record.status,
        "reason": record.reason,
        "model": record.preset,
        "mixture": record.mixture,
        "recipe": record.recipe,
        "left_out": record.left_out,
        "data": record.config.data.name,
        "task": record.task,
        "metrics": results.get("metrics", {}),
        "intervals": results.get("intervals", {}),
        "interval_method": METHOD,
        **{name: results[name] for name in ("tuned", "mix", "temperature", "start", "examples") if name in results},
        "lambda": results.get("lambda", []),
        "yardstick": results.get("yardstick", {}),
        "reported": None
        if paper is None
        else {
            "dataset": paper.dataset,
            "metrics": paper.metrics,
            "lambda": [list(layer) for layer in paper.lambdas],
            "note": paper.note,
        },
        "data_notes": list(record.data_notes),
        "data_decisions": [dataclasses.asdict(each) for each in record.data_decisions],
        "pairs": record.pairs,
        "shortened": list(shortened(record.preset, record.config, uncut_rows(record.config, [record]))),
        "seconds": record.seconds,
    }


def started(start: Mapping[str, Any]) -> str:
    """What a training took over, for a person: of which run, how much, and what is new."""
    parts = [
        f"{count(start['words'])} words" if start["words"] else "",
        *_tops(start["partly"]),
        *_tops(start["fresh"]),
    ]
    new = ", ".join(filter(None, dict.fromkeys(parts)))
    return f"'{start['run']}': {whole_percent(start['numbers'] / start['of'])} of the numbers copied" + (
        f"; new, in whole or in part: {new}" if new else ""
    )


def _tops(names: Sequence[str]) -> list[str]:
    """Tensors by the part of the model that they belong to: `layers.1.attention.query.weight` → `query`."""
    return [name.split(".")[-2] if name.count(".") > 1 else name.split(".")[0] for name in names]


def scores(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The first numbers of a `summary` as a table, a row for each split; intervals as [low, high], None: undefined.

    With several labels per text: the macro F1 at own thresholds chosen on validation, and at 0.5.
    """
    row = {"multi": _several_labels, "tokens": _tags}.get(result["task"], _single_label)
    return [{"split": split, **row(result, split)} for split in result["metrics"]]


def _single_label(result: Mapping[str, Any], split: str) -> dict[str, Any]:
    metrics = result["metrics"][split]
    return {
        "accuracy": metrics.get("accuracy"),
        "95 %": result["intervals"].get(split, {}).get("accuracy"),
        "F1 macro": metrics.get("f1_macro"),
        "TF-IDF": result["yardstick"].get("splits", {}).get(split, {}).get("accuracy"),
    }


def _tags(result: Mapping[str, Any], split: str) -> dict[str, Any]:
    metrics = result["metrics"][split]
    return {
        "span F1": metrics.get("span_f1"),
        "95 %": result["intervals"].get(split, {}).get("span_f1"),
        "precision": metrics.get("span_precision"),
        "recall": metrics.get("span_recall"),
        "token accuracy": metrics.get("token_accuracy"),
    }


def _several_labels(result: Mapping[str, Any], split: str) -> dict[str, Any]:
    metrics, own, yardstick = result["metrics"][split], result.get("tuned", {}), result["yardstick"]
    return {
        "F1 macro, tuned": own.get("metrics", {}).get(split, {}).get("f1_macro"),
        "95 %": own.get("intervals", {}).get(split, {}).get("f1_macro"),
        "TF-IDF, tuned": yardstick.get("tuned", {}).get("splits", {}).get(split, {}).get("f1_macro"),
        "at 0.5": metrics.get("f1_macro"),
        "TF-IDF at 0.5": yardstick.get("splits", {}).get(split, {}).get("f1_macro"),
        "F1 micro at 0.5": metrics.get("f1_micro"),
        "AUPR": metrics.get("average_precision"),
    }
