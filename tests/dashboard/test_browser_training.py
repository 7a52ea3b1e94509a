"""Training in a browser: pause, resume, closed tab, waiting, cancel."""

import re
import time
from pathlib import Path

import pytest
from browsing import until, visit
from playwright.sync_api import expect

from core.config import compose
from core.runs import training_jobs
from core.runs.store import RunStore

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LEFT = re.compile(r"At most (\d+ (s|min|h) )+left")
"""How long a training run still takes. Not "at most .* left": a whole form may hold both words, far from each other."""


@pytest.fixture(autouse=True)
def _nothing_trains_on(bare):
    """Remove the run of a failed test, which would train for hours."""
    yield
    for record in bare.list():
        if record.status in ("queued", "running"):
            training_jobs.cancel(bare, record.run, keep=False)


def start(runs: RunStore, table: Path, tiny: dict[str, object], *names: str) -> None:
    """Start training runs that would take minutes, one at a time."""
    long = {"data.name": str(table), "training.epochs": 9000, "training.batch_size": 2, "training.patience": 0}
    config = compose("ndt-01-n3", tiny | long)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_JOBS", "1")
        for name in names:
            training_jobs.submit(runs, config, "ndt-01-n3", name)


def step(runs: RunStore, run: str) -> int:
    return int(runs.read(run).progress.get("step") or 0)


def logged(runs: RunStore, run: str) -> int:
    """Rows of the history so far."""
    return len((runs.get_path(run) / "history.jsonl").read_text().splitlines())


def test_training_can_be_paused_continued_and_cancelled(browser, empty_server, table, bare, tiny):
    runs = bare
    start(runs, table, tiny, "long")
    page, complaints = visit(browser, empty_server)
    page.goto(f"{empty_server}/train?run=long")
    expect(page.locator(".st-key-fig-progress .main-svg").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"Epoch \d+ of 9000"))).to_be_visible()
    expect(page.get_by_text(LEFT)).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Training has been stopped")).to_be_visible()
    expect(page.get_by_text(re.compile(r"It stopped at step \d+ of"))).to_be_visible()
    stood = step(runs, "long")
    assert runs.read("long").status == "cancelled" and stood > 0
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text(LEFT)).to_be_visible()
    link = page.url
    page.close()  # training continues after the tab is closed
    before, until = logged(runs, "long"), time.monotonic() + 120
    while logged(runs, "long") <= before and time.monotonic() < until:
        time.sleep(0.2)
    assert logged(runs, "long") > before and runs.read("long").status == "running" and step(runs, "long") >= stood
    page, later = visit(browser, empty_server, "dark")
    page.goto(link)
    expect(page.get_by_text(re.compile(r"Epoch \d+ of 9000"))).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel it long").click()
    expect(page.get_by_text("Training has been stopped")).to_be_visible()
    expect(page.get_by_role("button", name="Start over")).to_be_visible()
    assert not (runs.get_path("long") / "checkpoint").exists() and complaints == later == []
    page.close()


def test_second_training_waits_and_starts_when_the_first_is_cancelled(browser, empty_server, table, bare, tiny):
    start(bare, table, tiny, "first")
    page, complaints = visit(browser, empty_server)
    until(page, lambda: bare.read("first").status == "running")  # of two sent at once, either may get the place
    start(bare, table, tiny, "second")
    page.goto(f"{empty_server}/train?run=first")
    expect(page.locator(".st-key-fig-progress .main-svg").first).to_be_visible()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    page.get_by_role("button", name="Watch second").click()
    expect(page.get_by_text("Waiting for a free place")).to_be_visible()
    page.wait_for_function("location.search.includes('run=second')")
    page.get_by_role("button", name="Cancel first").click()
    page.get_by_role("button", name="Cancel it first").click()
    expect(page.get_by_text(re.compile(r"Epoch \d+ of 9000"))).to_be_visible()
    expect(page.get_by_role("heading", name="Queue")).to_be_hidden()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel it second").click()
    expect(page.get_by_text("Training has been stopped")).to_be_visible()
    assert complaints == []
