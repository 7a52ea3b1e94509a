"""The dashboard as it is served: headers, terminal output, refused requests, and what visitors may open."""

import asyncio
import subprocess
import time
import types
import urllib.request

import pytest
from browsing import ROOT, find_free_port
from pages import opened, press, words
from refused import check_raises
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from core.api.machine import build_command
from core.data import sandbox
from core.data.config import DataConfig
from core.exceptions import DataError
from dashboard import access, request_guard, state
from dashboard.data import data
from dashboard.request_guard import Guard
from dashboard.server import OneStepBack

PATHS = ("/", "/train", "/_stcore/health", "/_stcore/host-config")
MB = 1024**2
HIDDEN = ("/_stcore/metrics", "/base/_stcore/metrics", "/_stcore/metrics/")
OPEN = ("/", "/_stcore/health", "/metrics", "/_stcore/upload_file/a/b")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Address, headers of some responses, all output of the server, and the responses."""
    folder = tmp_path_factory.mktemp("server")
    port = find_free_port()
    base = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        command = build_command(ROOT / "dashboard" / "server.py", port, "127.0.0.1", [], browser=False)
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


@pytest.mark.slow
def test_pages_start_with_the_history_script_and_no_other_origin_can_frame_them(answers):
    assert all(answers[1][p].get_all("Content-Security-Policy") == ["frame-ancestors 'self'"] for p in PATHS)
    assert answers[2] == f"Sentiscope is at {answers[0]} (Ctrl-C ends it)\n"
    pages = {path: page for path, page in answers[3].items() if page.startswith("<!--")}
    script = (ROOT / "dashboard" / "assets" / "history.js").read_text()
    assert pages and all(page.index(script) < page.index("<script type=") for page in pages.values())


@pytest.mark.parametrize(
    ("path", "base", "to"),
    [
        *((path, "", "") for path in ("/", "/train", "/train/", "/overview", "/_stcore/health", "/a/b", "/x.css")),
        ("/nope", "", "./?no-page=nope"),
        ("/nope/", "", "../?no-page=nope"),
        ("/a b&c", "", "./?no-page=a+b%26c"),
        *((path, "app", "") for path in ("/app", "/app/", "/app/train")),
        ("/app/nope", "app", "./?no-page=nope"),
        ("/apple", "app", "./?no-page=apple"),
    ],
)
def test_an_address_without_a_page_leads_to_the_home_page_with_its_name(monkeypatch, path, base, to):
    monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": base}.get)
    sent = []

    async def app(scope, receive, send) -> None:
        sent.append({"headers": []})

    async def send(message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept", b"text/html")]}
    asyncio.run(OneStepBack(app)(scope, None, send))
    assert dict(sent[0]["headers"]).get(b"location", b"").decode() == to


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


def test_pages_are_requested_complete_and_interrupted_downloads_resumed():
    asked, got = asked_for("/train", b"text/html; charset=utf-8", b"<head>", b"<script src=a></script>")
    assert list(asked) == [b"accept"] and got == [b"<head>" + OneStepBack.SCRIPT + b"<script src=a></script>"]
    assert asked_for("/media/run.zip", b"application/zip", b"")[0][b"range"] == b"bytes=5-"


@pytest.mark.parametrize("path", ["/media/run.zip", "/media/run"])
def test_download_passes_as_it_is(path):
    assert asked_for(path, b"application/zip", b"PK", b"<script", b"end")[1] == [b"PK", b"<script", b"end"]


@pytest.fixture
def kept(monkeypatch):
    """Streamlit's own store of uploads."""
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
    monkeypatch.setattr(request_guard, "get_instance", lambda: types.SimpleNamespace(uploaded_file_mgr=manager))
    monkeypatch.setattr(request_guard.st, "get_option", lambda name: 1)
    return manager


