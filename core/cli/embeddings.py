"""`sentiscope project`, `groups`, `layers` and `neighbours`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.data.findings import plural
from core.numbers import count

SPACES = "embedding, layer 1, …, of a model that has layers; default: what its head reads."


def project(
    run: Run,
    split: Annotated[str, typer.Option(help="Whose embeddings; the splits that the run was evaluated on.")] = "test",
    method: Annotated[str, typer.Option(help="tsne, umap or pca.")] = "tsne",
    dimensions: Annotated[int, typer.Option(help="2 or 3.")] = 2,
    limit: Annotated[int, typer.Option(help="Sentences placed, a stratified sample of more; PCA places all.")] = 3000,
    seed: Annotated[int, typer.Option(help="Of the sample and of the map.")] = 0,
    space: Annotated[str, typer.Option(help=SPACES)] = "",
    as_json: Json = False,
) -> None:
    """A map of a split's embeddings, kept in the run for the dashboard, and how far it can be believed."""
    given: dict[str, Any] = {"rows": limit, "seed": seed, "space": space, "on_progress": teller()}
    made = verbs.project(run, split=split, method=method, dimensions=dimensions, **given)
    emit(made, as_json, _show_map)


def groups(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    csv: Annotated[Path | None, typer.Option(help="Also write the rows, each with its group, to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Groups of sentences that are close in embedding space, named by the words that mark them."""
    emit(verbs.groups(run, split=split, csv=csv), as_json, _show_groups)


def layers(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    as_json: Json = False,
) -> None:
    """How clearly the classes lie apart layer by layer: silhouette, and purity of neighbourhoods."""
    emit(verbs.layers(run, split=split, on_progress=teller()), as_json, _show_layers)


def neighbours(
    run: Run,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Any sentence.")] = "",
    key: Annotated[str, typer.Option(help="In place of a text: a row of the split, see sentiscope errors.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="CLAUSE", help="In place of both: rows, as of errors; of these the nearest of training."),
    ] = None,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    space: Annotated[str, typer.Option(help=SPACES)] = "",
    most: Annotated[int, typer.Option(help="Sentences.")] = 10,
    as_json: Json = False,
) -> None:
    """The sentences that are nearest to one, or to a selection, in embedding space."""
    given: dict[str, Any] = {"space": space, "where": where or (), "most": most, "on_progress": teller()}
    emit(verbs.neighbours(run, text, key=key, split=split, **given), as_json, _show_neighbours)


def _show_layers(result: dict[str, Any]) -> None:
    of = "" if result["n"] == result["of"] else f" of {count(result['of'])}"
    say(f"{result['run']} on {result['split']}, n = {count(result['n'])}{of}, {result['neighbours']} neighbours")
    rows = [
        {"stage": each["name"], **{name: decimals(each[name]) for name in ("silhouette", "purity")}}
        for each in result["stages"]
    ]
    tabulate(rows, ("stage", "silhouette", "purity"), "stage")
    say(f"{decimals(result['chance'])}.", head="Purity of neighbours drawn at random: ")
    if result["reason"]:
        say(f"{result['reason']}.", head="No silhouette: ")


def _show_neighbours(result: dict[str, Any]) -> None:
    if "said_share" in result:
        _show_common(result)
        return
    say(f"{result['text']}", head=f"Nearest on {result['split']}, {result['space']}: ")
    rows = [{**each, "distance": decimals(each["distance"])} for each in result["neighbours"]]
    tabulate(rows, ("key", "distance", "truth", "said", "text"), "key")


def _show_common(result: dict[str, Any]) -> None:
    """Those of training that are near to most of a selection."""
    of = f"{plural(result['n'], 'sentence')} of {result['split']} ({result['said']})"
    say(f"{of}, among {count(result['among'])}.", head="Nearest in training to ")
    shares = (f"{100 * result[name]:.0f} %" for name in ("true_share", "said_share"))
    say("Of the {} nearest of each, {} have its true label, {} what the run says.".format(result["each"], *shares))
    rows = [
        {**each, "near to": count(each["near"]), "cosine": decimals(each["likeness"])} for each in result["neighbours"]
    ]
    tabulate(rows, ("near to", "cosine", "label", "text"), "text")


def _show_groups(result: dict[str, Any]) -> None:
    if result["reason"]:
        say(f"{result['reason']}.", head="No groups: ")
        return
    none = result["none"]
    found = f"{plural(len(result['groups']), 'group')} of {count(result['least'])} sentences or more"
    say(f"{result['run']} on {result['split']}: {found}; {count(none['n'])} of {count(result['looked_at'])} in none.")
    rows = [_group_row(each["name"], each) for each in result["groups"]] + [_group_row("no group", none)]
    tabulate(rows, tuple(rows[0]), "group")


def _group_row(name: str, each: dict[str, Any]) -> dict[str, Any]:
    low, high = each["interval"]
    interval = f"{100 * low:.1f} to {100 * high:.1f}" if each["n"] else ""
    rate = f"{100 * each['rate']:.1f} %" if each["n"] else ""
    return {"group": name, "sentences": count(each["n"]), "errors": rate, "interval": interval}


def _show_map(result: dict[str, Any]) -> None:
    what = f"{result['method']}, {result['dimensions']}-D, {result['split']}, n = {result['n']}"
    say(f"{what}{'' if result['computed'] else ' (was there)'}: {result['file']}")
    quality = {key: value for key, value in result["quality"].items() if isinstance(value, float)}
    tabulate([{"quality": key, "value": decimals(value)} for key, value in quality.items()], ("quality", "value"))
    if reason := result["quality"]["reason"]:
        say(f"no silhouette: {reason}")
