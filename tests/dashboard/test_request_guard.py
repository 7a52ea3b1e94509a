"""Requests that the server refuses before Streamlit receives them."""

import asyncio
import types

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from dashboard import request_guard
from dashboard.request_guard import Guard

MB = 1024**2


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


def test_session_stores_four_largest_files_without_limiting_others(kept):
    app = behind(kept)
    statuses = [asyncio.run(put(app, "one", number))[0] for number in range(6)]
    assert statuses == [204, 204, 204, 204, 413, 413]
    assert b"close it and open the page again" in asyncio.run(put(app, "one", 9))[1]
    assert asyncio.run(put(app, "two", 0))[0] == 204
    kept.remove_file("one", "0")
    assert asyncio.run(put(app, "one", 7))[0] == 204


def test_simultaneous_uploads_are_counted_before_they_are_stored(kept):
    app = behind(kept)

    async def many():
        return [status for status, _ in await asyncio.gather(*(put(app, "one", number) for number in range(9)))]

    assert sorted(asyncio.run(many())) == [204] * 4 + [413] * 5
    assert not app.coming


def test_number_of_small_files_is_limited(kept):
    app = behind(kept, size=1)
    statuses = [asyncio.run(put(app, "one", number))[0] for number in range(45)]
    assert statuses == [204] * 40 + [413] * 5


HIDDEN = ("/_stcore/metrics", "/base/_stcore/metrics", "/_stcore/metrics/")
OPEN = ("/", "/_stcore/health", "/metrics", "/_stcore/upload_file/a/b")


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
