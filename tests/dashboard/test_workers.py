"""Server processes behind one port: browsers stay on theirs, bytes pass unchanged, and dead processes are replaced."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from http.cookies import SimpleCookie

import psutil
import pytest
from browsing import ROOT, find_free_port
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from waiting import until

from core.api.machine import build_command, dashboard
from core.exceptions import InputError
from dashboard import workers
from dashboard.launcher import KeptUploads
from dashboard.workers import COOKIE, HEAD, Proxy, Worker

UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"


async def _answer(name: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as a tiny server process: refuse uploads to /full unread, echo websockets, else tell what came."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    headers = {key.lower(): value for key, value in (line.split(": ", 1) for line in lines)}
    if headers.get("upgrade"):
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\nhello ")
        while data := await reader.read(100):
            writer.write(data.upper())
            await writer.drain()
    elif "/full" in first:
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nfull")
    elif "/dies" not in first:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        told = json.dumps({"process": name, "first": first, "headers": headers, "bytes": len(body)}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(told), told))
    writer.close()


def exchange(*requests: str, pause: float = 0) -> list[str]:
    """Send requests, whose ends come after a pause, to a proxy of two tiny processes; return the whole responses."""

    async def run() -> list[str]:
        pool = [Worker(index, socket.create_server(("127.0.0.1", 0))) for index in range(2)]
        for each in pool:
            await asyncio.start_server(lambda *streams, name=each.index: _answer(name, *streams), sock=each.listener)
        server = await asyncio.start_server(Proxy(pool).serve, "127.0.0.1", 0)
        said = []
        for request in requests:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(request[:-1].encode())
            await asyncio.sleep(pause)
            writer.write(request[-1:].encode())
            data, whole = b"x", b""
            while data and not whole.endswith(b"PING"):
                whole += (data := await asyncio.wait_for(reader.read(HEAD), 20))
            writer.close()
            said.append(whole.decode())
        return said

    return asyncio.run(run())


def ask(path: str = "/", *, more: str = "", body: str = "", method: str = "GET", last: bool = True) -> str:
    """Return the text of a request."""
    more += (f"Content-Length: {len(body)}\r\n" if body else "") + ("Connection: close\r\n" if last else "")
    return f"{method} {path} HTTP/1.1\r\nHost: h:1\r\n{more}\r\n{body}"


def read_told(answer: str) -> dict:
    """Return what a tiny process told about the request that it got."""
    return json.loads(answer[answer.index("{") : answer.rindex("}") + 1])


def test_browser_stays_on_its_process_by_the_cookie_of_each_request_and_new_ones_are_spread():
    first, second, third = exchange(ask(), ask(), ask(more=f"Cookie: a=b; {COOKIE}=1\r\n"))
    assert [read_told(each)["process"] for each in (first, second, third)] == [0, 1, 1]
    assert f"set-cookie: {COOKIE}=0; Path=/; HttpOnly; SameSite=Lax" in first
    assert f"{COOKIE}=1" in second and "set-cookie" not in third
    pair = ask(more=f"Cookie: {COOKIE}=1\r\n", last=False) + ask(more=f"Cookie: {COOKIE}=0\r\n")
    (said,) = exchange(pair)
    assert said.index('"process": 1') < said.index('"process": 0') and said.count("HTTP/1.1 200") == 2


@pytest.mark.parametrize("cookie", ["7", "-1", "1x", "", "9999"])
def test_cookie_of_no_process_gets_a_new_one(cookie):
    assert f"set-cookie: {COOKIE}=0" in exchange(ask(more=f"Cookie: {COOKIE}={cookie}\r\n"))[0]


def test_uploads_headers_refusals_and_websockets_pass_unchanged(monkeypatch):
    (said,) = exchange(ask("/up?x=1", method="PUT", body="x" * 1_000_000, more="Origin: http://h:1\r\nX-Xsrf: t\r\n"))
    told = read_told(said)
    assert told["bytes"] == 1_000_000 and told["first"] == "PUT /up?x=1 HTTP/1.1"
    assert told["headers"].items() >= {"host": "h:1", "origin": "http://h:1", "x-xsrf": "t"}.items()
    (said,) = exchange(ask("/full", method="PUT", body="x" * 5_000_000))
    assert said.startswith("HTTP/1.1 413") and said.endswith("full")
    (said,) = exchange(f"GET /ws HTTP/1.1\r\nHost: h\r\n{UPGRADE}\r\nping")
    assert said.startswith("HTTP/1.1 101") and said.endswith("hello PING") and f"{COOKIE}=0" in said
    monkeypatch.setattr(workers, "PATIENCE", 0.3)  # a slow upload takes longer in all
    assert read_told(exchange(ask("/up", method="PUT", body="xx"), pause=0.6)[0])["bytes"] == 2


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (ask("http://example.org/"), 400),
        ("CONNECT example.org:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.0\r\n\r\n", 400),
        (ask(more=f"X: {'x' * 2 * HEAD}\r\n"), 431),
        (ask("/dies"), 502),
        ("nonsense\r\n\r\n", 400),
    ],
)
def test_what_no_process_answers_is_refused(request_, status):
    assert exchange(request_)[0].startswith(f"HTTP/1.1 {status} ")


@pytest.mark.parametrize(("limit", "value", "sent"), [("PATIENCE", 0.05, "GET / HTTP"), ("CONNECTIONS", 0, "")])
def test_slow_heads_and_connections_above_the_limit_are_closed(monkeypatch, limit, value, sent):
    monkeypatch.setattr(workers, limit, value)
    assert exchange(sent) == [""]


def test_only_this_machine_names_the_browser_it_asks_for():
    request = workers.h11.Request(method="GET", target="/", headers=[("Host", "h"), ("X-Forwarded-For", "1.2.3.4")])
    assert (b"x-forwarded-for", b"1.2.3.4") in workers._make_headers(request, "::ffff:127.0.0.1")
    assert (b"x-forwarded-for", b"192.0.2.7") in workers._make_headers(request, "192.0.2.7")
    assert not [value for _, value in workers._make_headers(request, "192.0.2.7") if value == b"1.2.3.4"]


def test_number_of_processes_and_length_of_the_key_are_checked(monkeypatch):
    monkeypatch.setenv("SENTISCOPE_CLASSROOM", "a pin")
    with pytest.raises(InputError, match="a key of at least 8 characters"):
        dashboard(classroom=True)
    for count in (0, -1, 33):
        with pytest.raises(InputError, match=f"^--workers {count}: a whole number from 1 to 32"):
            dashboard(workers=count)


def test_several_processes_are_asked_for_by_the_command():
    command = build_command(ROOT / "app.py", 8501, "0.0.0.0", [], browser=False, workers=3)
    assert command[1:5] == ["-m", "dashboard.workers", "3", "run"] and "--server.address=0.0.0.0" in command


@pytest.mark.slow
def test_dead_process_is_replaced_and_all_end_with_the_command(tmp_path):
    port = find_free_port()
    command = build_command(ROOT / "dashboard" / "server.py", port, "127.0.0.1", [], browser=False, workers=2)
    log, own = tmp_path / "log", os.environ | {"SENTISCOPE_RUNS": str(tmp_path)}
    with log.open("wb") as out:
        parent = subprocess.Popen(command, cwd=ROOT, env=own, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def load(cookie: str = "") -> SimpleCookie:
        """Ask for a page; return the cookies that it sets."""
        request = urllib.request.Request(f"http://127.0.0.1:{port}/_stcore/health", headers={"Cookie": cookie})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.read() == b"ok"
            return SimpleCookie("; ".join(answer.headers.get_all("set-cookie") or ()))

    try:
        until(lambda: b"Sentiscope is at" in log.read_bytes())
        assert {load()[COOKIE].value for _ in range(2)} == {"0", "1"}
        victim, other = sorted(psutil.Process(parent.pid).children(), key=lambda each: each.cmdline())
        victim.kill()
        assert COOKIE not in load(f"{COOKIE}=0")  # waits for the new process
        assert f"Server process 1 has ended ({-signal.SIGKILL})".encode() in log.read_bytes()
        assert other.is_running() and log.read_bytes().count(b"Sentiscope is at") == 1
        family = psutil.Process(parent.pid).children()
        parent.terminate()
        assert parent.wait(20) == 128 + signal.SIGTERM
        until(lambda: not any(each.is_running() for each in family))
    finally:
        parent.kill()


@pytest.mark.slow
def test_hung_process_is_killed(monkeypatch):
    monkeypatch.setattr(workers, "PROBED", 0.05)
    monkeypatch.setattr(workers, "HUNG", 0.5)

    async def watch(answers: bool) -> int | None:
        worker = Worker(0, socket.create_server(("127.0.0.1", 0)))
        if answers:
            await asyncio.start_server(lambda *streams: _answer(0, *streams), sock=worker.listener)
        process = await asyncio.create_subprocess_exec("sleep", "60")
        asyncio.create_task(worker._watch_process(process))  # noqa: RUF006
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(process.wait(), 10 if not answers else 2)
        process.kill()

    assert asyncio.run(watch(answers=True)) is None and asyncio.run(watch(answers=False)) == -signal.SIGKILL


@pytest.mark.slow
def test_process_that_cannot_start_ends_the_command():
    command = [sys.executable, "-m", "dashboard.workers", "2", "run", "no-such-file.py", "--server.port=0"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert ended.returncode and "no-such-file.py" in ended.stderr


def test_chosen_files_outlive_a_process(tmp_path, monkeypatch):
    monkeypatch.setattr(KeptUploads, "folder", tmp_path)
    first, second = KeptUploads("/up"), KeptUploads("/up")
    one, other = (UploadedFileRec(str(uuid.uuid4()), "ä.csv", "text/csv", b"a\nb\n") for _ in range(2))
    for each in (one, other, UploadedFileRec("../x", "x", "", b"")):
        first.add_file("old", each)
    assert second.get_files("new", [one.file_id, "../x", str(uuid.uuid4())]) == [one]
    second.remove_file("new", other.file_id)  # another session's
    assert len(list(tmp_path.iterdir())) == 2
    second.remove_session_files("new")
    assert [each.name for each in tmp_path.iterdir()] == [other.file_id]
    assert not list(tmp_path.parent.glob("x"))
