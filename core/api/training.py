"""Training and resuming runs, and the summary of a training run."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from core import data as data_room
from core import error_analysis, evaluation
from core.api.options import AnyRun, CliArgument, OnTraining, Settings, Store, get_name
from core.api.printing import say, tabulate
from core.data.config import join_list
from core.data.sources import SOURCES
from core.exceptions import DataError, InputError
from core.formatting import count, whole_percent
from core.papers.reported_results import find_counterpart
from core.recipes import NAMES
from core.runs.configuration import START, configure_with_recipe, find_teacher
from core.runs.cost_estimate import LENGTHS, count_uncut_rows, describe_shortcuts, estimate_cost
from core.runs.engines import find_engine
from core.runs.queue import check_room
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.runs.training_jobs import execute, follow
from core.runs.training_jobs import start as start_run

SCORES = {
    "single": {
        "accuracy": "metrics.*.accuracy",
        "95 %": "intervals.*.accuracy",
        "F1 macro": "metrics.*.f1_macro",
        "recall macro": "metrics.*.recall_macro",
        "TF-IDF": "yardstick.splits.*.accuracy",
    },
    "multi": {
        "F1 macro, tuned": "tuned.metrics.*.f1_macro",
        "95 %": "tuned.intervals.*.f1_macro",
        "TF-IDF, tuned": "yardstick.tuned.splits.*.f1_macro",
        "at 0.5": "metrics.*.f1_macro",
        "TF-IDF at 0.5": "yardstick.splits.*.f1_macro",
        "F1 micro at 0.5": "metrics.*.f1_micro",
        "AUPR": "metrics.*.average_precision",
    },
    "tokens": {
        "span F1": "metrics.*.span_f1",
        "95 %": "intervals.*.span_f1",
        "precision": "metrics.*.span_precision",
        "recall": "metrics.*.span_recall",
        "token accuracy": "metrics.*.token_accuracy",
    },
}
"""Task → title of a main score → its path in the result of `summarize_run`; *: the split."""

Start = Annotated[AnyRun, CliArgument(name="--from", metavar="RUN", kind=str)]
Name = Annotated[str, CliArgument("Name of the run; default: data, model, seed and time.")]
Seed = Annotated[int | None, CliArgument("Short for --set training.seed.")]
Limit = Annotated[int | None, CliArgument("Training rows, seeded and stratified; other splits whole.")]
NoTexts = Annotated[bool, CliArgument("Keep no text in the run: --set data.texts=false.")]


def train(  # noqa: PLR0913 - each is an option that a person types by name
    data: Annotated[str, CliArgument(place=False)] = "built-in",
    model: Annotated[str, CliArgument(place=False)] = "ndt-01-n3",
    settings: Settings = None,
    *,
    add: Sequence[str] = (),
    start: Start = "",
    recipe: Annotated[str, CliArgument(f"Settings that make small models better, under those of --set: {NAMES}.")] = "",
    length: Annotated[str, CliArgument(f"Epochs and rows at most: {', '.join(LENGTHS)}.")] = "",
    epochs: int | None = None,
    seed: Seed = None,
    limit: Limit = None,
    name: Name = "",
    no_texts: NoTexts = False,
    stopped_run: Annotated[str, CliArgument(name="--resume", metavar="RUN", alone=True)] = "",
    on_event: OnTraining = None,
    store: Store = None,
) -> dict[str, Any]:
    """Train a model, evaluate it and store the run. Waits while other training runs use all slots.

    An interrupt (Ctrl-C, the stop button of a notebook) saves a checkpoint and ends training; `--resume` continues.

    Args:
        data: A registered name, a file or a folder.
        model: A preset; `sentiscope presets` lists all.
        add: A registered data set whose training texts join the training split, or `counter-examples`; repeat.
        start: Start from the weights of this finished run.
        epochs: Short for --set training.epochs.
        stopped_run: Resume this run, with its own settings.

    Returns:
        See `summarize_run`; `sentiscope.train` returns the run, done or cancelled. A recipe omits settings that the
        model does not support, with the reasons in `left_out`. Unusable data leave no run.
    """
    if stopped_run:
        return resume(stopped_run, store=store, on_event=on_event)
    store, begun = store or RunStore(), get_name(start)
    short = {"training.epochs": epochs, "training.seed": seed, "data.limit": limit}
    given = {name: value for name, value in short.items() if value is not None} | ({START: begun} if begun else {})
    kept = data_room.mixture.COUNTER_EXAMPLES
    if kept in add:  # copied as they are now
        given["data.examples"] = error_analysis.counter_examples.write_copy(store.folder)
    if sets := [name for name in add if name != kept]:
        given["data.add"] = join_list(sets)
    given |= {"data.texts": False} if no_texts else {}
    if length and length not in LENGTHS:
        raise InputError(f"--length {length!r}: one of {', '.join(map(repr, LENGTHS))}")
    chosen = {**LENGTHS.get(length, {}), **(settings or {}), **given}
    config, used = configure_with_recipe(data, model, chosen, recipe, store=store)
    check_room(store.folder)
    find_engine()  # raises for one that is missing
    find_teacher(config, store)
    takes = estimate_cost(config, store.list())
    record = store.create(config, model, name, exactly=True, recipe=used)
    if on_event and takes:
        on_event({"kind": "cost", **takes._asdict()})
    if on_event and used.left_out:
        on_event({"kind": "recipe", "recipe": recipe, "left_out": used.left_out})
    try:
        return resume(record.run, store=store, on_event=on_event)
    except DataError:
        if not store.read(record.run).data_fingerprint:  # it never started, since its data cannot be used
            store.remove(record.run)
        raise


def pretrain(  # noqa: PLR0913 - each is an option that a person types by name
    data: Annotated[Sequence[str], CliArgument(place=False)],
    model: Annotated[str, CliArgument(place=False)] = "vanilla-swiglu",
    settings: Settings = None,
    *,
    apart: Sequence[str] = (),
    start: Start = "",
    seed: Seed = None,
    limit: Limit = None,
    name: Name = "",
    no_texts: NoTexts = False,
    on_event: OnTraining = None,
    store: Store = None,
) -> dict[str, Any]:
    """Train an encoder for other runs to start from: masked words, then the labels of several data sets at once.

    It is `train --recipe pretrain` on a mixture of the data sets; `train --resume` continues it.

    Args:
        data: A registered data set; repeat for more. `data.rename` gives them the same classes.
        model: A preset of an encoder.
        apart: A data set whose evaluation texts are excluded from the training; repeat for more.
        start: Start from this finished run.
    """
    if strange := [each for each in (*data, *apart) if each not in SOURCES]:
        raise InputError(f"--data {strange[0]}: a registered data set; `sentiscope data list` shows all")
    kept = {"data.apart": join_list(apart)} if apart else {}
    given: dict[str, Any] = {"start": start, "seed": seed, "limit": limit, "name": name, "no_texts": no_texts}
    more: dict[str, Any] = {"on_event": on_event, "store": store}
    return train("+".join(data), model, {**kept, **(settings or {})}, recipe="pretrain", **given, **more)


def resume(run: str, *, on_event: OnTraining = None, store: Store = None) -> dict[str, Any]:
    """Resume a queued, failed or cancelled run from its last checkpoint; the result is that of an uninterrupted run."""
    store = store or RunStore()
    if find_engine():
        return summarize_run(follow(store, start_run(store, run).run, on_event))
    return summarize_run(execute(store, run, on_event=on_event))


def summarize_run(record: RunRecord) -> dict[str, Any]:
    """Return the summary of a training run: status, metrics, intervals, map weights λ, seconds, TF-IDF baseline.

    `data_notes`: changes to the data; `data_decisions`: how its file was read; `interval_method`: describes the
    intervals; `shortened`: effects of a training shorter than the preset's; `pairs`: whether the run reads text pairs;
    `reported`: a paper's result for the same preset and data set, with a note if splits differ, or null.
    """
    results, reported = record.results, None
    if paper := find_counterpart(record.preset, record.config):
        layers = [list(layer) for layer in paper.lambdas]
        reported = {"dataset": paper.dataset, "metrics": paper.metrics, "lambda": layers, "note": paper.note}
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
        "interval_method": evaluation.intervals.METHOD,
        **{name: results[name] for name in ("tuned", "mix", "temperature", "start", "examples") if name in results},
        "lambda": results.get("lambda", []),
        "yardstick": results.get("yardstick", {}),
        "reported": reported,
        "data_notes": list(record.data_notes),
        "data_decisions": [dataclasses.asdict(each) for each in record.data_decisions],
        "pairs": record.pairs,
        "shortened": list(describe_shortcuts(record.preset, record.config, count_uncut_rows(record.config, [record]))),
        "seconds": record.seconds,
    }


def describe_start(start: Mapping[str, Any]) -> str:
    """Return a phrase about the weights that a training run copied: from which run, what share, which parts are new."""
    words = [f"{count(start['words'])} words"] if start["words"] else []
    # The part of the model that a tensor belongs to: `layers.1.attention.query.weight` → `query`.
    names = (name.split(".") for name in (*start["partly"], *start["fresh"]))
    parts = [name[-2] if len(name) > 2 else name[0] for name in names]
    new = f"; new, in whole or in part: {', '.join(dict.fromkeys(words + parts))}" if words + parts else ""
    return f"'{start['run']}': {whole_percent(start['numbers'] / start['of'])} of the numbers copied{new}"


def tabulate_scores(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the main scores of a `summarize_run` as a table, a row for each split; intervals as [low, high].

    With several labels per text: macro F1 at the thresholds chosen on validation, and at 0.5.
    """

    def find_number(path: str, split: str) -> Any:
        """Return the number at a dotted path in the summary of a run; `*` in the path stands for the split."""
        found: Any = result
        for step in path.split("."):
            found = (found or {}).get(split if step == "*" else step)
        return found

    columns = SCORES[result["task"]].items()
    return [{"split": split} | {title: find_number(at, split) for title, at in columns} for split in result["metrics"]]


def print_train(result: dict[str, Any]) -> None:
    """Print how a training run ended, its main scores, and what to do next."""
    ended = f"{result['status']} in {result['seconds']:.0f} s"
    say(f": {', '.join(filter(None, (ended, result['mixture'])))}", head=result["run"])
    if start := result.get("start"):
        say(f"Started from {describe_start(start)}")
    rows = tabulate_scores(result)
    tabulate(rows, () if rows else ("split",))
    for note in result["data_notes"]:
        say(f"{note}.", head="Data: ")
    for sentence in result["shortened"]:
        say(sentence, head="Note: ")
    if result["status"] == "done" and result["task"] == "tokens":
        say(f'Tag a text: sentiscope predict {result["run"]} "…", or the page Tagging of `sentiscope dashboard`')
    elif result["status"] == "done":
        example = '"not bad at all" --pair "it was good"' if result["pairs"] else '"not bad at all"'
        say(f"Look inside: sentiscope inspect {result['run']} {example}")


print_pretrain = print_train
