"""`sentiscope shift`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.numbers import count, signed

SHOWN = 15
"""Words of either side on a terminal."""


def shift(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    as_json: Json = False,
) -> None:
    """Whether the texts of a split are like those of training: words, lengths, classes."""
    emit(verbs.shift(run, split=split, on_progress=teller()), as_json, _show)


def _show(result: dict[str, Any]) -> None:
    split, n = result["split"], result["n"]
    beside = f"{count(n['split'])} texts of {split} beside {count(n['training'])} of training"
    say(f"{result['run']} on {result['data']}: {beside}.")
    if result["left_out"]:
        say(f"{result['left_out']}.")
        return
    auc = result["auc"]
    low, high = auc["interval"]
    tells = "tells them apart" if low > 0.5 else "cannot tell them apart"
    say(f"TF-IDF {tells}: AUC {auc['value']:.3f} ({low:.3f} to {high:.3f}), p {_chance(auc['p'])}.")
    measured = [(row["name"], row, row["p"]) for row in result["measures"]]
    measured += [(f"share of {row['class']}", row, row["p_holm"]) for row in result["balance"]]
    rows = [
        {
            "measure": name,
            "training": decimals(row["training"]),
            split: decimals(row["split"]),
            "difference": signed(row["difference"], 3),
            "interval": "{} to {}".format(*(signed(end, 3) for end in row["interval"])),
            "p": _chance(p),
        }
        for name, row, p in measured
    ]
    tabulate(rows, tuple(rows[0]), "measure")
    for where, more in ((split, True), ("training", False)):
        found = [row for row in result["words"] if (row["log_odds"] > 0) is more][:SHOWN]
        said = ", ".join(f"{row['words']} ({row['split']} : {row['training']})" for row in found)
        say(f"{said or 'none'}.", head=f"More often in {where}, of {count(result['tried'])} tried: ")


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else decimals(p)
