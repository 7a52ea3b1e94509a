"""The dashboard as `sentiscope dashboard` serves it: HTTP headers and terminal output."""

import asyncio
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from core.api.dashboard_server import build_command
from dashboard.server import OneStepBack

SERVER = Path(__file__).resolve().parents[2] / "dashboard" / "server.py"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Address, headers of some responses, all output of the server, and the responses."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        command = build_command(SERVER, port, "127.0.0.1", [], browser=False)
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


@pytest.mark.slow
def test_other_origins_cannot_frame_pages_and_the_terminal_shows_only_the_address(answers):
    assert all(answers[1][p].get_all("Content-Security-Policy") == ["frame-ancestors 'self'"] for p in PATHS)
    assert answers[2] == f"Sentiscope is at {answers[0]} (Ctrl-C ends it)\n"


@pytest.mark.slow
def test_each_page_starts_with_the_history_script(answers):
    pages = {path: page for path, page in answers[3].items() if page.startswith("<!--")}
    script = (SERVER.parent / "assets" / "history.js").read_text()
    assert pages and all(page.index(script) < page.index("<script type=") for page in pages.values())


def asked_for(path: str, kind: bytes, *parts: bytes) -> tuple[dict[bytes, bytes], list[bytes]]:
    """The headers of the request when a browser opens `path`, and the parts of the response."""
    asked: dict[bytes, bytes] = {}
    got: list[bytes] = []

    async def app(scope, receive, send) -> None:
        asked.update(scope["headers"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": part is not parts[-1]})

    async def send(message) -> None:
        if message["type"] == "http.response.body":
            got.append(message["body"])

    headers = [(b"accept", b"text/html,*/*"), (b"range", b"bytes=5-"), (b"accept-encoding", b"gzip")]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers}
    asyncio.run(OneStepBack(app)(scope, None, send))
    return asked, got


def test_page_is_requested_complete_and_uncompressed_to_insert_the_script():
    asked, got = asked_for("/train", b"text/html; charset=utf-8", b"<head>", b"<script src=a></script>")
    assert list(asked) == [b"accept"]
    assert got == [b"<head>" + OneStepBack.SCRIPT + b"<script src=a></script>"]


@pytest.mark.parametrize("path", ["/media/run.zip", "/media/run"])
def test_download_passes_as_it_is(path):
    assert asked_for(path, b"application/zip", b"PK", b"<script", b"end")[1] == [b"PK", b"<script", b"end"]


def test_interrupted_download_can_be_resumed():
    assert asked_for("/media/run.zip", b"application/zip", b"")[0][b"range"] == b"bytes=5-"
