"""`python tests/fuzz --seconds 150 --seed 3 [--area loaders | --case loaders-3-17]`: what so many odd cases come to."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

from fuzzing import Outcome, drive, try_one

AREAS = ("loaders", "archives", "records", "settings")


def run(areas: tuple[str, ...], seconds: float, seed: int, keep: Path) -> list[Outcome]:
    """Every area for so many seconds."""
    return [drive(area, importlib.import_module(f"fuzz_{area}").make, seconds, seed, keep) for area in areas]


def main() -> int:
    """Exit with 1 where a raw error was met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15, help="for each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", choices=AREAS, action="append")
    parser.add_argument("--case", default="", help="only this one, by the name that a raw error was kept under")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "sentiscope-fuzz")
    asked = parser.parse_args()
    if asked.case:
        area = asked.case.split("-")[0]
        outcomes = [Outcome(area)]
        try_one(importlib.import_module(f"fuzz_{area}").make, asked.case, outcomes[0], asked.keep)
    else:
        outcomes = run(tuple(asked.area or AREAS), asked.seconds, asked.seed, asked.keep)
    print(*outcomes, sep="\n")
    return int(any(outcome.raw for outcome in outcomes))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, SENTISCOPE_CACHE=home, SENTISCOPE_RUNS=f"{home}/runs")
        sys.exit(main())
