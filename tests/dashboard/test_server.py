"""The dashboard as `sentiscope dashboard` serves it: what it says to browsers, and what the terminal shows."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from core.cli.serving import streamlit_command

pytestmark = pytest.mark.slow

SERVER = Path(__file__).resolve().parents[2] / "dashboard" / "server.py"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Address, headers of some answers, everything the server has printed by its end, and the answers themselves."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        command = streamlit_command(SERVER, port, "127.0.0.1", [], browser=False)
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 60
        while not (folder / "log").read_text() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        headers, bodies = {}, {}
        for path in PATHS:
            asked = urllib.request.Request(base + path, headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
            with urllib.request.urlopen(asked, timeout=20) as answer:
                headers[path], bodies[path] = answer.headers, answer.read().decode()
    finally:
        process.terminate()
        process.wait(20)
    return base, headers, (folder / "log").read_text(), bodies


PATHS = ("/", "/train", "/_stcore/health", "/_stcore/host-config")


@pytest.mark.parametrize("path", PATHS)
def test_no_page_of_another_origin_may_frame_ours(answers, path):
    assert answers[1][path].get_all("Content-Security-Policy") == ["frame-ancestors 'self'"]


def test_the_terminal_shows_the_address_and_nothing_else(answers):
    assert answers[2] == f"Sentiscope is at {answers[0]} (Ctrl-C ends it)\n"


def test_every_page_begins_with_the_script_that_keeps_back_to_one_press(answers):
    pages = {path: page for path, page in answers[3].items() if page.startswith("<!--")}
    script = (SERVER.parent / "assets" / "history.js").read_text()
    assert pages and all(page.index(script) < page.index("<script type=") for page in pages.values())
