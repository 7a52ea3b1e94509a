"""Waiting times of the dashboard in Chromium against their goals, next to a bare Streamlit app in the same run.

    python tests/benchmarks/pages.py [--repeats 10] [--loads 3] [--trainings 1]

Medians, measured in the browser from the key, click or request to the frame that shows the answer; the load of the
machine is printed. Training uses the defaults of the page in an empty folder. Sentences have `sentences.py`.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from browsing import dashboard, opened_browser, served, settle, visit

POINTS, SIDE = 25_000, 0.32
"""A lasso as wide and high as this share of the plot's height takes about 3,000 of the points."""
WATCH = """([event, seen, name]) => {
    const find = new Function(`return ${seen}`);
    window[name] = new Promise((done) => document.addEventListener(event, () => {
        const start = performance.now();
        const shown = () => requestAnimationFrame(() => done(performance.now() - start));
        const look = () => find() ? shown() : setTimeout(look, 10);
        look();
    }, { once: true, capture: true }));
}"""
"""Time from an event to the first frame that shows an element; polling costs no frames."""
CURVE = "document.querySelector('.st-key-fig-progress .scatterlayer .trace path')"
METRICS = "document.querySelector('.s-open')?.textContent.startsWith('Test accuracy')"
COUNT_SENT = """const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
    window.messages = (window.messages ?? 0) + 1;
    return send.call(this, data);
};"""
OF_ALL = "/[0-9].* of 25/.test(document.querySelector('%s')?.innerText ?? '')"
LASSO_PARTS = {
    "sent": ("lasso: the browser asks, having marked the points", "window.messages"),
    "bar": ("lasso: the bar says how many", OF_ALL % ".st-key-selected-now .s-now"),
    "answer": ("lasso answered", OF_ALL % ".st-key-selection"),
}
"""What follows a lasso, by the name of its watch: its words, and how it is seen."""


