"""`sentiscope predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Edit, Json, Pair, Run, Set, emit, say, say_edit, tabulate, teller
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
    file: Annotated[
        Path | None, typer.Option(help="A text per line (.txt), or a table: CSV, TSV, JSON Lines, XLSX, Parquet.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Write the file with the predictions joined: .csv, .jsonl or .parquet."),
    ] = None,
    settings: Set = None,
    edit: Edit = "",
    as_json: Json = False,
) -> None:
    """Class and probabilities of texts, in order; --set data.text=COLUMN where the guess is wrong."""
    chosen = parse_settings(settings or [])
    found = verbs.predict(
        run, texts or [], pair=pair, file=file, to=to, settings=chosen, edit=edit, on_progress=teller()
    )
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


def _show_predictions(result: dict[str, Any]) -> None:
    if result["task"] == "tokens":
        show_tags(result)
        return
    say_edit(result)
    _show_unknown(result.get("predictions", []))
    if "to" in result:
        say(f"{count(result['rows'])} texts of the column '{result['text']}' classified into {result['to']}")
    elif result["task"] == "multi":
        tabulate(
            [{**each, "labels": verbs.answer_line(each)} for each in result["predictions"]], ("row", "labels", "text")
        )
    else:
        shown = ({**each, "chance": each["probabilities"][each["label"]]} for each in result["predictions"])
        rows = [{**each, "probability": f"{each['chance']:.3f}"} for each in shown]
        tabulate(rows, ("row", "label", "probability", "text"))
