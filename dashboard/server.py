"""The dashboard as a web server: the Streamlit app, its HTTP headers, and the script at the top of every page.

`sentiscope dashboard` serves this file. Plain `streamlit run dashboard/app.py` serves the pages alone, without it.
"""

import contextlib
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import cli_util

from core.api.machine import list_links
from dashboard import state
from dashboard.classroom import find_classroom
from dashboard.request_guard import Guard
from dashboard.screens import ALIASES, NO_PAGE, PAGES


class OwnFrames:
    """ASGI middleware that forbids other origins to show the dashboard in a frame, where clicks could be hijacked."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the Streamlit app and add a response header that forbids framing by other origins."""

        async def add_header(message: Message) -> None:
            """Add the Content-Security-Policy header to the first message of an HTTP response."""
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Content-Security-Policy", "frame-ancestors 'self'")
            await send(message)

        await self.app(scope, receive, add_header)


class Attendance:
    """ASGI middleware that counts each visitor's open tabs for the class, and gives a new browser its cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the Streamlit app; a tab is open as long as its websocket."""
        room = find_classroom() if scope["type"] in ("http", "websocket") else None
        if room is None:
            await self.app(scope, receive, send)
            return
        person = state.make_visitor(HTTPConnection(scope).cookies.get(state.VISITOR_COOKIE, ""))
        if scope["type"] == "websocket" and person:
            with room.hold_tab(person):
                await self.app(scope, receive, send)
            return

        async def add_cookie(message: Message) -> None:
            """Add a cookie to the first message of the response with a page, if the browser has none."""
            if message["type"] == "http.response.start" and not person:
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    cookie = f"{state.VISITOR_COOKIE}={secrets.token_hex(16)}; Path=/; SameSite=Strict"
                    headers.append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, add_cookie)


class OneStepBack:
    """ASGI middleware that inserts the browser-history script `history.js` before all other scripts of a page.

    The script also says where the server is: else Streamlit asks below the page's own address first, and gets 404.
    """

    BASE = f"location.origin + location.pathname.replace(/\\/({'|'.join((*PAGES, *ALIASES))})\\/?$/, '/')"
    HISTORY = (Path(__file__).parent / "assets" / "history.js").read_text(encoding="utf-8")
    SCRIPT = f"<script>window.__streamlit = {{ BACKEND_BASE_URL: {BASE} }};\n{HISTORY}</script>".encode()
    UNASKED = (b"accept-encoding", b"range", b"if-none-match", b"if-modified-since")
    """Removed request headers: with them, the response would not be the full, uncompressed file."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the Streamlit app and insert the history script as the first script of an HTML page.

        An address that names no page leads to the home page, which says so; the browser would ask below it in vain.
        """
        if not self._is_page_request(scope):
            await self.app(scope, receive, send)
            return
        if name := self._find_unknown(str(scope["path"])):
            away = "../" if str(scope["path"]).endswith("/") else "./"
            await RedirectResponse(f"{away}?{urlencode({NO_PAGE: name})}", 303)(scope, receive, send)
            return
        plain = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in self.UNASKED]}
        begun: Message = {}
        body = bytearray()

        async def insert_script(message: Message) -> None:
            """Insert the history script into an HTML response; send all other responses unchanged."""
            if message["type"] == "http.response.start":
                kind = MutableHeaders(scope=message).get("content-type", "")
                if kind.startswith("text/html"):
                    begun.update(message)
                    return
            if not begun:  # all other responses pass unchanged
                await send(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            body[:] = body.replace(b"<script", self.SCRIPT + b"<script", 1)
            headers = MutableHeaders(scope=begun)
            headers["content-length"] = str(len(body))
            del headers["etag"], headers["last-modified"]
            await send(begun)
            await send({"type": "http.response.body", "body": bytes(body)})

        await self.app(plain, receive, insert_script)

    @staticmethod
    def _find_unknown(path: str) -> str:
        """Return the last part of a path directly below the app if it names no page; else an empty text."""
        base = str(st.get_option("server.baseUrlPath") or "").strip("/")
        name = f"{path.strip('/')}/".removeprefix(f"{base}/").strip("/")
        return "" if name in ("", *PAGES, *ALIASES) or "/" in name else name

    @staticmethod
    def _is_page_request(scope: Scope) -> bool:
        """Return whether an HTTP request is a browser's GET for an HTML page, and not for a file or download."""
        file = "." in str(scope.get("path", "")).rpartition("/")[2]
        return scope.get("method") == "GET" and not file and "text/html" in Headers(scope=scope).get("accept", "")


@contextlib.asynccontextmanager
async def _print_links(app: st.App) -> AsyncIterator[None]:
    address, port, hosts = (st.get_option(f"server.{name}") for name in ("address", "port", "allowedHosts"))
    found = list_links(address, port, hosts)
    sys.stdout.write(f"Sentiscope is at {' and '.join(found)} (Ctrl-C ends it)\n")
    sys.stdout.flush()
    if not st.get_option("server.headless"):
        cli_util.open_browser(found[0])
    yield


app = st.App(
    Path(__file__).with_name("app.py"),
    middleware=[Middleware(OwnFrames), Middleware(Guard), Middleware(Attendance), Middleware(OneStepBack)],
    lifespan=_print_links,
)
