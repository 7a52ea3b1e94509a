"""Runs to look at: one real tiny training, a baseline, a damaged copy; and the app on top of them, in a browser too."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import MISSING, ROOT, chromium, dashboard, opened_browser, served
from playwright.sync_api import Browser
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner

from core import verbs
from core.runs.store import RunStore

APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"
TINY = {
    "data.split": "0.6/0.2/0.2",
    "model.width": 16,
    "model.ff_width": 16,
    "training.epochs": 2,
    "training.batch_size": 8,
    "training.threads": 1,
    "text.min_freq": 1,
}
GOOD, BAD = ("good", "warm", "funny", "wise"), ("bad", "dull", "slow", "flat")


@pytest.fixture(scope="session", autouse=True)
def _packages_read_once() -> Iterator[None]:
    """Streamlit reads the metadata of all installed packages for each `AppTest`, two thirds of a page's time."""
    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def _pages_compiled_once() -> Iterator[None]:
    """A server compiles a page once, `AppTest` for every click."""
    with pytest.MonkeyPatch.context() as patch:
        compiled = ScriptCache()
        patch.setattr(local_script_runner, "ScriptCache", lambda: compiled)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_to_wait_for() -> Iterator[None]:
    """No browser draws what an `AppTest` is sent, and none looks again: the first look waits for the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dashboard.widgets.waiting.PATIENCE", 60.0)
        patch.setattr("dashboard.screens.sentence_below.BREATH", 0.0)
        yield


@pytest.fixture(scope="session")
def table(tmp_path_factory) -> Path:
    """Eighty labelled sentences in a file."""
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    lines = [
        f"{word} film number {number},{label}"
        for label, words in (("positive", GOOD), ("negative", BAD))
        for word in words
        for number in range(10)
    ]
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, table) -> Path:
    """A run directory with `finished` (two layers, three components), `baseline` and `damaged`; read only."""
    folder = tmp_path_factory.mktemp("runs")
    store = RunStore(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        verbs.train(str(table), "ndt-01-n3", TINY, name="finished", store=store)
        baseline = {name: value for name, value in TINY.items() if not name.startswith("model.")}
        verbs.train(str(table), "tfidf-logreg", baseline, name="baseline", store=store)
    shutil.copytree(folder / "finished", folder / "damaged")
    (folder / "damaged" / "run.json").write_text('{"schema": 1, "status"')
    return folder


@pytest.fixture
def runs(trained, tmp_path, monkeypatch) -> Path:
    """A copy that a test may change, as the app's run directory."""
    folder = tmp_path / "runs"
    shutil.copytree(trained, folder)
    monkeypatch.setenv("SENTISCOPE_RUNS", str(folder))
    return folder


@pytest.fixture
def app() -> AppTest:
    """The app, not yet run."""
    return AppTest.from_file(str(APP), default_timeout=60)


@pytest.fixture(scope="session")
def tiny() -> dict[str, object]:
    """Settings of a training run that takes a second."""
    return TINY


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; without it a test is skipped by name, in CI it fails."""
    program = chromium()
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)
    with opened_browser(program) as browser:
        yield browser


@pytest.fixture(autouse=True)
def closed_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test leaves a page open: it would go on asking its server, and take the time of the tests that follow."""
    yield
    if "browser" in request.fixturenames:
        for context in request.getfixturevalue("browser").contexts:
            context.close()


@pytest.fixture(scope="module")
def server(trained) -> Iterator[str]:
    """The app on a free port, on runs that these tests only read."""
    with dashboard(trained) as address:
        yield address


@pytest.fixture
def empty_server(tmp_path) -> Iterator[str]:
    """The app on a free port, without a run."""
    with dashboard(tmp_path / "none") as address:
        yield address


@pytest.fixture(scope="module")
def starters(tmp_path_factory) -> Iterator[str]:
    """The app with the starters and nothing else."""
    folders = {name: str(tmp_path_factory.mktemp(name)) for name in ("runs", "cache")}
    own = {"SENTISCOPE_RUNS": folders["runs"], "SENTISCOPE_CACHE": folders["cache"]}
    own["SENTISCOPE_STARTERS"] = str(ROOT / "trained")
    with served("dashboard/server.py", "dashboard.warm", **own) as address:
        yield address
