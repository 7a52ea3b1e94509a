"""`sentiscope backbones …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, emit, say, tabulate
from core.exceptions import InputError
from core.numbers import count
from core.runs.backbones import FOLDER, getting, size_in_words

app = typer.Typer(no_args_is_help=True, help="Pretrained encoders on this machine: list, check.")


@app.command("list")
def backbones_list(as_json: Json = False) -> None:
    """The pretrained encoders that are found by name, and the papers' own with their recipes."""
    emit(verbs.backbones_list(), as_json, _show_list)


@app.command("check")
def backbones_check(
    name: Annotated[str, typer.Argument(metavar="NAME|PATH", help="As --set model.backbone, or a recipe.")],
    as_json: Json = False,
) -> None:
    """Whether one can be used: its files, its sizes, the SHA-256 of its weights."""
    result = verbs.backbones_check(name)
    emit(result, as_json, _show_check)
    if not result["ok"]:
        raise InputError(result["problem"])


def _show_list(result: dict[str, Any]) -> None:
    rows = [
        {
            "name": each["name"],
            "kind": each.get("kind", ""),
            "layers": each.get("layers", ""),
            "width": each.get("width", ""),
            "weights": size_in_words(each["bytes"]) if each["ok"] else each["problem"],
        }
        for each in result["backbones"]
    ]
    if rows:
        tabulate(rows, ("name", "kind", "layers", "width", "weights"))
    else:
        own = result["folder"] or "not set"
        say(f"None found in {FOLDER} ({own}) and the hub's cache ({result['hub_cache']}): {getting('OWNER/NAME')}.")
    say("The papers' own, fine-tuned as they say (sentiscope train --model pretrained --recipe NAME):")
    states = [{**each, "state": _state(each)} for each in result["recipes"]]
    tabulate(states, ("recipe", "backbone", "state"))
    say("`sentiscope backbones check RECIPE` says what one lacks and how to get it, --json where each setting stands.")


def _state(recipe: dict[str, Any]) -> str:
    """Of a paper's backbone, in a word or the file that it lacks."""
    if recipe["ok"]:
        return f"in {recipe['folder']}"
    return f"lacks {recipe['lacks']}" if recipe["folder"] else "not here"


def _show_check(result: dict[str, Any]) -> None:
    if not result["ok"]:
        return
    say(
        f" can be used: {result['kind']}, {result['layers']} layers of {result['heads']} heads, width "
        f"{count(result['width'])}, {count(result['vocabulary'])} tokens, texts up to {count(result['longest'])}.",
        head=result["name"],
    )
    for file, digest in result["digests"].items():
        say(f"{file}: SHA-256 {digest}")
    say(f"{result['folder']}, {size_in_words(result['bytes'])}")
    say(f"Train it: sentiscope train --model pretrained --set model.backbone={result['name']}")
