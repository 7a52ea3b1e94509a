"""The dashboard's entrance: navigation, the run that all pages speak of, projector mode.

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
from dashboard.widgets.messages import stopped
from dashboard.widgets.runs import chosen_record, refused, run_picker
from dashboard.widgets.selected import selection_bar
from dashboard.widgets.style import follow_theme, one_step_back, style

PAGES = (
    ("overview", "Overview", "grid_view"),
    ("data", "Data", "table_rows"),
    ("models", "Models", "account_tree"),
    ("train", "Train", "play_circle"),
    ("sweeps", "Sweeps", "grid_on"),
    ("performance", "Performance", "target"),
    ("errors", "Errors", "rule"),
    ("compare", "Compare", "compare_arrows"),
    ("behave", "Behave", "checklist"),
    ("embeddings", "Embeddings", "scatter_plot"),
    ("sentence", "Sentence", "notes"),
    ("steps", "Steps", "footprint"),
    ("tokens", "Tokens", "label"),
    ("lambdas", "Lambdas", "timeline"),
)

st.set_page_config(
    "Sentiscope",
    page_icon="\U0001f50e",  # a character: a material icon would be fetched from an outside host
    layout="wide",
    initial_sidebar_state="collapsed" if state.projector() else 230,
)
style()
state.forget(state.SAID)
pages = [
    st.Page(f"screens/{file}.py", title=title, icon=f":material/{icon}:", default=file == "overview")
    for file, title, icon in PAGES
]
page = st.navigation(pages, expanded=True)
try:
    adopt_once()
    with st.sidebar:
        one_step_back()
        run_picker()
        st.toggle("Projector", key=state.PROJECTOR, bind="query-params", help="Larger text and lines, fewer controls")
        follow_theme()
    state.put(state.HERE, page.url_path or PAGES[0][0])
    record = chosen_record()
    if record is not None and record.task != "tokens":
        selection_bar(record, {file: title for file, title, _ in PAGES})
    if not refused(record, state.draft(state.HERE, ""), {file: title for file, title, _ in PAGES}):
        page.run()
    freeze_once()
except SentiscopeError as error:
    stopped(error)
