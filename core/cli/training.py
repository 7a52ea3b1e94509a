"""`sentiscope train`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Set, decimals, emit, err, say, tabulate
from core.cli.progress import Progress
from core.config import parse_settings
from core.exceptions import InputError
from core.runs.budget import LENGTHS


def train(  # noqa: PLR0913 - each is an option that a person types by name
    context: typer.Context,
    data: Annotated[str, typer.Option(help="A registered name, a file or a folder.")] = "built-in",
    model: Annotated[str, typer.Option(help="A preset; `sentiscope presets` lists all.")] = "ndt-01-n3",
    settings: Set = None,
    length: Annotated[str, typer.Option(help=f"Epochs and rows at most: {', '.join(LENGTHS)}.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Short for --set training.epochs.")] = None,
    seed: Annotated[int | None, typer.Option(help="Short for --set training.seed.")] = None,
    limit: Annotated[int | None, typer.Option(help="Training rows, seeded and stratified; other splits whole.")] = None,
    name: Annotated[str, typer.Option(help="Name of the run; default: data, model, seed and time.")] = "",
    resume: Annotated[str, typer.Option(metavar="RUN", help="Go on with this run, as it was set, instead.")] = "",
    as_json: Json = False,
) -> None:
    """Train a model, evaluate it and keep the run. Waits while other runs hold all slots."""
    if resume and (given := _given(context) - {"--resume", "--json"}):
        raise InputError(f"--resume goes on with the settings of the run; leave out {', '.join(sorted(given))}")
    with Progress(err) as progress:
        if resume:
            result = verbs.resume(resume, on_event=progress.tell)
        else:
            short = {"training.epochs": epochs, "training.seed": seed, "data.limit": limit}
            chosen = {
                **_length(length),
                **parse_settings(settings or []),
                **{key: v for key, v in short.items() if v is not None},
            }
            result = verbs.train(data, model, chosen, name=name, on_event=progress.tell)
    emit(result, as_json, _show_training)
    if result["status"] != "done":
        raise typer.Exit(1)


def _length(name: str) -> dict[str, Any]:
    if name and name not in LENGTHS:
        raise InputError(f"--length {name!r}: one of {', '.join(map(repr, LENGTHS))}")
    return LENGTHS.get(name, {})


def _given(context: typer.Context) -> set[str]:
    """The options that were typed, not those that have their default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return {each.opts[0] for each in context.command.params if each.name in typed}


def _show_training(result: dict[str, Any]) -> None:
    say(f": {result['status']} in {result['seconds']:.0f} s", head=result["run"])
    (_several_trained if result["task"] == "multi" else _single_trained)(result)
    if result["status"] == "done":
        say(f'Look inside: sentiscope inspect {result["run"]} "not bad at all"')


def _several_trained(result: dict[str, Any]) -> None:
    """Of several labels a text: the mean of the labels' F1, at own thresholds chosen on validation, and at 0.5."""
    own, beside = result.get("tuned", {}), result["yardstick"].get("tuned", {})
    rows = []
    for split, metrics in result["metrics"].items():
        low, high = own.get("intervals", {}).get(split, {}).get("f1_macro", (None, None))
        rows.append(
            {
                "split": split,
                "F1 macro, tuned": decimals(own.get("metrics", {}).get(split, {}).get("f1_macro")),
                "95 %": "" if low is None else f"{low:.3f} to {high:.3f}",
                "TF-IDF, tuned": decimals(beside.get("splits", {}).get(split, {}).get("f1_macro")),
                "at 0.5": decimals(metrics.get("f1_macro")),
                "TF-IDF at 0.5": decimals(result["yardstick"].get("splits", {}).get(split, {}).get("f1_macro")),
                "F1 micro at 0.5": decimals(metrics.get("f1_micro")),
                "AUPR": decimals(metrics.get("average_precision")),
            }
        )
    tabulate(rows, tuple(rows[0]) if rows else ("split",))


def _single_trained(result: dict[str, Any]) -> None:
    rows = []
    for split, metrics in result["metrics"].items():
        yardstick = result["yardstick"].get("splits", {}).get(split, {})
        low, high = result["intervals"].get(split, {}).get("accuracy", (None, None))
        rows.append(
            {
                "split": split,
                "accuracy": decimals(metrics.get("accuracy")),
                "95 %": "" if low is None else f"{low:.3f} to {high:.3f}",
                "F1 macro": decimals(metrics.get("f1_macro")),
                "TF-IDF": decimals(yardstick.get("accuracy")),
            }
        )
    tabulate(rows, ("split", "accuracy", "95 %", "F1 macro", "TF-IDF"))
