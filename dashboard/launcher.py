"""Launcher of the dashboard's Streamlit server that imports slow modules while the browser is still connecting.

Streamlit runs the app's code only when it is opened; the visitor would then wait for pandas.
"""

from __future__ import annotations

import importlib
import threading

import uvicorn.config
from streamlit.web import cli

FIRST = ("pandas", "streamlit.dataframe_util", "plotly.subplots", "dashboard.figures.leaderboard")
"""Modules that the first page needs. Those with caches are not among them: they want a server that is there."""


def _import_modules() -> None:
    for name in FIRST:
        importlib.import_module(name)


if __name__ == "__main__":
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn"]["level"] = "WARNING"  # its start concerns nobody here
    threading.Thread(target=_import_modules, daemon=True).start()
    cli.main()
