"""Entry point of the dashboard: page navigation, the run picker shared by all pages, and projector mode.

Start it with `sentiscope dashboard` or `python -m streamlit run dashboard/app.py`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import streamlit as st

# Without an installation, `streamlit run dashboard/app.py` finds only modules in this folder.
if importlib.util.find_spec("dashboard") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.exceptions import SentiscopeError
from dashboard import state
from dashboard.data import data, freeze_once, recover_runs_once
from dashboard.presenter import show_exhibit, show_talk_buttons
from dashboard.screens import ALIASES, PAGES, Screen, list_entries
from dashboard.widgets.messages import show_error
from dashboard.widgets.runs import get_chosen_run, is_refused, pick_run
from dashboard.widgets.selection_bar import show_selection_bar
from dashboard.widgets.style import follow_theme, send_history_script, send_menu_style, send_style


def list_pages(entries: Mapping[str, Screen], home: str) -> list[st.Page]:
    """Return all pages for the navigation; those without an entry in the menu come last and open by their address.

    The address without a path opens the page `home`, which keeps its own address too, so that a link stays the same.
    """
    hidden = {name: name for name in PAGES if name not in entries} | ALIASES
    shown = [_make_page(name, name, "visible") for name in entries]
    others = [_make_page(name, address, "hidden") for address, name in hidden.items()]
    return [*shown, *others, _make_page(home, "home", "hidden", default=True)]


def _make_page(name: str, address: str, visibility: Literal["visible", "hidden"], *, default: bool = False) -> st.Page:
    title, icon = PAGES[name].title, f":material/{PAGES[name].icon}:"
    file = f"screens/{name}.py"
    return st.Page(file, title=title, icon=icon, url_path=address, default=default, visibility=visibility)


st.set_page_config(
    "Sentiscope",
    page_icon="\U0001f50e",  # a character, since a Material icon would be loaded from another host
    layout="wide",
    initial_sidebar_state="collapsed" if state.is_projector() else 230,
)
send_style()
state.drop_keys(state.SAID)
try:
    recover_runs_once()
    records = data.list_runs()
    home = "runs" if any(not data.store().is_starter(each.run) for each in records) else "start"
    entries = list_entries(tagging=any(each.task == "tokens" for each in records))
    shown = st.navigation(list_pages(entries, home), expanded=True)
    page = ALIASES.get(shown.url_path, shown.url_path) or home
    if state.is_presenting():
        follow_theme()
        show_exhibit(page)
        st.stop()
    send_menu_style(entries, "" if page == shown.url_path else page)
    with st.sidebar:
        send_history_script()
        pick_run()
        show_talk_buttons()
        follow_theme()
    state.set_value(state.HERE, page)
    record = get_chosen_run()
    if record is not None and record.task != "tokens":
        show_selection_bar(record)
    if not is_refused(record, page):
        shown.run()
    freeze_once()
except SentiscopeError as error:
    show_error(error)
