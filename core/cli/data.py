"""`sentiscope data …`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Set, emit, say, show_tree, tabulate
from core.config import parse_settings
from core.data.findings import plural
from core.exceptions import InputError
from core.numbers import count

app = typer.Typer(no_args_is_help=True, help="Data sets: list, card, check.")


@app.command("list")
def data_list(as_json: Json = False) -> None:
    """The data sets that have a name: which can be opened here, and how the others come here."""
    emit(verbs.data_list(), as_json, _show_list)


def _show_list(result: dict[str, Any]) -> None:
    tabulate(result["data"], ("name", "title", "classes", "state", "checked"))
    for each in result["data"]:
        if each["published"] and each["lacking"]:
            say(f"{each['name']}: {each['lacking']}")


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
    data: Annotated[str, typer.Argument(metavar="NAME|PATH")],
    start: Annotated[
        str, typer.Option("--from", metavar="RUN", help="Count the rows that this run has learned from.")
    ] = "",
    settings: Set = None,
    as_json: Json = False,
) -> None:
    """What is found in a file or folder: encoding, columns, labels, everything left out."""
    result = verbs.data_check(data, parse_settings(settings or []), start=start)
    emit(result, as_json, _show_check)
    if not result["ok"]:
        raise InputError(result["problem"])


def _show_check(result: dict[str, Any]) -> None:
    """A sentence for everything that is known; the problem itself follows as the error."""
    for file in result["files"]:
        _show_file(file, result["problem"])
    if not result["ok"]:
        return
    if not result["files"]:
        _show_decisions(result["decisions"])
    splits = ", ".join(f"{name} {count(rows)}" for name, rows in result["splits"].items())
    say(f"{result['data']} can be used: {plural(len(result['classes']), 'class')}; rows: {splits}.")
    known = {found["message"] for file in result["files"] for found in file.get("findings", ())}
    for note in result["notes"]:
        if note not in known:
            say(f"Note: {note}.")
    for each in result["differences"]:
        for warning in each["warnings"]:
            say(warning, head="Warning: ")


def _show_decisions(decisions: Sequence[Mapping[str, Any]]) -> None:
    for each in decisions:
        if each["alternatives"]:
            others, how = ", ".join(each["alternatives"][:4]), "guessed" if each["guessed"] else "found"
            proof = f" As read: {each['proof']}" if each["guessed"] else ""
            of = f" of {each['file']}" if each["file"] else ""
            chosen = f"{each['what'].capitalize()}{of} {how}: {each['chosen']}"
            say(f"{chosen}; or set {each['setting']} to {others}.{proof}")


def _show_file(file: Mapping[str, Any], problem: str) -> None:
    if file.get("kind"):
        written = ", ".join(
            each for each in (file["encoding"], file["delimiter"] and f"columns divided by {file['delimiter']}") if each
        )
        shape = f"{plural(file['rows'], 'row')} of {plural(len(file['columns']), 'column')}"
        part = f", '{file['sheet']}' of {plural(len(file['sheets']), 'table')}" if len(file["sheets"]) > 1 else ""
        say(f"{file['file']}: {file['kind']}{f' ({written})' if written else ''}{part}, {shape}.")
        names = [each["name"] for each in file["columns"]]
        numbered = " (numbered, since no row names them)" if names == list(map(str, range(len(names)))) else ""
        say(f"Columns{' (named by the first row)' if file['header'] else numbered}: {', '.join(names)}.")
        if file["text"] and file["pair"]:
            say(f"The pairs are in '{file['text']}' and '{file['pair']}', the labels in '{file['label']}'.")
        elif file["text"]:
            say(f"The texts are in '{file['text']}', the labels in '{file['label']}'.")
        if file["classes"]:
            say(
                "Classes: "
                + ", ".join(f"{name} ({plural(rows, 'row')})" for name, rows in file["classes"].items())
                + "."
            )
        _show_decisions(file["decisions"])
        for found in file["findings"]:
            say(f"{found['level'].capitalize()}: {found['message']}.")
    elif file.get("sheets"):
        say(f"{file['file']}: '{file['sheet']}' of the tables {', '.join(file['sheets'])}; data.sheet names another.")
    if file["problem"] and file["problem"] != problem:  # that one follows as the error
        say(f"{file['problem']}.")
