"""The command line: parse, call a verb, print. JSON goes to stdout as one object, everything else to stderr.

Exit codes: 0 done, 1 failure, 2 wrong input.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import core
from core import verbs
from core.cli_print import Json, Set, decimals, emit, err, say, show_tree, tabulate
from core.cli_progress import Progress
from core.cli_sweep import sweep, sweeps_app
from core.config import parse_settings
from core.exceptions import InputError, SentiscopeError
from core.models.presets import PAPERS
from core.runs import jobs
from core.runs.budget import LENGTHS
from core.runs.store import RunStore
from core.serve import serve, streamlit_command
from core.systems import CLASSES, VOCABULARY

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Train small sentiment classifiers, look inside.")
data_app = typer.Typer(no_args_is_help=True, help="Data sets: list, card, check.")
runs_app = typer.Typer(no_args_is_help=True, help="Runs: list, show, cancel, export, import, rm.")
app.add_typer(data_app, name="data")
app.add_typer(runs_app, name="runs")
app.add_typer(sweeps_app, name="sweeps")
app.command()(sweep)

Run = Annotated[str, typer.Argument(help="Name of a run; `sentiscope runs list` shows all.")]


def main() -> None:
    """The console command `sentiscope`: expected errors become a sentence and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal without emoji shows their numbers
    try:
        app()
    except SentiscopeError as error:
        say(f" {error}", head="sentiscope:", console=err)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); nothing is left to tell anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.command()
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


@app.command()
def evaluate(
    run: Run,
    data: Annotated[str, typer.Option(help="Other labelled data; default: what the run was trained on.")] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="A label of the data is this class of the run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Metrics and confusion matrix of a run."""
    result = verbs.evaluate(run, data=data, split=split, rename=_pairs(rename or []))
    emit(result, as_json, _show_evaluation)


@app.command()
def predict(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help="Texts to classify.")] = None,
    file: Annotated[Path | None, typer.Option(help="A text per line, or a table with a column `text`.")] = None,
    as_json: Json = False,
) -> None:
    """Class and probabilities of texts, in order."""
    emit(verbs.predict(run, texts or [], file=file), as_json, _show_predictions)


@app.command()
def inspect(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    html: Annotated[Path | None, typer.Option(help="Also write a page with every map.")] = None,
    as_json: Json = False,
) -> None:
    """Tokens, prediction and every attention map of one text."""
    emit(verbs.inspect(run, text, html=html), as_json, _show_inside)


@app.command()
def project(
    run: Run,
    split: Annotated[str, typer.Option(help="Whose embeddings; the splits that the run was evaluated on.")] = "test",
    method: Annotated[str, typer.Option(help="tsne, umap or pca.")] = "tsne",
    dimensions: Annotated[int, typer.Option(help="2 or 3.")] = 2,
    rows: Annotated[int, typer.Option(help="Sentences placed, a stratified sample of more; PCA places all.")] = 3000,
    seed: Annotated[int, typer.Option(help="Of the sample and of the map.")] = 0,
    as_json: Json = False,
) -> None:
    """A map of a split's embeddings, kept in the run for the dashboard, and how far it can be believed."""
    last = ""

    def tell(what: str, share: float | None) -> None:
        nonlocal last
        line = what if share is None else f"{what}: {share:.0%}"
        if line != last:
            say(line, console=err)
        last = line

    made = verbs.project(run, split=split, method=method, dimensions=dimensions, rows=rows, seed=seed, on_progress=tell)
    emit(made, as_json, _show_map)


