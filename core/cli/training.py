"""`sentiscope train`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cells import cell_text
from core.cli.printing import Json, Set, emit, err, say, tabulate
from core.cli.progress import TrainingProgress
from core.config import parse_settings
from core.exceptions import InputError
from core.recipes import NAMES
from core.runs.budget import LENGTHS

Seed = Annotated[int | None, typer.Option(help="Short for --set training.seed.")]
Limit = Annotated[int | None, typer.Option(help="Training rows, seeded and stratified; other splits whole.")]
Name = Annotated[str, typer.Option(help="Name of the run; default: data, model, seed and time.")]
NoTexts = Annotated[bool, typer.Option("--no-texts", help="Keep no text in the run: --set data.texts=false.")]


def train(  # noqa: PLR0913 - each is an option that a person types by name
    context: typer.Context,
    data: Annotated[str, typer.Option(help="A registered name, a file or a folder.")] = "built-in",
    model: Annotated[str, typer.Option(help="A preset; `sentiscope presets` lists all.")] = "ndt-01-n3",
    add: Annotated[
        list[str] | None,
        typer.Option(
            help="A registered data set whose training texts join the training split, or `counter-examples`; repeat."
        ),
    ] = None,
    start: Annotated[
        str, typer.Option("--from", metavar="RUN", help="Start from what this finished run has learned.")
    ] = "",
    settings: Set = None,
    recipe: Annotated[
        str, typer.Option(help=f"Settings that make small models better, under those of --set: {NAMES}.")
    ] = "",
    length: Annotated[str, typer.Option(help=f"Epochs and rows at most: {', '.join(LENGTHS)}.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Short for --set training.epochs.")] = None,
    seed: Seed = None,
    limit: Limit = None,
    name: Name = "",
    no_texts: NoTexts = False,
    resume: Annotated[str, typer.Option(metavar="RUN", help="Resume this run, with its own settings, instead.")] = "",
    as_json: Json = False,
) -> None:
    """Train a model, evaluate it and keep the run. Waits while other runs hold all slots."""
    if resume and (given := _given(context) - {"--resume", "--json"}):
        raise InputError(f"--resume goes on with the settings of the run; leave out {', '.join(sorted(given))}")
    with TrainingProgress(err) as progress:
        if resume:
            result = verbs.resume(resume, on_event=progress.tell)
        else:
            result = verbs.train(
                data,
                model,
                parse_settings(settings or []) | ({"data.texts": False} if no_texts else {}),
                add=add or [],
                start=start,
                recipe=recipe,
                length=length,
                epochs=epochs,
                seed=seed,
                limit=limit,
                name=name,
                on_event=progress.tell,
            )
    _end(result, as_json)


def pretrain(
    data: Annotated[list[str], typer.Option(help="A registered data set; repeat for more.")],
    model: Annotated[str, typer.Option(help="A preset of an encoder.")] = "vanilla-swiglu",
    apart: Annotated[
        list[str] | None,
        typer.Option(help="A data set whose texts beyond train are kept out of the training; repeat for more."),
    ] = None,
    start: Annotated[str, typer.Option("--from", metavar="RUN", help="Start from this finished run.")] = "",
    settings: Set = None,
    seed: Seed = None,
    limit: Limit = None,
    name: Name = "",
    no_texts: NoTexts = False,
    as_json: Json = False,
) -> None:
    """Train an encoder that others start from: masked words, then the labels of several data sets at once.

    As `train --recipe pretrain` on the data sets with + between; `train --resume` continues it.
    """
    with TrainingProgress(err) as progress:
        result = verbs.pretrain(
            data,
            model,
            parse_settings(settings or []) | ({"data.texts": False} if no_texts else {}),
            apart=apart or [],
            start=start,
            seed=seed,
            limit=limit,
            name=name,
            on_event=progress.tell,
        )
    _end(result, as_json)


def _end(result: dict[str, Any], as_json: bool) -> None:
    """Show what came of a training; exit 1 unless it is done."""
    emit(result, as_json, _show_training)
    if result["status"] != "done":
        raise typer.Exit(1)


def _given(context: typer.Context) -> set[str]:
    """The options that were typed, not those that have their default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return {each.opts[0] for each in context.command.params if each.name in typed}


def _show_training(result: dict[str, Any]) -> None:
    ended = f"{result['status']} in {result['seconds']:.0f} s"
    say(f": {', '.join(filter(None, (ended, result['mixture'])))}", head=result["run"])
    if start := result.get("start"):
        say(f"Started from {verbs.started(start)}")
    rows = verbs.scores(result)
    tabulate(
        [{key: cell_text(value) for key, value in row.items()} for row in rows], tuple(rows[0]) if rows else ("split",)
    )
    for note in result["data_notes"]:
        say(f"{note}.", head="Data: ")
    for sentence in result["shortened"]:
        say(sentence, head="Note: ")
    if result["status"] == "done" and result["task"] == "tokens":
        say(f'Tag a text: sentiscope predict {result["run"]} "…", or the page Tokens of `sentiscope dashboard`')
    elif result["status"] == "done":
        example = '"not bad at all" --pair "it was good"' if result["pairs"] else '"not bad at all"'
        say(f"Look inside: sentiscope inspect {result['run']} {example}")
