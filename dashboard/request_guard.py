"""ASGI middleware that limits the upload memory of a browser tab and blocks Streamlit's metrics endpoint."""

import re
from collections import Counter
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

FILES = 4  # most files of the largest size in one session: pages have an uploader for data and one for a run
OWN = ("127.0.0.1", "localhost", "::1")  # addresses and names that reach only this machine from itself
METRICS = "/_stcore/metrics"
_UPLOAD = re.compile(r".*/_stcore/upload_file/([^/]+)/[^/]+")


class Guard:
    """ASGI middleware that refuses uploads over a session's limit, requests of other local servers, and metrics."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.coming: Counter[str] = Counter()  # number of unfinished uploads in each session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an HTTP or websocket request to the Streamlit app, or answer it with a refusal."""
        path = str(scope.get("path", "")).rstrip("/")
        if path.endswith(METRICS):
            await PlainTextResponse("not here", 404)(scope, receive, send)
            return
        if scope["type"] == "websocket" and _is_other_server(Headers(scope=scope)):
            await WebSocketClose(1008, "this page is another server's")(scope, receive, send)
            return
        upload = _UPLOAD.fullmatch(path) if scope.get("method") == "PUT" else None
        if upload is None:
            await self.app(scope, receive, send)
            return
        session = upload[1]
        if not self._has_room(session):
            said = "This tab has reached its upload limit; close it and open the page again to upload more"
            await PlainTextResponse(said, 413)(scope, receive, send)
            return
        self.coming[session] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.coming[session] -= 1
            self.coming += Counter()  # removes sessions without uploads

    def _has_room(self, session: str) -> bool:
        """Return whether a session may upload one more file, which is assumed to have the largest allowed size."""
        largest = int(st.get_option("server.maxUploadSize") or 0) * 1024**2
        manager = get_instance().uploaded_file_mgr
        files = manager.file_storage.get(session, {}) if isinstance(manager, MemoryUploadedFileManager) else {}
        held = sum(len(file.data) for file in list(files.values()))
        return held + (self.coming[session] + 1) * largest <= FILES * largest and len(files) < 10 * FILES


def _is_other_server(headers: Headers) -> bool:
    """Return whether a request comes from a page of another server on this machine, which Streamlit would accept."""
    try:
        asking = urlsplit(headers.get("origin", ""))
    except ValueError:
        return True
    return asking.hostname in OWN and asking.netloc != headers.get("host", "")
