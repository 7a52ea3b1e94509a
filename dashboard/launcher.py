"""Launcher of the dashboard's Streamlit server, alone or as one of several processes (`dashboard.workers`).

Streamlit imports the app only when a page is opened, and the visitor would have to wait for pandas. So slow modules are
imported here while the browser is still connecting.
"""

import contextlib
import importlib
import json
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import uvicorn.config
from streamlit.runtime import memory_uploaded_file_manager
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web import cli
from streamlit.web.server.starlette import starlette_server

FIRST = ("pandas", "streamlit.dataframe_util", "plotly.subplots", "dashboard.figures.leaderboard")
"""Modules that the first page needs, without those with caches, which need a running server."""


def _import_modules() -> None:
    for name in FIRST:
        importlib.import_module(name)


_ID = re.compile("[0-9a-f-]{36}")


class KeptUploads(MemoryUploadedFileManager):
    """Streamlit's store of chosen files, with a copy of each in a folder of all server processes.

    A visitor whose process has died asks the next one for the same random file IDs in a new session.
    """

    folder = Path()

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Store a chosen file in memory and on disk."""
        if _ID.fullmatch(file.file_id):
            head = json.dumps([file.name, file.type]).encode()
            with contextlib.suppress(OSError):  # a full disk
                (self.folder / file.file_id).write_bytes(head + b"\n" + file.data)
            super().add_file(session_id, file)

    def get_files(self, session_id: str, file_ids: Sequence[str]) -> list[UploadedFileRec]:
        """Return chosen files by their IDs; those of a process that has died come from disk."""
        known = {file.file_id for file in super().get_files(session_id, file_ids)}
        for lost in filter(_ID.fullmatch, set(file_ids) - known):
            with contextlib.suppress(FileNotFoundError):
                head, _, data = (self.folder / lost).read_bytes().partition(b"\n")
                name, kind = json.loads(head)
                super().add_file(session_id, UploadedFileRec(lost, name, kind, data))
        return super().get_files(session_id, file_ids)

    def remove_file(self, session_id: str, file_id: str) -> None:
        """Delete a chosen file of a session."""
        if file_id in self.file_storage.get(session_id, ()):
            (self.folder / file_id).unlink(missing_ok=True)
        super().remove_file(session_id, file_id)

    def remove_session_files(self, session_id: str) -> None:
        """Delete the chosen files of a session that has ended."""
        for file_id in list(self.file_storage.get(session_id, ())):
            self.remove_file(session_id, file_id)
        super().remove_session_files(session_id)


def join_pool(number: int, folder: str) -> None:
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
        join_pool(int(sys.argv[2]), sys.argv[3])
        del sys.argv[1:4]
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn"]["level"] = "WARNING"  # hides its start message
    threading.Thread(target=_import_modules, daemon=True).start()
    cli.main()
