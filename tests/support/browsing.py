"""The dashboard on a free port, and a browser that hears everything a page complains about."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
MISSING = "Chromium is missing: install it, or name the program in the environment variable CHROMIUM"
PROBES = ("/_stcore/host-config", "/_stcore/health")
"""Streamlit asks for these below a page's own path first; the answer 404 is expected."""
PATIENCE = 90_000.0
"""Milliseconds until what a test waits for is given up: on two cores with five at work, a button takes thirty seconds.

Said here once; what is there sooner is waited for no longer.
"""
SETTLED = (
    "document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'"
    " && !document.querySelector('[data-testid=stSkeleton]')"
)


def chromium() -> str | None:
    """The program, if there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def opened_browser(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(script: str | Path, module: str = "streamlit", **environment: str) -> Iterator[str]:
    """A Streamlit script on a free port; its address, as soon as it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, "run", str(script), f"--server.port={port}"]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def dashboard(runs: Path) -> Iterator[str]:
    """The dashboard on these runs."""
    folders = {"SENTISCOPE_RUNS": str(runs), "SENTISCOPE_CACHE": str(runs.parent / "cache")}
    folders["SENTISCOPE_STARTERS"] = str(runs.parent / "no-starters")
    with served("dashboard/server.py", "dashboard.warm", **folders) as address:
        yield address


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    """Return when the server answers; say what it printed if it ends instead."""
    until = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {process.stdout.read().decode() if process.stdout else ''}")
        try:
            if urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).read() == b"ok":
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer")


def visit(browser: Browser, base: str, theme: str = "light", width: int = 1440) -> tuple[Page, list[str]]:
    """A page, and the list that its console errors and requests to other hosts go to."""
    complaints: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(PROBES):
            complaints.append(message.text)

    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme).new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda sent: None if sent.url.startswith((base, "data:", "blob:")) else complaints.append(sent.url)
    )
    return page, complaints


def settle(page: Page) -> None:
    """Wait until the script has run and everything it sent is there."""
    page.wait_for_function(SETTLED)