async def answer(app, method, path):
    """Status and text."""
    sent = []

    async def send(message):
        sent.append(message)

    await app({"type": "http", "method": method, "path": path}, None, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def behind(kept, size=MB):
    """A guard in front of an app that stores uploads."""

    async def app(scope, receive, send):
        if scope["method"] == "PUT":
            *_, session, file = scope["path"].split("/")
            await asyncio.sleep(0)
            kept.add_file(session, UploadedFileRec(file, "a.csv", "text/csv", bytes(size)))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return Guard(app)


def put(app, session, file):
    return answer(app, "PUT", f"/base/_stcore/upload_file/{session}/{file}")


def test_session_stores_four_largest_or_forty_small_files_without_limiting_others(kept):
    app = behind(kept)
    assert [asyncio.run(put(app, "one", number))[0] for number in range(6)] == [204, 204, 204, 204, 413, 413]
    assert b"close it and open the page again" in asyncio.run(put(app, "one", 9))[1]
    assert asyncio.run(put(app, "two", 0))[0] == 204
    kept.remove_file("one", "0")
    assert asyncio.run(put(app, "one", 7))[0] == 204
    app = behind(kept, size=1)
    assert [asyncio.run(put(app, "more", number))[0] for number in range(45)] == [204] * 40 + [413] * 5


def test_simultaneous_uploads_are_counted_before_they_are_stored(kept):
    app = behind(kept)

    async def many():
        return [status for status, _ in await asyncio.gather(*(put(app, "one", number) for number in range(9)))]

    assert sorted(asyncio.run(many())) == [204] * 4 + [413] * 5 and not app.coming


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_metrics_are_hidden_from_visitors_and_other_requests_pass(kept, method):
    statuses = [asyncio.run(answer(behind(kept), method, path))[0] for path in (*HIDDEN, *OPEN)]
    assert statuses == [404] * len(HIDDEN) + [204] * len(OPEN)


@pytest.mark.parametrize(
    ("origin", "host", "taken"),
    [
        ("http://127.0.0.1:8501", "127.0.0.1:8501", True),
        ("http://localhost:8501", "localhost:8501", True),
        ("https://class.example.org", "localhost:8501", True),  # a proxy; Streamlit checks these requests
        ("", "127.0.0.1:8501", True),  # not a browser
        ("http://127.0.0.1:9999", "127.0.0.1:8501", False),
        ("http://localhost:8501", "127.0.0.1:8501", False),
        ("http://[::1]:9999", "[::1]:8501", False),
        ("http://[", "127.0.0.1:8501", False),
    ],
)
def test_page_of_another_local_server_cannot_control_ours(origin, host, taken):
    sent = []

    async def app(scope, receive, send):
        sent.append("taken")

    async def send(message):
        sent.append(message["type"])

    headers = [(b"origin", origin.encode()), (b"host", host.encode())]
    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": headers if origin else headers[1:]}
    asyncio.run(Guard(app)(scope, None, send))
    assert sent == (["taken"] if taken else ["websocket.close"])


@pytest.mark.parametrize(
    ("address", "names", "local"),
    [
        ("127.0.0.1", [], True),
        ("::1", ["localhost", "127.0.0.1"], True),
        ("0.0.0.0", ["localhost", "127.0.0.1"], False),
        (None, [], False),
        ("127.0.0.1", ["localhost", "127.0.0.1", "class.example.org"], False),  # server behind a proxy
        ("127.0.0.1", ["*"], False),
    ],
)
def test_only_a_server_without_other_names_is_local(monkeypatch, address, names, local):
    monkeypatch.setattr(access.st, "get_option", {"server.address": address, "server.allowedHosts": names}.__getitem__)
    assert access.is_local() is local


@pytest.mark.parametrize("typed", ["/etc", "~", "..", "/etc/../etc/hostname"])
def test_typed_setting_cannot_name_files_of_the_server(monkeypatch, typed):
    monkeypatch.setattr(access, "is_local", lambda: False)
    refused = {"data.name": "no data set, file or folder here is called", "text.lexicon": "; choose vader"}
    for name, said in {**refused, "data.examples": "; write counter-examples"}.items():
        check_raises(DataError, f"{name}.*{said}", access.refuse_foreign, {name: typed})
    access.refuse_foreign({"data.name": "built-in", "training.lr": "/etc", "data.examples": "counter-examples"})


def test_visitors_can_name_only_listed_backbones(monkeypatch, tmp_path):
    """A local user may type any folder; a folder among the backbones has a name."""
    for folder in (tmp_path / "own" / "bert", tmp_path / "private"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    monkeypatch.setenv("SENTISCOPE_BACKBONES", str(tmp_path / "own"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for local in (True, False):
        monkeypatch.setattr(access, "is_local", lambda local=local: local)
        access.refuse_foreign({"model.backbone": "bert"})
        for typed in (str(tmp_path / "private"), "../private", "elsewhere:private", str(tmp_path / "own" / "bert")):
            if local:
                access.refuse_foreign({"model.backbone": typed})
            else:
                with pytest.raises(DataError, match=r"model\.backbone: choose one that `sentiscope backbones list`"):
                    access.refuse_foreign({"model.backbone": typed})


def test_link_to_the_data_folder_reaches_no_other_folder(monkeypatch, tmp_path):
    inside, outside = tmp_path / "shared", tmp_path / "private"
    for folder in (inside / "own", outside):
        folder.mkdir(parents=True)
    (inside / "way-out").symlink_to(outside)
    monkeypatch.setenv("SENTISCOPE_DATA", str(inside))
    monkeypatch.setattr(access, "is_local", lambda: False)
    access.refuse_foreign({"data.name": str(inside / "own")})
    for path in (inside / "way-out", inside / ".." / "private"):
        check_raises(DataError, None, access.refuse_foreign, {"data.name": str(path)})


@pytest.mark.slow
def test_train_page_refuses_server_paths_and_starts_nothing(app, runs, table, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: False)
    app.session_state[f"{state.SETTING}data.name"] = str(table)
    press(opened(app, "train", data=str(table)), "start")
    assert "This training cannot start" in words(app) and "no data set, file or folder here is called" in words(app)
    assert len(list(runs.glob("*/run.json"))) == 3


def test_server_reads_uploads_only_in_the_sandbox_and_only_once(monkeypatch):
    looked, real = [], sandbox.inspect_file

    def never(*arguments, **settings):
        raise AssertionError("read in the server's process")

    def counted(path, reading):
        looked.append(path.name)
        return real(path, reading)

    monkeypatch.setattr("core.data.limits.read_bytes", never)
    monkeypatch.setattr("core.data.labeled_files.read_table", never)
    monkeypatch.setattr(sandbox, "inspect_file", counted)
    content = b"text,label\n" + b"a warm film,good\na dull film,bad\n" * 20
    reports = [data.inspect_upload("films.csv", content, DataConfig()) for _ in range(3)]
    assert looked == ["films.csv"] and {report.rows for report in reports} == {40}
    other = DataConfig(label="nothing")
    assert data.inspect_upload("films.csv", content, other).problem and looked == ["films.csv", "films.csv"]
