"""Runs for tests (a tiny training, a baseline, a damaged copy), and the app with these runs, also in a browser."""

import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import HEALTH, MISSING, ROOT, chromium, dashboard, opened_browser, visit
from playwright.sync_api import Browser, Page
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner
from trained_runs import TINY

from core.runs.store import RunStore

APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"


@pytest.fixture(scope="session", autouse=True)
def _pages_that_never_fail() -> Iterator[None]:
    """Make `AppTest` read pages once, skip waits for a browser, and fail on any exception."""
    run, compiled = AppTest._run, ScriptCache()

    def run_without_exception(app: AppTest, *given: Any, **more: Any) -> AppTest:
        assert not run(app, *given, **more).exception
        return app

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppTest, "_run", run_without_exception)
        scan = functools.cache(manifest_scanner.scan_component_manifests)  # takes 2/3 of the time of a page
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        patch.setattr(local_script_runner, "ScriptCache", lambda: compiled)
        patch.setattr("dashboard.widgets.progress.PATIENCE", 60.0)  # the first check waits for the end
        patch.setattr("dashboard.screens.sentence_more.BREATH", 0.0)
        yield


@pytest.fixture
def runs(trained, tmp_path, monkeypatch) -> Path:
    """A copy of the run folder that a test may change."""
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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; without it a test is skipped by name, in CI it fails."""
    program = chromium()
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(MISSING)
    with opened_browser(program) as browser:
        yield browser


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: while the browser driver runs, no other test can start an event loop."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def library(trained, tmp_path_factory) -> RunStore:
    """The runs of the shared server: those of `trained`, and those added by session fixtures."""
    return RunStore(shutil.copytree(trained, tmp_path_factory.mktemp("library") / "runs"))


@pytest.fixture(scope="session")
def server(library) -> Iterator[str]:
    """Serve the app on the library and the starter runs: one server for all tests in a browser of this process."""
    with dashboard(library.folder, ROOT / "trained") as address:
        yield address


@pytest.fixture
def page(browser, server) -> Iterator[Page]:
    """A page of a new visitor of the shared server, about which the browser complains of nothing."""
    page, complaints = visit(browser, server)
    yield page
    assert complaints == []


@pytest.fixture(scope="session")
def bare(tmp_path_factory) -> RunStore:
    """The runs of `empty_server`."""
    return RunStore(tmp_path_factory.mktemp("bare") / "runs")


@pytest.fixture(scope="session")
def empty_server(bare) -> Iterator[str]:
    """Serve the app without a run; runs trained by a test are removed after it."""
    with dashboard(bare.folder) as address:
        yield address


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory) -> RunStore:
    """The runs of `first_server`."""
    return RunStore(tmp_path_factory.mktemp("newcomer") / "runs")


@pytest.fixture(scope="session")
def first_server(newcomer) -> Iterator[str]:
    """Serve the app on the starter runs alone, as it is when somebody first opens it."""
    with dashboard(newcomer.folder, ROOT / "trained") as address:
        yield address


STORES = {"server": "library", "empty_server": "bare", "first_server": "newcomer"}  # the runs of each server


@pytest.fixture(autouse=True)
def unchanged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the pages of a browser test, and remove what it wrote into the run folder of its server."""
    stores = [request.getfixturevalue(store) for name, store in STORES.items() if name in request.fixturenames]
    before = {path for store in stores for path in store.folder.glob("*")}
    yield
    if "browser" in request.fixturenames:
        for context in request.getfixturevalue("browser").contexts:
            kept = [page for page in context.pages if page.url.endswith(HEALTH)][:1]
            for page in context.pages if kept else ():
                if page not in kept:
                    page.close()
            context.set_offline(False) if kept else context.close()
    for path in {path for store in stores for path in store.folder.glob("*")} - before:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # an ended process may still write
        else:
            path.unlink(missing_ok=True)
