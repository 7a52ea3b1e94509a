"""The verbs of Sentiscope, as Python functions that return plain data.

The command line prints what they return, the dashboard calls the same rooms. Heavy imports wait inside each verb.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core import systems
from core.config import RunConfig, compose
from core.data.config import DataConfig
from core.data.sources import SOURCES, suited
from core.data.table import indicators
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.papers.reported import counterpart
from core.runs.queue import check_room
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.systems import CLASSES, VOCABULARY

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.evaluation.predict import Predictions
    from core.runs.load import LoadedRun

WHOLE = "all"
"""The name of the only split of a single file."""


def configure(data: str = "built-in", model: str = "ndt-01-n3", settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The complete settings of a training: what suits the data set, above it the preset's own, above them `settings`.

    Raises:
        InputError: unknown preset, setting, data set or path.
    """
    if data not in SOURCES and not os.path.exists(os.path.expanduser(data)):  # Path would raise for one too long
        from core.data.load import load

        load(DataConfig(name=data))  # raises with the nearest name
    return compose(model, {"data.name": data, **(settings or {})}, suited(data))


def train(
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train and evaluate in this process; see `summary` for what comes back.

    Raises:
        InputError: a run has this `name` already, or as many trainings wait as this machine allows.
    """
    store = store or RunStore()
    config = configure(data, model, settings)
    check_room(store.folder)
    record = store.create(config, model, name, exactly=True)
    return resume(record.run, store=store, on_event=on_event)


def resume(
    run: str, *, store: RunStore | None = None, on_event: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """Train a queued, failed or cancelled run to its end in this process, from its last checkpoint."""
    from core.runs.worker import execute

    return summary(execute(store or RunStore(), run, on_event=on_event))


def summary(record: RunRecord) -> dict[str, Any]:
    """What a training reports: status, metrics and intervals per split, lambda, seconds, the TF-IDF yardstick.

    `interval_method` says in words what an interval is. `reported` is what the paper reports for the same preset and
    data set, with a note where splits differ; else null.
    """
    from core.evaluation.intervals import METHOD

    results, paper = record.results, counterpart(record.preset, record.config)
    return {
        "run": record.run,
        "status": record.status,
        "reason": record.reason,
        "model": record.preset,
        "data": record.config.data.name,
        "task": record.task,
        "metrics": results.get("metrics", {}),
        "intervals": results.get("intervals", {}),
        "interval_method": METHOD,
        **({"tuned": results["tuned"]} if "tuned" in results else {}),
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
        "seconds": record.seconds,
    }


def evaluate(
    run: str,
    *,
    data: str = "",
    split: str = "",
    rename: Mapping[str, str] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Metrics of a run on a split of its own data or of other labelled data.

    Of several labels a text the metrics are those at 0.5; `tuned` has the same at the thresholds that the run chose on
    its validation split, and `confusion` is 2 × 2 for each label.

    Args:
        run: a finished run.
        data: a registered name, a folder or a file; empty: the data it was trained on.
        split: empty: test, or the whole of a single file.
        rename: label in the data → class of the run, where their names differ.
        store: where runs live.

    Raises:
        InputError: no such run or split, or a label that is no class of the run.
    """
    import numpy as np

    from core.evaluation import metrics
    from core.evaluation.predict import predict_texts
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    rows, split = _labelled_rows(loaded, data, split)
    classes, task = loaded.record.classes, loaded.record.task
    named = [(each,) if isinstance(each, str) else each for each in rows["label"]]
    numbers = _match(named, classes, rename or {})
    found = predict_texts(loaded.model, loaded.tokenizer, rows["text"].tolist(), task=task)
    common = {
        "run": run,
        "data": data or loaded.record.config.data.name,
        "split": split,
        "task": task,
        "n": len(rows),
        "labels": list(classes),
    }
    if task == "multi":
        return {**common, **_several(loaded.record, indicators(numbers, len(classes)), found)}
    if (row := next((row for row, each in enumerate(numbers) if len(each) != 1), None)) is not None:
        raise InputError(f"row {row + 1} has {len(numbers[row])} labels; this run gives each text one")
    labels = np.array([number for (number,) in numbers], dtype=np.int64)
    return {
        **common,
        "metrics": metrics.evaluate(labels, found.probabilities),
        "left_out": metrics.left_out(labels, len(classes)),
        "per_class": metrics.per_class(labels, found.probabilities, classes),
        "confusion": metrics.confusion(labels, found.probabilities.argmax(1), len(classes)),
    }


def _several(record: RunRecord, labels: np.ndarray, found: Predictions) -> dict[str, Any]:
    """The multi-label part of `evaluate`."""
    from core.evaluation import multilabel

    def at(thresholds: np.ndarray | float) -> dict[str, Any]:
        given = found.probabilities, record.classes, thresholds
        return {
            "metrics": multilabel.evaluate(labels, found.probabilities, thresholds),
            "per_class": multilabel.per_label(labels, *given),
            "confusion": multilabel.confusions(labels, *given),
        }

    thresholds = tuned_thresholds(record)
    tuned = None if thresholds is None else {"thresholds": thresholds, **at(_in_order(thresholds, record.classes))}
    return {**at(multilabel.HALF), "left_out": multilabel.left_out(labels), "tuned": tuned}


def tuned_thresholds(record: RunRecord) -> dict[str, float] | None:
    """By label the threshold that a multi-label run chose on its validation split; None where it has none."""
    return record.results.get("tuned", {}).get("thresholds")


def _in_order(thresholds: Mapping[str, float], classes: Sequence[str]) -> np.ndarray:
    import numpy as np

    return np.array([thresholds.get(name, 0.5) for name in classes])


def predict(
    run: str, texts: Sequence[str] = (), *, file: Path | None = None, store: RunStore | None = None
) -> dict[str, Any]:
    """Class and probabilities of each text, in order; rows count from 0.

    Of several labels a text: `labels`, those above 0.5, and `labels_tuned`, those above the thresholds that the run
    chose on its validation split, in place of `label`.

    Raises:
        InputError: no such run, no text, or a file without a `text` column.
    """
    from core.evaluation.predict import predict_texts
    from core.runs.load import load_run

    if file is not None and texts:
        raise InputError("give texts or --file, not both")
    chosen = _texts_of(file) if file is not None else list(texts)
    if not chosen:
        raise InputError("nothing to predict: give at least one text, or --file")
    loaded = load_run(store or RunStore(), run)
    record = loaded.record
    found = predict_texts(loaded.model, loaded.tokenizer, chosen, task=record.task)
    predictions = []
    for row, (text, chances) in enumerate(zip(chosen, found.probabilities, strict=True)):
        probabilities = dict(zip(record.classes, map(float, chances), strict=True))
        predictions.append({"row": row, "text": text, **_said(record, probabilities), "probabilities": probabilities})
    return {"run": run, "task": record.task, "predictions": predictions}


def _said(record: RunRecord, probabilities: Mapping[str, float]) -> dict[str, Any]:
    """The answer: a label, or several at 0.5 and at the run's own thresholds."""
    if record.task == "single":
        return {"label": max(probabilities, key=lambda name: probabilities[name])}
    limits = tuned_thresholds(record)
    said = {"labels": [name for name, chance in probabilities.items() if chance > 0.5]}
    if limits is not None:
        said["labels_tuned"] = [name for name, chance in probabilities.items() if chance > limits.get(name, 0.5)]
    return said


def inspect(run: str, text: str, *, html: Path | None = None, store: RunStore | None = None) -> dict[str, Any]:
    """One text with its tokens, prediction and everything inside the model; `html` also writes a page of it.

    The inside is that of `core.interpret.sentence.inside`.
    """
    from core.evaluation.multilabel import NOTHING
    from core.interpret.html import page
    from core.interpret.sentence import inside, inspect_text
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    record = loaded.record
    view = inspect_text(loaded.model, loaded.tokenizer, record.classes, text, task=record.task)
    said = _said(record, view.probabilities)
    if html is not None:
        try:
            labels = said.get("labels_tuned", said.get("labels"))
            answer = "" if labels is None else ", ".join(labels) or NOTHING
            whole = page(view, run=run, model=record.preset, answer=answer)
            html.write_text(whole, encoding="utf-8", errors="replace")
        except OSError as error:
            raise InputError(f"--html {html}: cannot be written ({error.strerror})") from error
    return {
        "run": run,
        "text": text,
        "read_as": view.read_as,
        "tokens": list(view.tokens),
        "unknown": list(view.unknown),
        "truncated": view.truncated,
        "prediction": {**said, "probabilities": view.probabilities},
        **inside(view),
    }


def figures(
    run: str,
    folder: Path,
    *,
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write the figures of a run as HTML files that open without a network; arguments as `dashboard.export.figures`.

    They are drawn by the dashboard, which core does not know: it registers as an entry point of the installation.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.

    Raises:
        InputError: no such run, split, figure or theme, a figure that this run does not have, or a bad folder.
        NotAvailable: the installation knows no dashboard.
    """
    from importlib.metadata import entry_points

    found = tuple(entry_points(group="sentiscope.verbs", name="figures"))
    if not found:
        raise NotAvailable("this installation draws no figures; install it anew: pip install -e .")
    draw: Callable[..., dict[str, Any]] = found[0].load()
    return draw(run, folder, split=split, only=only, text=text, theme=theme, store=store)


def project(
    run: str,
    *,
    split: str = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: int = 3000,
    seed: int = 0,
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """A map of a split's embeddings, computed and kept in the run directory; one that is there is only read.

    Raises:
        InputError: no such run, split or method.
        NotAvailable: the library of the method is missing.
    """
    from core.evaluation.projection import ProjectionConfig
    from core.runs import projections

    store = store or RunStore()
    config = ProjectionConfig(cast(Any, method), dimensions, rows, seed)
    files = projections.map_files(store, run, split, config)
    made = None
    with contextlib.suppress(RunDamaged):
        made = projections.read(files)
    there = made is not None
    made = made or projections.compute(store, run, files, on_progress)
    return {
        "run": run,
        "split": split,
        **config.arguments(len(made.rows)),
        "n": len(made.rows),
        "computed": not there,
        "file": str(files.path("npy")),
        "explained": list(made.explained),
        "quality": projections.summary(made),
    }


def presets(paper: str = "", *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """Every preset, or those of a paper, with source, one line, size and the parts that are switched on.

    Args:
        paper: its key or its short title; empty: all.
        vocabulary: tokens at which sizes are told.
        classes: the same.

    Raises:
        InputError: no such paper, or sizes that no model has.
    """
    found = systems.listed(paper, vocabulary=vocabulary, classes=classes)
    return {"vocabulary": vocabulary, "classes": classes, "presets": found}


def presets_show(name: str, *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """One preset whole: source, line, equation, parts, size, its nearest relative, where it departs from its paper.

    Raises:
        InputError: no such preset, or sizes that no model has.
    """
    return systems.whole(name, vocabulary=vocabulary, classes=classes)


def data_list() -> dict[str, Any]:
    """Every registered data set."""
    return {
        "data": [
            {
                "name": source.name,
                "title": source.title,
                "task": source.task,
                "classes": list(source.classes),
                "language": source.language,
                "licence": source.licence,
                "checked": source.checked,
                "note": source.note,
            }
            for source in SOURCES.values()
        ]
    }


def data_card(data: str, settings: Mapping[str, Any] | None = None, *, yardstick: bool = True) -> dict[str, Any]:
    """The card of a data set as the given settings would load it."""
    from core.data.card import data_card as card
    from core.data.load import load

    config = configure(data, "vanilla", settings)
    return card(load(config.data), config.text, with_yardstick=yardstick)


def data_check(data: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Everything found in a file, a folder or a named data set, and whether it can be trained on."""
    from core.data.check import check

    return check(compose("vanilla", {**(settings or {}), "data.name": data}).data)


def runs_list(store: RunStore | None = None) -> dict[str, Any]:
    """All runs, newest first, damaged ones and those that come with Sentiscope (`starter`) included."""
    store = store or RunStore()
    return {
        "runs": [
            {
                "run": record.run,
                "model": record.preset,
                "data": record.config.data.name,
                "task": record.task,
                "status": record.status,
                "reason": record.reason,
                "created": record.created,
                "starter": store.is_starter(record.run),
                "metrics": record.results.get("metrics", {}),
            }
            for record in store.list()
        ]
    }


def runs_show(run: str, store: RunStore | None = None) -> dict[str, Any]:
    """The whole record of a run; of a damaged one its name and the reason.

    `newer` holds what a newer version has written and this one does not know.

    Raises:
        RunNotFound: no such run.
    """
    try:
        return dataclasses.asdict((store or RunStore()).read(run))
    except RunDamaged as error:
        return {"run": run, "status": "damaged", "reason": str(error)}


def runs_export(run: str, file: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Write a run into one zip file that `runs_import` takes in elsewhere."""
    from core.runs.archive import export_file

    export_file(store or RunStore(), run, file)
    return {"run": run, "file": str(file), "bytes": file.expanduser().stat().st_size}


def runs_import(source: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Take in a run directory or a zip file; `run` is the name that it has here."""
    from core.runs.archive import import_run

    return {"run": import_run(store or RunStore(), source), "source": str(source)}


def sweep(  # noqa: PLR0913 - what a plan is made of, by name
    name: str,
    *,
    models: Sequence[str] = (),
    data: Sequence[str] = (),
    grid: Mapping[str, Sequence[str]] | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (),
    folds: int = 0,
    dry_run: bool = False,
    detach: bool = False,
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Train models × data × grid × seeds × folds as jobs; under a name that is planned, go on with what is not done.

    Args:
        name: of the sweep; alone it means the recorded plan.
        models: presets.
        data: registered names or paths.
        grid: dotted setting → values to try.
        settings: what all runs share.
        seeds: of the training.
        folds: parts of a cross-validation, see `data.folds`; 0: the splits as they are.
        dry_run: only say what would be trained and how long that takes.
        detach: return at once; a process of its own goes on.
        store: where runs live.
        on_event: hears how far it is, see `core.runs.sweep_drive.Progress`.
        stopped: asked about once a second; True cancels what trains. Of a sweep that another process drives it only
            ends the watching.

    Returns:
        `sweep`, `plan`, `cells`, `progress` (counts by state, `seconds_left` and of how many runs it is `unknown`) and,
        of a dry run, `members`.

    Raises:
        InputError: no such plan, another plan of that name, or a cell that is not valid.
    """
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving

    store, wish = store or RunStore(), stopped or (lambda: False)
    tell = on_event or (lambda event: None)
    if models or data or grid or settings or seeds or folds:
        default = planned.Plan(name)
        values = {setting: tuple(map(str, each)) for setting, each in (grid or {}).items()}
        fixed = {setting: str(value) for setting, value in (settings or {}).items()}
        chosen = tuple(models) or default.models, tuple(data) or default.data
        plan = planned.Plan(name, *chosen, values, fixed, tuple(seeds) or default.seeds, folds)
        for each in plan.data:
            configure(each, plan.models[0])  # raises with the nearest name
        planned.members(plan)  # raises where a cell is not valid
    else:
        plan = planned.read(store, name)
    result = {"sweep": name, "plan": dataclasses.asdict(plan), "cells": [each.label for each in planned.cells(plan)]}
    if dry_run:
        runs = planned.members(plan)
        members = [{"run": each.run, "cell": each.cell.label, "seed": each.seed, "fold": each.fold} for each in runs]
        return {**result, "progress": driving.look(store, plan).event(), "members": members}
    plan = planned.save(store, plan)
    if driving.driven(store, name):
        found = driving.look(store, plan) if detach else driving.watch(store, plan, tell=tell, stopped=wish)
    elif detach:
        driving.detach(store, name)
        found = driving.look(store, plan)
    else:
        found = driving.drive(store, plan, tell=tell, stopped=wish)
    return {**result, "progress": found.event()}


def sweeps_list(store: RunStore | None = None) -> dict[str, Any]:
    """All sweeps, newest first, with how far they are; one whose plan cannot be read has a `reason` instead."""
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving

    store = store or RunStore()
    found: list[dict[str, Any]] = []
    for name in planned.names(store):
        try:
            plan = planned.read(store, name)
            said = driving.look(store, plan).event()
        except (RunDamaged, InputError) as error:
            found.append({"sweep": name, "reason": str(error)})
            continue
        said |= {"models": list(plan.models), "data": list(plan.data), "created": plan.created, "reason": ""}
        found.append({**said, "driven": driving.driven(store, name)})
    return {"sweeps": found}


def sweeps_show(
    name: str, *, metrics: Sequence[str] = (), baseline: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """The table of a sweep, see `core.runs.sweep_table.table`, with its plan and how far it is.

    Raises:
        InputError: no such sweep, metric or baseline.
    """
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving
    from core.runs.sweep_table import table

    store = store or RunStore()
    plan = planned.read(store, name)
    found = table(store, plan, metrics=metrics, baseline=baseline)
    return {**found, "plan": dataclasses.asdict(plan), "progress": driving.look(store, plan).event()}


def sweeps_cancel(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Stop a sweep: what trains saves a checkpoint, nothing more is started; `sweep` goes on with it.

    Raises:
        InputError: no such sweep, or nothing of it waits or trains.
    """
    from core.runs.sweep_drive import cancel

    return {"sweep": name, "asked": "cancel", "runs": cancel(store or RunStore(), name)}


def sweeps_remove(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Delete a sweep with all its runs.

    Raises:
        InputError: no such sweep, or it is being trained.
    """
    from core.runs.sweep import remove

    return {"sweep": name, "removed": True, "runs": remove(store or RunStore(), name)}


def doctor(store: RunStore | None = None) -> dict[str, Any]:
    """What this machine offers and whether everything needed is here; see `core.doctor.examine`."""
    from core.doctor import examine

    return examine(store or RunStore())


def _labelled_rows(loaded: LoadedRun, data: str, split: str) -> tuple[pd.DataFrame, str]:
    """Frame with `text` and `label` (a class name, or a tuple of them), and the name of the split."""
    from core.data import apart
    from core.data.load import load, path_of

    if data and data not in SOURCES and (path := path_of(data)).is_file():
        if split not in ("", WHOLE):
            raise InputError(f"--split {split}: the single file {path.name} has no splits")
        return apart.read_file(path, {}).rows, WHOLE
    dataset = load(DataConfig(name=data) if data else loaded.record.config.data)
    split = split or "test"
    if split not in dataset.splits:
        raise InputError(f"--split {split}: {dataset.name} has {', '.join(dataset.splits)}")
    rows = dataset.splits[split]
    if dataset.task == "multi":
        return rows.assign(label=rows["label"].map(lambda own: tuple(dataset.classes[each] for each in own))), split
    return rows.assign(label=[dataset.classes[label] for label in rows["label"]]), split


def _match(
    names: Sequence[tuple[str, ...]], classes: tuple[str, ...], rename: Mapping[str, str]
) -> list[tuple[int, ...]]:
    """Class numbers of the run for the label names of each row of the data."""
    strange = [new for new in rename.values() if new not in classes]
    if strange:
        raise InputError(f"--map …={strange[0]}: the run's classes are {', '.join(classes)}")
    renamed = [tuple(dict.fromkeys(rename.get(name, name) for name in row)) for row in names]
    unmatched = sorted({name for row in renamed for name in row} - set(classes))
    if unmatched:
        example = f"--map {unmatched[0]}={classes[0]}"
        rows = sum(unmatched[0] in row for row in renamed)
        raise InputError(
            f"label '{unmatched[0]}' ({rows} rows) is no class of this run "
            f"({', '.join(classes)}); say what it means, e.g. {example}"
        )
    return [tuple(classes.index(name) for name in row) for row in renamed]


def _texts_of(file: Path) -> list[str]:
    """A text per line, or the `text` column of a table."""
    from core.data import apart

    if file.suffix.lower() in (".txt", ""):
        from core.data import limits
        from core.data.decode import decode

        text = decode(limits.read_bytes(file), file=file.name).text
        # Not splitlines: form feeds and the like stand inside a line, for editors and `wc -l` too.
        return re.split(r"\r\n|\r|\n", text.removesuffix("\n").removesuffix("\r")) if text else []
    return apart.read_texts(file)
