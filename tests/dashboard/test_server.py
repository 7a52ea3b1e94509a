"""The dashboard as `sentiscope dashboard` serves it: what it says to browsers, and what the terminal shows."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from core.serve import streamlit_command

SERVER = Path(__file__).resolve().parents[2] / "dashboard" / "server.py"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Headers of some answers of a server, and everything that it has printed by its end."""
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
        headers = {path: urllib.request.urlopen(base + path, timeout=20).headers for path in PATHS}
    finally:
        process.terminate()
        process.wait(20)
    return base, headers, (folder / "log").read_text()


PATHS = ("/", "/train", "/_stcore/health", "/_stcore/host-config")


@pytest.mark.parametrize("path", PATHS)
def test_no_page_of_another_origin_may_frame_ours(answers, path):
    assert answers[1][path].get_all("Content-Security-Policy") == ["frame-ancestors 'self'"]


def test_the_terminal_shows_the_address_and_nothing_else(answers):
    assert answers[2] == f"Sentiscope is at {answers[0]} (Ctrl-C ends it)\n"
