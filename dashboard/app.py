"""Entry point of the dashboard: page navigation, the run picker shared by all pages, and projector mode.

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
from dashboard.data import freeze_once, recover_runs_once
from dashboard.presenter import show_exhibit, show_talk_buttons
from dashboard.screens import PAGES
from dashboard.widgets.messages import show_error
from dashboard.widgets.runs import get_chosen_run, is_refused, pick_run
from dashboard.widgets.selection_bar import show_selection_bar
from dashboard.widgets.style import follow_theme, send_history_script, send_style

st.set_page_config(
    "Sentiscope",
    page_icon="\U0001f50e",  # a character: a material icon would be fetched from an outside host
    layout="wide",
    initial_sidebar_state="collapsed" if state.is_projector() else 230,
)
send_style()
state.drop_keys(state.SAID)
pages = [
    st.Page(f"screens/{file}.py", title=each.title, icon=f":material/{each.icon}:", default=file == "overview")
    for file, each in PAGES.items()
]
page = st.navigation(pages, expanded=True)
try:
    recover_runs_once()
    if state.is_presenting():
        show_exhibit(page.url_path or next(iter(PAGES)))
        follow_theme()
        st.stop()
    with st.sidebar:
        send_history_script()
        pick_run()
        show_talk_buttons()
        follow_theme()
    state.set_value(state.HERE, page.url_path or next(iter(PAGES)))
    record = get_chosen_run()
    if record is not None and record.task != "tokens":
        show_selection_bar(record)
    if not is_refused(record, state.get_value(state.HERE, "")):
        page.run()
    freeze_once()
except SentiscopeError as error:
    show_error(error)
