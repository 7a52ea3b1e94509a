"""How long Compare takes to be drawn, in Chromium, of four runs with 25,000 rows each.

    python tests/benchmarks/comparing.py [--repeats 5]

Medians of wall time, from a click in the navigation to a page that stands still: the first draw, the same again, and
another pair. The runs are made up: each is right where chance says so.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from answering import answering, right_where, texts
from browsing import MISSING, chromium, dashboard, opened_browser, settle, visit

from core.runs.store import RunStore

ROWS, GOAL = 25_000, 1.5
SHARES = {"a": 0.90, "b": 0.89, "c": 0.86, "d": 0.80}
"""By run: how many rows it has right."""


def fill(folder: Path) -> None:
    labels, random = np.arange(ROWS) % 2, np.random.default_rng(0)
    for name, share in SHARES.items():
        answering(RunStore(folder), name, right_where(random.random(ROWS) < share, labels), texts(labels))


def seconds(page: Page, act: Callable[[], None], shown: str) -> float:
    """From an act to a page that shows something and stands still."""
    start = time.perf_counter()
    act()
    page.get_by_text(shown).first.wait_for(timeout=120_000)
    settle(page)
    return time.perf_counter() - start


def report(name: str, taken: list[float], goal: str = "") -> None:
    print(f"{name:<24}{statistics.median(taken):7.2f} s   {goal}   load {os.getloadavg()[0]:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    program = chromium()
    if program is None:
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "runs"
        folder.mkdir()
        fill(folder)
        with dashboard(folder) as address, opened_browser(program) as browser:
            page, _ = visit(browser, address)
            link = f"{address}/compare?" + "&".join(f"compare={name}" for name in SHARES)
            report("first draw", [seconds(page, lambda: page.goto(link), "a against b")])
            again = []
            for _ in range(arguments.repeats):
                page.get_by_role("link", name="Lambdas", exact=True).click()
                page.get_by_role("heading", name="Lambdas", level=1).wait_for(timeout=60_000)
                settle(page)
                compare = page.get_by_role("link", name="Compare", exact=True)
                again.append(seconds(page, compare.click, "a against b"))
            report("warm", again, f"goal {GOAL}")
            pairs = [("B-C", "b against c"), ("A-C", "a against c"), ("C-D", "c against d")]
            other = [
                seconds(page, page.get_by_role("radio", name=name, exact=True).click, shown) for name, shown in pairs
            ]
            report("another pair, first time", other)


if __name__ == "__main__":
    main()
