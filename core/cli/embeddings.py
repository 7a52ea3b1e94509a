"""`sentiscope project` and `groups`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.data.findings import plural
from core.numbers import count


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


def groups(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    csv: Annotated[Path | None, typer.Option(help="Also write the rows, each with its group, to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Groups of sentences that are close in the model's space, named by the words that mark them."""
    emit(verbs.groups(run, split=split, csv=csv), as_json, _show_groups)


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
