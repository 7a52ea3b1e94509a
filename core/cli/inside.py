"""`sentiscope inspect`, `project` and `figures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, pairs, say, tabulate, teller
from core.data.findings import plural

WITHOUT = "--without: write word=piece, e.g. unwatchable=<unw"
OPTIONS = "--with: write name=value, e.g. threshold=0.7"


def inspect(
    run: Run,
    text: Annotated[str, typer.Argument(help="One text.")],
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD=PIECE", help="Silence a piece of a word, where the model reads pieces; repeat."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page with every map.")] = None,
    as_json: Json = False,
) -> None:
    """Tokens, prediction and every attention map of one text."""
    pieces = tuple(pairs(without or [], WITHOUT).items())
    emit(verbs.inspect(run, text, without=pieces, html=html), as_json, _show_inside)


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
    made = verbs.project(
        run, split=split, method=method, dimensions=dimensions, rows=rows, seed=seed, on_progress=teller()
    )
    emit(made, as_json, _show_map)


def figures(
    run: Run,
    to: Annotated[Path, typer.Option(help="The folder for the files; created if it does not exist.")],
    against: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Another run, for the figures of Compare; repeat for more.")
    ] = None,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    only: Annotated[str, typer.Option(metavar="NAME,…", help="Names of figures; default: all that there are.")] = "",
    text: Annotated[str, typer.Option(help="A sentence to look into, for `grid` and `coefficients`.")] = "",
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="As a link of the pages has it, e.g. threshold=0.7; repeat."),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also write their numbers as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Every figure of the pages as an HTML file that opens without a network; a single one is whole by itself."""
    names = [name.strip() for name in only.split(",") if name.strip()]
    about: dict[str, Any] = {"against": against or [], "split": split, "text": text, "theme": theme}
    made = verbs.figures(run, to, only=names, options=pairs(with_ or [], OPTIONS), csv=csv, **about)
    emit(made, as_json, _show_figures)


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
    if result["note"]:
        say(result["note"])
    say(verbs.answer_line(prediction))
    say("tokens: " + " | ".join(result["tokens"]))
    for token, unknown, pieces in zip(result["tokens"], result["unknown"], result["pieces"] or (), strict=False):
        if unknown:
            say(f"{token} is not in the vocabulary, its pieces: {' '.join(pieces)}")
    for number, layer in enumerate(result["layers"], start=1):
        components, heads = len(layer["components"]), len(layer["combined"])
        maps = "--json or --html F shows the maps" if any(layer["combined"][0]) else "no maps of this text"
        say(f"layer {number}: {plural(components, 'component')} x {plural(heads, 'head')}; {maps}")
