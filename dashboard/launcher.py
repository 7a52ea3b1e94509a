"""Launcher of the dashboard's Streamlit server that imports slow modules while the browser is still connecting.

Streamlit imports the app only when a page is opened, and the visitor would have to wait for pandas.
"""

import importlib
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import uvicorn.config
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.web import cli
from streamlit.web.server.starlette import starlette_server

from dashboard.kept_uploads import KeptUploads

FIRST = ("pandas", "streamlit.dataframe_util", "plotly.subplots", "dashboard.figures.leaderboard")
"""Modules that the first page needs, without those with caches, which need a running server."""


def _import_modules() -> None:
    for name in FIRST:
        importlib.import_module(name)


def _join_pool(number: int, folder: str) -> None:
    """Serve on an inherited socket instead of the public port, share chosen files, and end with the proxy."""
    KeptUploads.folder = Path(folder)
    memory_uploaded_file_manager.MemoryUploadedFileManager = KeptUploads  # type: ignore[misc]
    starlette_server._bind_server_socket = lambda _, address, *rest: (socket.socket(fileno=number), address)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    os.read(0, 1)  # returns when the other end of the pipe is closed
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    if sys.argv[1] == "pool":  # started by dashboard/workers.py
        _join_pool(int(sys.argv[2]), sys.argv[3])
        del sys.argv[1:4]
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn"]["level"] = "WARNING"  # hides its start message
    threading.Thread(target=_import_modules, daemon=True).start()
    cli.main()