@app.command()
def figures(
    run: Run,
    to: Annotated[Path, typer.Option(help="The folder that the files go to; made if it is not there.")],
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    only: Annotated[str, typer.Option(metavar="NAME,…", help="Names of figures; default: all that there are.")] = "",
    text: Annotated[str, typer.Option(help="A sentence to look into, for `grid` and `coefficients`.")] = "",
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
    as_json: Json = False,
) -> None:
    """Every figure of the pages as an HTML file that opens without a network; a single one is whole by itself."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    emit(verbs.figures(run, to, split=split, only=names, text=text, theme=theme), as_json, _show_figures)


@app.command()
def presets(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One preset, shown whole.")] = "",
    paper: Annotated[str, typer.Option(help=f"Only those of one paper: {', '.join(PAPERS)}, or its title.")] = "",
    vocabulary: Annotated[int, typer.Option(help="Tokens at which sizes are told.")] = VOCABULARY,
    classes: Annotated[int, typer.Option(help="Classes at which sizes are told.")] = CLASSES,
    as_json: Json = False,
) -> None:
    """The models that can be trained: all, those of one paper, or one whole."""
    if name and paper:
        raise InputError("give the name of a preset or --paper, not both")
    if name:
        emit(verbs.presets_show(name, vocabulary=vocabulary, classes=classes), as_json, _show_preset)
    else:
        emit(verbs.presets(paper, vocabulary=vocabulary, classes=classes), as_json, _show_presets)


@data_app.command("list")
def data_list(as_json: Json = False) -> None:
    """The data sets that have a name."""
    emit(verbs.data_list(), as_json, lambda r: tabulate(r["data"], ("name", "title", "classes", "checked")))


@data_app.command("card")
def data_card(
    data: Annotated[str, typer.Argument(metavar="NAME|PATH")],
    settings: Set = None,
    yardstick: Annotated[bool, typer.Option(help="Also fit TF-IDF with logistic regression.")] = True,
    as_json: Json = False,
) -> None:
    """Rows, classes, lengths, vocabulary, duplicates, licence, TF-IDF yardstick of a data set."""
    emit(verbs.data_card(data, parse_settings(settings or []), yardstick=yardstick), as_json, show_tree)


@data_app.command("check")
def data_check(
    data: Annotated[str, typer.Argument(metavar="NAME|PATH")], settings: Set = None, as_json: Json = False
) -> None:
    """What is found in a file or folder: encoding, columns, labels, everything left out."""
    result = verbs.data_check(data, parse_settings(settings or []))
    emit(result, as_json, show_tree)
    if not result["ok"]:
        raise InputError(result["problem"])


@runs_app.command("list")
def runs_list(as_json: Json = False) -> None:
    """All runs, newest first."""

    def show(result: dict[str, Any]) -> None:
        rows = [
            {
                **row,
                "test accuracy": decimals(row["metrics"].get("test", {}).get("accuracy")),
                "test F1 macro": decimals(row["metrics"].get("test", {}).get("f1_macro")),
            }
            for row in result["runs"]
        ]
        tabulate(rows, ("run", "model", "data", "status", "test accuracy", "test F1 macro", "reason"))

    emit(verbs.runs_list(), as_json, show)


@runs_app.command("show")
def runs_show(run: Run, as_json: Json = False) -> None:
    """Everything the record of a run says."""
    emit(verbs.runs_show(run), as_json, show_tree)


@runs_app.command("cancel")
def runs_cancel(run: Run, as_json: Json = False) -> None:
    """Stop a run; it saves a checkpoint and can be resumed."""
    record = jobs.cancel(RunStore(), run)
    emit({"run": run, "status": record.status, "asked": "cancel"}, as_json, show_tree)


@runs_app.command("export")
def runs_export(
    run: Run, file: Annotated[Path, typer.Argument(help="The zip file to write.")], as_json: Json = False
) -> None:
    """Write a run into one zip file, without checkpoints."""
    emit(verbs.runs_export(run, file), as_json, show_tree)


@runs_app.command("import")
def runs_import(
    source: Annotated[Path, typer.Argument(metavar="PATH", help="A zip file from `runs export`, or a run directory.")],
    as_json: Json = False,
) -> None:
    """Take a run in, under its name or the next free one."""
    emit(verbs.runs_import(source), as_json, show_tree)


@runs_app.command("rm")
def runs_remove(run: Run, as_json: Json = False) -> None:
    """Delete a run's directory."""
    RunStore().remove(run)
    emit({"run": run, "removed": True}, as_json, show_tree)


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve on.")] = 8501,
    address: Annotated[
        str, typer.Option(help="Address to serve on; other machines need more than loopback.")
    ] = "127.0.0.1",
    host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A further name in the link of others, e.g. of a proxy.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
) -> None:
    """Open the dashboard in the browser."""
    script = Path(core.__file__).resolve().parent.parent / "dashboard" / "server.py"
    raise typer.Exit(serve(streamlit_command(script, port, address, host or [], browser=browser)))


@app.command()
def doctor(as_json: Json = False) -> None:
    """What this machine offers, what is damaged or missing, and what to do about it."""
    result = verbs.doctor()
    emit(result, as_json, _show_examination)
    if result["problems"]:
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


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if any(not equals for _, equals, _ in pairs):
        raise InputError("--map: write old=new, a label of the data and a class of the run")
    return {old: new for old, _, new in pairs}


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


def _show_evaluation(result: dict[str, Any]) -> None:
    say(f"{result['run']} on {result['data']}, {result['split']}, n = {result['n']}")
    if result["task"] == "multi":
        _show_several(result)
        return
    tabulate(
        [{"metric": key, "value": decimals(value)} for key, value in result["metrics"].items()], ("metric", "value")
    )
    counts = [
        {"label": label, **dict(zip(result["labels"], map(str, row), strict=True))}
        for label, row in zip(result["labels"], result["confusion"], strict=True)
    ]
    tabulate(counts, ("label", *result["labels"]))


