"""`sentiscope predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Run, emit, tabulate


def predict(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help="Texts to classify.")] = None,
    file: Annotated[Path | None, typer.Option(help="A text per line, or a table with a column `text`.")] = None,
    as_json: Json = False,
) -> None:
    """Class and probabilities of texts, in order."""
    emit(verbs.predict(run, texts or [], file=file), as_json, _show_predictions)


def _show_predictions(result: dict[str, Any]) -> None:
    if result["task"] == "multi":
        tabulate(
            [{**each, "labels": verbs.answer_line(each)} for each in result["predictions"]], ("row", "labels", "text")
        )
        return
    rows = [{**each, "probability": f"{each['probabilities'][each['label']]:.3f}"} for each in result["predictions"]]
    tabulate(rows, ("row", "label", "probability", "text"))
