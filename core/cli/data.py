"""`sentiscope data …`."""

from __future__ import annotations

from typing import Annotated

import typer

from core import verbs
from core.cli.printing import Json, Set, emit, show_tree, tabulate
from core.config import parse_settings
from core.exceptions import InputError

app = typer.Typer(no_args_is_help=True, help="Data sets: list, card, check.")


@app.command("list")
def data_list(as_json: Json = False) -> None:
    """The data sets that have a name."""
    emit(verbs.data_list(), as_json, lambda r: tabulate(r["data"], ("name", "title", "classes", "checked")))


@app.command("card")
def data_card(
    data: Annotated[str, typer.Argument(metavar="NAME|PATH")],
    settings: Set = None,
    yardstick: Annotated[bool, typer.Option(help="Also fit TF-IDF with logistic regression.")] = True,
    as_json: Json = False,
) -> None:
    """Rows, classes, lengths, vocabulary, duplicates, licence, TF-IDF yardstick of a data set."""
    emit(verbs.data_card(data, parse_settings(settings or []), yardstick=yardstick), as_json, show_tree)


@app.command("check")
def data_check(
    data: Annotated[str, typer.Argument(metavar="NAME|PATH")], settings: Set = None, as_json: Json = False
) -> None:
    """What is found in a file or folder: encoding, columns, labels, everything left out."""
    result = verbs.data_check(data, parse_settings(settings or []))
    emit(result, as_json, show_tree)
    if not result["ok"]:
        raise InputError(result["problem"])
