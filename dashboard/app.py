"""Entry point of the dashboard: navigation, the chosen run of all pages, and projector mode.

Start it with `sentiscope dashboard` or `python -m streamlit run dashboard/app.py`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import streamlit as st

# `streamlit run dashboard/app.py` without an installation knows only this folder.
if importlib.util.find_spec("dashboard") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.exceptions import SentiscopeError
from dashboard import state
from dashboard.data import adopt_once, freeze_once
from dashboard.screens import PAGES
from dashboard.widgets.messages import stopped
from dashboard.widgets.runs import chosen_record, refused, run_picker
from dashboard.widgets.selected import selection_bar
from dashboard.widgets.style import follow_theme, one_step_back, style

st.set_page_config(
    "Sentiscope",
    page_icon="\U0001f50e",  # a character: a material icon would be fetched from an outside host
    layout="wide",
    initial_sidebar_state="collapsed" if state.projector() else 230,
)
style()
state.forget(state.SAID)
pages = [
    st.Page(f"screens/{file}.py", title=each.title, icon=f":material/{each.icon}:", default=file == "overview")
    for file, each in PAGES.items()
]
page = st.navigation(pages, expanded=True)
try:
    adopt_once()
    with st.sidebar:
        one_step_back()
        run_picker()
        st.toggle("Projector", key=state.PROJECTOR, bind="query-params", help="Larger text and lines, fewer controls")
        follow_theme()
    state.put(state.HERE, page.url_path or next(iter(PAGES)))
    record = chosen_record()
    if record is not None and record.task != "tokens":
        selection_bar(record)
    if not refused(record, state.draft(state.HERE, "")):
        page.run()
    freeze_once()
except SentiscopeError as error:
    stopped(error)