def _show_several(result: dict[str, Any]) -> None:
    """Metrics and each label, at 0.5 and, where the run chose others, at its own thresholds."""
    tuned = result["tuned"] or {"metrics": {}, "per_class": {}, "thresholds": {}}
    metrics = [
        {"metric": key, "at 0.5": decimals(value), "tuned": decimals(tuned["metrics"].get(key))}
        for key, value in result["metrics"].items()
    ]
    tabulate(metrics, ("metric", "at 0.5", "tuned"))
    rows = []
    for label, row in result["per_class"].items():
        words = {key: decimals(row.get(key)) for key in ("precision", "recall", "f1")}
        aupr, own = decimals(row.get("average_precision")), tuned["per_class"].get(label, {})
        better = {"threshold": decimals(own.get("threshold")), "f1 tuned": decimals(own.get("f1"))}
        rows.append({"label": label, "rows": f"{row['support']:.0f}", **words, "AUPR": aupr, **better})
    tabulate(rows, ("label", "rows", "precision", "recall", "f1", "AUPR", "threshold", "f1 tuned"))


def _answer(prediction: dict[str, Any]) -> str:
    """The label with its probability; of several all that are said, at the run's own thresholds where it has any."""
    said = prediction.get("labels_tuned", prediction["labels"]) if "labels" in prediction else [prediction["label"]]
    return ", ".join(f"{label} {prediction['probabilities'][label]:.3f}" for label in said) or "none of them"


def _show_predictions(result: dict[str, Any]) -> None:
    if result["task"] == "multi":
        tabulate([{**each, "labels": _answer(each)} for each in result["predictions"]], ("row", "labels", "text"))
        return
    rows = [{**each, "probability": f"{each['probabilities'][each['label']]:.3f}"} for each in result["predictions"]]
    tabulate(rows, ("row", "label", "probability", "text"))


def _show_map(result: dict[str, Any]) -> None:
    what = f"{result['method']}, {result['dimensions']}-D, {result['split']}, n = {result['n']}"
    say(f"{what}{'' if result['computed'] else ' (was there)'}: {result['file']}")
    quality = {key: value for key, value in result["quality"].items() if isinstance(value, float)}
    tabulate([{"quality": key, "value": decimals(value)} for key, value in quality.items()], ("quality", "value"))
    if reason := result["quality"]["reason"]:
        say(f"no silhouette: {reason}")


def _show_figures(result: dict[str, Any]) -> None:
    tabulate(result["files"], ("name", "title", "file"))
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")


def _show_inside(result: dict[str, Any]) -> None:
    prediction = result["prediction"]
    say(_answer(prediction))
    say("tokens: " + " | ".join(result["tokens"]))
    for number, layer in enumerate(result["layers"], start=1):
        components, heads = len(layer["components"]), len(layer["combined"])
        maps = "--json or --html F shows the maps" if any(layer["combined"][0]) else "no maps of this text"
        say(f"layer {number}: {components} components x {heads} heads; {maps}")


def _show_examination(result: dict[str, Any]) -> None:
    for name, value in result.items():
        if name != "problems":
            say(_in_line(value), head=f"{name.replace('_', ' ')}: ")
    for problem in result["problems"]:
        say(problem, head="problem: ")
    if not result["problems"]:
        say("nothing needs attention")


def _in_line(value: Any) -> str:
    """Plain data as words."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_line(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _show_presets(result: dict[str, Any]) -> None:
    rows = [{**each, "parameters": f"{each['parameters']:,}"} for each in result["presets"]]
    tabulate(rows, ("name", "parameters", "line", "source"))
    say(f"parameters with {result['vocabulary']:,} tokens and {result['classes']} classes")


def _show_preset(result: dict[str, Any]) -> None:
    say(f": {result['line']}", head=result["name"])
    said = f"{result['parameters']:,} with {result['vocabulary']:,} tokens and {result['classes']} classes"
    for what, value in (("paper", result["title"]), ("source", result["source"]), ("parameters", said)):
        say(f"{what}: {value}")
    recipe = " ".join(f"--set {key}={value}" for key, value in result["settings"].items())
    say(f"trained with: {recipe or 'the defaults'}")
    say("")
    rows = []
    for part in result["diagram"]:
        times = f"{part['times']} x " if part["times"] > 1 else ""
        rows.append({**part, "parameters": f"{times}{part['parameters']:,}" if part["parameters"] else ""})
        rows += [{"part": f"  {term['name']}", "detail": term["detail"]} for term in part["terms"]]
    tabulate(rows, ("part", "detail", "parameters"))
    say("")
    for line in result["equation"]:
        say(f"{line['latex']}    {line['words']}")
    say("")
    say(f"from its nearest relative, {result['nearest']}:")
    tabulate(result["differences"], ("setting", "what", "here", result["nearest"]))
    if result["departures"]:
        say("")
        say("departs from the paper, or chooses what it leaves open, in:")
    for each in result["departures"]:
        follow = f" (as the paper: --set {each['instead']})" if each["instead"] else ""
        say(f"- {each['what']}: {each['paper'] or 'not stated'}. Here {each['here']}: {each['why']}{follow}")
    say(f"Train it: sentiscope train --model {result['name']}")


if __name__ == "__main__":
    main()
