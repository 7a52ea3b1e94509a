"""Launcher of the dashboard's Streamlit server that imports slow modules while the browser is still connecting.

Streamlit imports the app only when a page is opened, and the visitor would have to wait for pandas.
"""

import importlib
import sys
import threading

import uvicorn.config
from streamlit.web import cli

FIRST = ("pandas", "streamlit.dataframe_util", "plotly.subplots", "dashboard.figures.leaderboard")
"""Modules that the first page needs, without those with caches, which need a running server."""


def _import_modules() -> None:
    for name in FIRST:
        importlib.import_module(name)


if __name__ == "__main__":
    if sys.argv[1] == "pool":  # started by dashboard/workers.py
        importlib.import_module("dashboard.pool_member").join_pool(int(sys.argv[2]), sys.argv[3])
        del sys.argv[1:4]
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn"]["level"] = "WARNING"  # hides its start message
    threading.Thread(target=_import_modules, daemon=True).start()
    cli.main()
