"""`sentiscope errors`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.data.findings import plural
from core.metrics import named, title
from core.numbers import count, signed

SHOWN = 20
"""Rows on a terminal,"""
MARKS, WORDS = 8, 15
"""columns and tags that mark a selection, and words."""


def errors(  # noqa: PLR0913 - each is an option that a person types by name
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLAUSE",
            help="wrong (default), right, all; truth=, said=, margin<0.2, p_said=0.5..0.9, word=not good, text~not (a "
            "piece), COLUMN=VALUE, date>=2026-03, tag=, code=, coded, uncoded, noted, unnoted. Repeat: all "
            "must hold.",
        ),
    ] = None,
    tags: Annotated[bool, typer.Option("--tags", help="Tags of the texts, with the risk of an error of each.")] = False,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A further run, for the tag of what it says otherwise; repeat."),
    ] = None,
    label_errors: Annotated[
        bool,
        typer.Option("--label-errors", help="Labels that are likely wrong, in training and in the split."),
    ] = False,
    unsure: Annotated[
        bool,
        typer.Option("--unsure", help="First read the texts 20 times with dropout left on, for its tag."),
    ] = False,
    slice: Annotated[str, typer.Option(metavar="NAME", help="A slice, see sentiscope slices.")] = "",
    order: Annotated[
        str, typer.Option(help="Of the rows: file, sure, wrong (surest wrong first), margin (lowest first), unsure.")
    ] = "file",
    label_csv: Annotated[
        Path | None, typer.Option(help="Also write the rows whose labels are doubted to this file.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the selected rows to this file.")] = None,
    as_json: Json = False,
) -> None:
    """What a run gets wrong: its predictions row by row, selected by rules."""
    given: dict[str, Any] = {"tags": tags, "against": against or (), "csv": csv, "on_progress": teller()}
    given |= {"label_errors": label_csv or label_errors, "slice": slice, "unsure": unsure, "order": order}
    emit(verbs.errors(run, split=split, where=where or (), **given), as_json, _show)


def slices(
    run: Run,
    save: Annotated[str, typer.Option(metavar="NAME", help="Keep what --where selects under this name.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="CLAUSE", help="As of errors; default: wrong. Repeat: all must hold."),
    ] = None,
    rename: Annotated[
        tuple[str, str], typer.Option(metavar="NAME NEW", help="Give the slice of this name another one.")
    ] = ("", ""),
    remove: Annotated[str, typer.Option("--rm", metavar="NAME", help="Forget the slice of this name.")] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    as_json: Json = False,
) -> None:
    """Selections with a name, of all runs on the same data; how good the run is there."""
    changes: dict[str, Any] = {"save": save, "rename": rename, "remove": remove}
    emit(verbs.slices(run, where=where or (), split=split, **changes), as_json, _show_slices)


def _show_slices(result: dict[str, Any]) -> None:
    if not result["slices"]:
        say(f"No slice of {result['data']} yet; --save NAME --where CLAUSE keeps one.")
        return
    rows = [
        {
            "slice": each["name"],
            "split": each["split"],
            "rows": "" if each["n"] is None else count(each["n"]),
            "errors": "" if each["rate"] is None else f"{100 * each['rate']:.1f} %",
            "interval": "" if each["rate"] is None else "{:.1f} to {:.1f}".format(*(100 * p for p in each["interval"])),
            "− others": "" if each["difference"] is None else f"{100 * each['difference']:+.1f}",
            **_macro(each),
            "selects": each["said"],
        }
        for each in result["slices"]
    ]
    columns = dict.fromkeys(name for row in rows for name in row if name != "selects")
    tabulate(rows, (*columns, "selects"), "slice")
    for each in result["slices"]:
        if each["problem"]:
            say(f"{each['problem']}.", head=f"{each['name']}: ")
        elif each["lacks"]:
            say(each["lacks"], head=f"{each['name']}: ")
    say("--json has precision, recall and F1 of each class.")


def _macro(each: dict[str, Any]) -> dict[str, str]:
    """The macro F1 of a slice with its interval, under its title."""
    found = {}
    for name, value in each["metrics"].items():
        if named(name).name == "f1_macro" and value is not None:
            ends = " to ".join(map(decimals, each["intervals"][name] or ()))
            found[title(name)] = f"{decimals(value)}{ends and f' ({ends})'}"
    return found


def _show(result: dict[str, Any]) -> None:
    low, high = result["interval"]
    wrong = f"{plural(result['wrong'], 'error')}, {100 * result['rate']:.1f} %"
    say(f"{result['run']} on {result['data']}, {result['split']}: {wrong} ({100 * low:.1f} to {100 * high:.1f} %).")
    say(result["said"])
    if "tags" in result:
        _show_tags(result)
        _show_marks(result)
    rows = [
        {**row, "p said": decimals(row["p_said"]), "margin": decimals(row["margin"])} for row in result["rows"][:SHOWN]
    ]
    if rows:
        tabulate(rows, ("key", "truth", "said", "p said", "margin", "text"), "key")
    if len(result["rows"]) > SHOWN:
        say(f"The first {SHOWN} of {plural(len(result['rows']), 'row')}; --csv FILE and --json have all.")
    if "label_errors" in result:
        _show_labels(result["label_errors"])


def _show_labels(result: dict[str, Any]) -> None:
    """The most doubtful labels, and texts with two."""
    if result["left_out"]:
        say(f"{result['left_out']}.", head="No label is doubted: ")
    else:
        of = ", ".join(f"{count(result['likely'][split])} of {count(n)} in {split}" for split, n in result["n"].items())
        say(f"{of}.", head="Labels that are likely wrong: ")
    rows = [{**row, "p truth": decimals(row["p_truth"])} for row in result["rows"][:SHOWN]]
    if rows:
        tabulate(rows, ("split", "key", "truth", "likelier", "p truth", "text"), "key")
    if len(result["rows"]) > SHOWN:
        say(f"The first {SHOWN} of {count(len(result['rows']))} of which another label is likelier; --json has all.")
    for each in result["conflicts"][:MARKS]:
        labels = ", ".join(f"{name} {number}" for name, number in each["labels"].items())
        say(f"{each['text']} ({labels})", head="One text, several labels: ")
    if len(result["conflicts"]) > MARKS:
        say(f"The first {MARKS} of {plural(len(result['conflicts']), 'such text')}; --json has all.")


def _show_tags(result: dict[str, Any]) -> None:
    """By excess errors; a tag that no text has is only named."""
    rows = [{"tag": each["tag"], **_risk(each)} for each in result["tags"] if each["n"]]
    tabulate(rows, tuple(rows[0]) if rows else (), "tag")
    values = [{"value": each["rule"], **_risk(each)} for each in result["values"][:MARKS]]
    if values:
        tabulate(values, tuple(values[0]), "value")
    for each in result["slices"][:MARKS]:
        more = "" if each["ratio"] is None else f", {each['ratio']:.1f} times as often as the rest"
        say(f"{each['said']}: {count(each['wrong'])} of {count(each['n'])}{more}.", head="Goes wrong more often: ")
    if nowhere := [each["tag"] for each in result["tags"] if not each["n"]]:
        say(f"No text has: {', '.join(nowhere)}.")
    for why in dict.fromkeys(result["absent"].values()):
        names = ", ".join(name for name, each in result["absent"].items() if each == why)
        say(f"{why}.", head=f"No {names}: ")


def _risk(row: dict[str, Any]) -> dict[str, str]:
    return {
        "rows": count(row["n"]),
        "selected": count(row["selected"]),
        "errors": f"{100 * row['rate']:.1f} %",
        "excess": "" if row["excess"] is None else signed(row["excess"], 1),
        "risk ratio": "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        "interval": _ends(row["ratio_interval"]),
        "p (Holm)": _chance(row["p_holm"]),
    }


def _show_marks(result: dict[str, Any]) -> None:
    """What the selection has more than the rest."""
    rows = [
        {
            "marks the selection": each["name"],
            "V": f"{each['v']:.2f}",
            "value": each["value"],
            "selected": f"{100 * each['share']:.0f} %",
            "the rest": f"{100 * each['rest_share']:.0f} %",
            "p (Holm)": _chance(each["p_holm"]),
        }
        for each in result["marks"][:MARKS]
    ]
    if rows:
        tabulate(rows, tuple(rows[0]), "marks the selection")
    words = [f"{each['words']} ({each['selected']} : {each['rest']})" for each in result["words"][:WORDS]]
    if words:
        say(f"{', '.join(words)}.", head="More often than in the rest (sentences here : elsewhere): ")


def _ends(interval: list[float | None] | None) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f"{low:.2f} and more" if high is None else f"{low:.2f} to {high:.2f}"


def _chance(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else decimals(p)
