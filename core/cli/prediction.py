"""`sentiscope predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Edit, Json, Pair, Passage, Run, Set, emit, say, say_edit, tabulate, teller
from core.cli.tagged import show_tags
from core.config import parse_settings
from core.data.findings import plural
from core.interpret.unknown import mostly_unknown, unknown_note
from core.numbers import count

NAMED = 10
"""Rows with many unknown words that are named."""


def predict(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help="Texts to classify.")] = None,
    pair: Pair = None,
    data: Annotated[
        Path | None, typer.Option(help="A text per line (.txt), or a table: CSV, TSV, JSON Lines, XLSX, Parquet.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Write the file with the predictions joined: .csv, .jsonl or .parquet."),
    ] = None,
    settings: Set = None,
    edit: Edit = "",
    passage: Passage = 0,
    as_json: Json = False,
) -> None:
    """Class and probabilities of texts, in order; --set data.text=COLUMN where the guess is wrong."""
    chosen = parse_settings(settings or [])
    given: dict[str, Any] = {"pair": pair, "file": data, "to": to, "settings": chosen, "edit": edit, "passage": passage}
    found = verbs.predict(run, texts or [], **given, on_progress=teller())
    emit(found, as_json, _show_predictions)


def _show_unknown(predictions: list[dict[str, Any]]) -> None:
    """Before the answers: which of them rest on few words."""
    found = [each for each in predictions if mostly_unknown(each["unknown"])]
    if len(predictions) == 1:
        for each in found:
            say(unknown_note(each["unknown"]))
    elif found:
        rows = ", ".join(count(each["row"]) for each in found[:NAMED]) + (" …" if len(found) > NAMED else "")
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        say(f"Half of the words or more are unknown to the run in {many}: rows {rows}")


def _show_cut(predictions: list[dict[str, Any]]) -> None:
    """Say which answers rest on the beginning of their text only."""
    if found := [each for each in predictions if each["cut"]]:
        rows = ", ".join(count(each["row"]) for each in found[:NAMED]) + (" …" if len(found) > NAMED else "")
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        where = f"row{'s' if len(found) > 1 else ''} {rows}"
        say(f"Only the beginning of {many} was read ({where}); 'read' and 'cut' count tokens")


def _show_predictions(result: dict[str, Any]) -> None:
    if result["task"] == "tokens":
        _show_cut(result.get("predictions", []))
        show_tags(result)
        return
    say_edit(result)
    for note in result.get("notes", ()):
        say(f"Note: {note}.")
    _show_unknown(result.get("predictions", []))
    _show_cut(result.get("predictions", []))
    for warning in result.get("differences", {}).get("warnings", ()):
        say(warning, head="Warning: ")
    if "to" in result:
        say(f"{count(result['rows'])} texts of the column '{result['text']}' classified into {result['to']}")
    elif result["task"] == "multi":
        rows = _with_passages(result["predictions"])
        tabulate(
            [{**each, "labels": verbs.answer_line(each)} for each in rows], ("row", "labels", "read", "cut", "text")
        )
    else:
        shown = _with_passages(result["predictions"])
        rows = [{**each, "probability": f"{each['probabilities'][each['label']]:.3f}"} for each in shown]
        tabulate(rows, ("row", "label", "probability", "read", "cut", "text"))


def _with_passages(predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each with its passages behind it, where it has more than one: row 3, then 3.0, 3.1."""
    found = []
    for each in predictions:
        own = each.get("passages", [])
        found.append(each)
        found += [{**part, "row": f"{each['row']}.{part['row']}"} for part in own] if len(own) > 1 else []
    return found
