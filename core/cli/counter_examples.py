"""`sentiscope counter-examples …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Pair, both, emit, say, tabulate
from core.data.findings import plural

app = typer.Typer(no_args_is_help=True, help="Sentences that a model gets wrong: list, keep, rm, export.")
Author = Annotated[str, typer.Option(help="Who does so; default: nobody's name.")]


@app.command("list")
def counter_examples_list(
    run: Annotated[str, typer.Option(help="A run that is asked what it says of them today.")] = "",
    as_json: Json = False,
) -> None:
    """All that are kept, the last first."""
    emit(verbs.counter_examples_list(run=run), as_json, _show)


@app.command("keep")
def counter_examples_keep(
    text: Annotated[str, typer.Argument(help="The sentence.")],
    label: Annotated[
        list[str],
        typer.Option(help="The class that it ought to have; of several labels repeat, for none: 'none of them'."),
    ],
    pair: Pair = None,
    note: Annotated[str, typer.Option(help="What is wrong.")] = "",
    author: Author = "",
    link: Annotated[str, typer.Option(help="Where it was found.")] = "",
    run: Annotated[str, typer.Option(help="A run that has the class.")] = "",
    as_json: Json = False,
) -> None:
    """Keep a sentence with the label that it ought to have."""
    given: dict[str, Any] = {"note": note, "author": author, "link": link, "run": run}
    kept = verbs.counter_examples_keep(both(text, pair), label[0] if len(label) == 1 else label, **given)
    emit(kept, as_json, lambda r: say(f"{_ought(r)}: {r['text']}"))


@app.command("rm")
def counter_examples_remove(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")],
    author: Author = "",
    as_json: Json = False,
) -> None:
    """Take one out of the list."""
    emit(verbs.counter_examples_remove(id, author=author), as_json, lambda r: say(f"{r['id']} is gone."))


@app.command("export")
def counter_examples_export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV.")], as_json: Json = False
) -> None:
    """Write all to a file that can be trained on."""
    result = verbs.counter_examples_export(file)
    emit(result, as_json, lambda r: say(f"{plural(r['rows'], 'counter-example')} in {r['file']}."))


def _ought(row: dict[str, Any]) -> str:
    """What it ought to be, in words."""
    from core.evaluation.multilabel import NOTHING

    return ", ".join(row["labels"]) or NOTHING


def _show(result: dict[str, Any]) -> None:
    rows = result["counter_examples"]
    if not rows:
        say("None are kept yet: `sentiscope counter-examples keep TEXT --label CLASS`.")
        return
    if "run" in result:
        rows = [{**row, "says": row["said"], "p": decimals(row["p_label"])} for row in rows]
        known = [row for row in rows if row["breaks"] is not None]
        wrong = sum(row["breaks"] for row in known)
        say(f"{result['run']} is wrong on {wrong} of the {len(known)} whose class it has.")
    says = ("says", "p") if "run" in result else ()
    rows = [{**row, "label": _ought(row)} for row in rows]
    tabulate(rows, ("id", "label", *says, "text", "note", "author"), "id")
    say(f"{plural(len(rows), 'counter-example')}; `sentiscope train --add counter-examples` trains with them.")
