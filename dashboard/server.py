"""The dashboard as a server: its pages, and what every answer tells a browser.

`sentiscope dashboard` serves this file. Plain `streamlit run dashboard/app.py` serves the pages alone, without it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import cli_util

from core.serve import links
from dashboard.guard import Guard


class OwnFrames:
    """No page of another origin may show ours in a frame, where a click could be led astray."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with one more header."""

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Content-Security-Policy", "frame-ancestors 'self'")
            await send(message)

        await self.app(scope, receive, framed)


@contextlib.asynccontextmanager
async def _served(app: st.App) -> AsyncIterator[None]:
    """Say where, as soon as the port is ours."""
    address, port, hosts = (st.get_option(f"server.{name}") for name in ("address", "port", "allowedHosts"))
    found = links(address, port, hosts)
    sys.stdout.write(f"Sentiscope is at {' and '.join(found)} (Ctrl-C ends it)\n")
    sys.stdout.flush()
    if not st.get_option("server.headless"):
        cli_util.open_browser(found[0])
    yield


app = st.App(
    Path(__file__).with_name("app.py"), middleware=[Middleware(OwnFrames), Middleware(Guard)], lifespan=_served
)
