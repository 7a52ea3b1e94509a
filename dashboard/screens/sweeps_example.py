"""A finished example sweep, stored in `assets/`, that the Sweeps page shows to users without a sweep.

It is made by the command that is in it, and then `python -m dashboard.screens.sweeps_example NAME`.
"""

import dataclasses
import datetime
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from core.runs import sweep
from core.runs.store import RunStore
from core.runs.sweep_table import build_table
from dashboard.figures.sweeps import CellScores, build_table_frame, list_chart_cells, write_command

FILE = Path(__file__).parent.parent / "assets" / "example_sweep.json"


class ExampleSweep(NamedTuple):
    """A stored example sweep: command, date, first metric, scores per cell, and table of runs."""

    command: str
    made: str
    metric: str
    """Title of the first metric, that of `cells`."""
    cells: list[CellScores]
    rows: pd.DataFrame


def read_example() -> ExampleSweep:
    """Read the example sweep stored in the package."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    lists = ("values", "runs")
    cells = [CellScores(**cell | {name: tuple(cell[name]) for name in lists}) for cell in kept["cells"]]
    return ExampleSweep(kept["command"], kept["made"], kept["metric"], cells, pd.DataFrame(kept["rows"]))


def make_example(store: RunStore, name: str) -> None:
    """Store the results of a finished sweep as the example sweep of the Sweeps page."""
    plan = sweep.read(store, name)
    whole = build_table(store, plan)
    first = whole["metrics"][0]
    found = {
        "command": write_command(plan),
        "made": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "metric": first["title"],
        "cells": [dataclasses.asdict(cell) for cell in list_chart_cells(whole, first["name"])],
        "rows": build_table_frame(whole).to_dict("records"),
    }
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_example(RunStore(), sys.argv[1])