def report(name: str, seconds: list[float], goal: float) -> None:
    """One line: median, range, goal, load."""
    median = statistics.median(seconds)
    print(
        f"{name:<58} {median:7.2f} s ({min(seconds):.2f} to {max(seconds):.2f}, n = {len(seconds)})   "
        f"goal {goal:5.2f}  {'ok' if median < goal else 'MISSED'}   load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def watch(page: Page, event: str, seen: str, name: str = "answer") -> None:
    page.evaluate(WATCH, [event, seen, name])


def answered(page: Page, name: str = "answer") -> float:
    """Seconds from the watched event to the expected element."""
    page.wait_for_function(f"Promise.race([window.{name}, new Promise((no) => setTimeout(no, 0))])", timeout=200_000)
    return page.evaluate(f"window.{name}") / 1e3


def timed(page: Page, event: str, seen: str, act: Callable[[], object]) -> float:
    """Seconds from an action to its expected element; returns when the page is settled."""
    watch(page, event, seen)
    act()
    seconds = answered(page)
    settle(page)
    return seconds


def first_page(browser: Browser, address: str) -> float:
    """First page of a new visitor: from the request to a settled page."""
    page, _ = visit(browser, address)
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function("document.querySelector('h1')", timeout=60_000)
    settle(page)
    seconds = time.perf_counter() - start
    page.context.close()
    return seconds


def first_pages(browser: Browser, runs: Path, loads: int) -> None:
    """The first page of a new server and of a used one, alternating with a bare app's page."""
    bare = runs.parent / "bare.py"
    bare.write_text("import streamlit as st\nst.title('bare')\n")
    fresh: list[float] = []
    used: list[float] = []
    for _ in range(loads):
        with served(bare) as plain, dashboard(runs) as ours:
            for times in (fresh, used):
                without = first_page(browser, plain)
                times.append(first_page(browser, ours) - without)
    report("first page beyond a bare app's, fresh server", fresh, 1.0)
    report("first page beyond a bare app's, server in use", used, 1.0)


def training(browser: Browser, folder: Path) -> tuple[float, float]:
    """Click to first curve, and click to test metrics, for the default training in an empty folder; keeps its run."""
    with dashboard(folder) as address:
        page, _ = visit(browser, address)
        page.goto(f"{address}/train")
        settle(page)
        start = page.get_by_role("button", name="Start training")
        watch(page, "click", CURVE, "curve")
        watch(page, "click", METRICS, "metrics")
        start.click()
        curve, metrics = answered(page, "curve"), answered(page, "metrics")
        page.get_by_text("finished after").wait_for(timeout=300_000)  # the baseline follows
        page.context.close()
    return curve, metrics


def large_run(runs: Path, source: str, name: str) -> None:
    """A copy of a run with POINTS test sentences, spread evenly over a square of its embedding space."""
    shutil.copytree(runs / source, runs / name)
    record = json.loads((runs / name / "run.json").read_text())
    (runs / name / "run.json").write_text(json.dumps({**record, "run": name}))
    folder, noise = runs / name / "evaluation" / "test", np.random.default_rng(0)
    saved = pd.read_parquet(folder / "predictions.parquet")
    saved.iloc[np.arange(POINTS) % len(saved)].reset_index(drop=True).to_parquet(folder / "predictions.parquet")
    vectors = noise.normal(0, 0.01, (POINTS, np.load(folder / "embeddings.npy").shape[1])).astype(np.float32)
    vectors[:, :2] += noise.uniform(-1, 1, (POINTS, 2)) * [1.0, 0.9]
    np.save(folder / "embeddings.npy", vectors)


def lassos(browser: Browser, address: str, run: str, repeats: int) -> None:
    """From the end of a lasso around about 3,000 of 25,000 points to their sentences, on a PCA map."""
    page, _ = visit(browser, address)
    page.add_init_script(COUNT_SENT)
    plot = page.locator(f".st-key-fig-map-{run}-test-pca-2 .nsewdrag")
    times: dict[str, list[float]] = {name: [] for name in LASSO_PARTS}
    said = ""
    for _ in range(repeats):
        page.goto(f"{address}/embeddings?run={run}&split=test")  # reload: the previous outline would cover the map
        plot.wait_for(timeout=120_000)
        settle(page)
        page.locator('.modebar-btn[data-val="lasso"]').first.click()
        plot.evaluate("(it) => it.scrollIntoView({ block: 'center' })")
        box = plot.bounding_box() or {}
        half = SIDE * box["height"] / 2  # both axes have one scale
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x - half, y - half)
        page.mouse.down()
        for right, down in ((half, -half), (half, half), (-half, half), (-half, -half)):
            page.mouse.move(x + right, y + down, steps=6)
        page.evaluate("window.messages = 0")
        for name, (_, seen) in LASSO_PARTS.items():
            watch(page, "mouseup", seen, name)
        page.mouse.up()
        for name in LASSO_PARTS:
            times[name].append(answered(page, name))
        said = page.locator(".st-key-selection").inner_text().split(" sentences")[0]
    page.context.close()
    for name, (words, _) in LASSO_PARTS.items():
        report(f"{words} ({said})", times[name], 0.5)


def first_map(browser: Browser, address: str, run: str) -> float:
    """From the click for a t-SNE map of 3,000 sentences to its points."""
    page, _ = visit(browser, address)
    page.goto(f"{address}/embeddings?run={run}&split=test&method=t-SNE")
    settle(page)
    drawn = f"document.querySelector('.st-key-fig-map-{run}-test-tsne-2 .nsewdrag')"
    seconds = timed(page, "click", drawn, page.get_by_role("button", name="Compute the t-SNE map").click)
    page.context.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="lassos")
    parser.add_argument("--loads", type=int, default=3, help="fresh servers for the first page")
    parser.add_argument("--trainings", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, opened_browser() as browser:
        folders = [Path(scratch) / f"{number}" / "runs" for number in range(args.trainings)]
        curves, metrics = zip(*(training(browser, folder) for folder in folders), strict=True)
        report("“Start training” to the first curve", list(curves), 5.0)
        report("“Start training” to test metrics", list(metrics), 60.0)
        (run,) = [path.parent.name for path in folders[0].glob("*/run.json")]
        large_run(folders[0], run, "large")
        maps = []
        for folder in folders:
            with dashboard(folder) as address:
                maps.append(first_map(browser, address, next(folder.glob("*/run.json")).parent.name))
        report("t-SNE of 3,000 sentences, first visit, from its click", maps, 15.0)
        first_pages(browser, folders[0], args.loads)
        with dashboard(folders[0]) as address:
            lassos(browser, address, "large", args.repeats)


if __name__ == "__main__":
    main()
