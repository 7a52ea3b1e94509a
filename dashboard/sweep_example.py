"""A finished sweep to look at where none has been planned yet, as its page shows it; kept in `assets/`.

Made anew by the command that stands in it, and then `python -m dashboard.sweep_example example`.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from core.runs import sweep
from core.runs.store import RunStore
from core.runs.sweep_table import table
from dashboard.figures.sweeps import CellScores, chart_cells, command_line, table_frame

FILE = Path(__file__).parent / "assets" / "example_sweep.json"


class Example(NamedTuple):
    """What the page of a sweep draws."""

    command: str
    """As a person types it."""
    made: str
    """The day, as an ISO date."""
    metric: str
    """Title of the first metric, that of `cells`."""
    cells: list[CellScores]
    rows: pd.DataFrame


def read() -> Example:
    """The kept one."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    cells = [
        CellScores(**{**cell, "values": tuple(cell["values"]), "runs": tuple(cell["runs"])}) for cell in kept["cells"]
    ]
    return Example(kept["command"], kept["made"], kept["metric"], cells, pd.DataFrame(kept["rows"]))


def make(store: RunStore, name: str) -> None:
    """Keep a finished sweep as the example.

    Raises:
        RunNotFound, RunDamaged: there is no such sweep, or it cannot be read.
    """
    plan = sweep.read(store, name)
    whole = table(store, plan)
    first = whole["metrics"][0]
    found = {
        "command": command_line(plan),
        "made": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "metric": first["title"],
        "cells": [dataclasses.asdict(cell) for cell in chart_cells(whole, first["name"])],
        "rows": table_frame(whole).to_dict("records"),
    }
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(RunStore(), sys.argv[1])
