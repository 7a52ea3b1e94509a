"""Entry point of the dashboard: page navigation, the run picker shared by all pages, and projector mode.

Start it with `sentiscope dashboard` or `python -m streamlit run dashboard/app.py`.
"""

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
from core.runs.record import RunRecord
from dashboard import state
from dashboard.classroom import find_classroom, record_visit
from dashboard.data import data, freeze_once, recover_runs_once
from dashboard.presenter import show_exhibit, show_talk_buttons
from dashboard.screens import ALIASES, NO_PAGE, PAGES, Screen, list_entries
from dashboard.selection import get_default_split
from dashboard.widgets.messages import show_error, show_finding
from dashboard.widgets.runs import get_chosen_run, is_refused, pick_run
from dashboard.widgets.selection_bar import show_selection_bar
from dashboard.widgets.style import follow_theme, send_history_script, send_menu_style, send_style

OF_SPLITS = ("performance", "errors", "compare", "embeddings")
"""Pages that show one split of a run."""


def list_pages(entries: Mapping[str, Screen], home: str) -> list[st.Page]:
    """Return all pages for the navigation; those without an entry in the menu come last and open by their address.

    The address without a path opens the page `home`, which keeps its own address too, so that a link stays the same.
    """
    hidden = {name: name for name in PAGES if name not in entries} | ALIASES
    shown = [_make_page(name, name, "visible") for name in entries]
    others = [_make_page(name, address, "hidden") for address, name in hidden.items()]
    return [*shown, *others, _make_page(home, "home", "hidden", default=True)]


def show_link_problem(page: str, home: bool, record: RunRecord | None) -> None:
    """Name the page or split of a link that does not exist, until another page, run or split is chosen."""
    if home and page != "start" and (asked := state.read_link(NO_PAGE)):
        show_finding(f"There is no page “{asked:.60}”", f"{PAGES[page].title} is shown instead.")
    if record is None or page not in OF_SPLITS:
        return
    asked, splits = state.read_link(state.SPLIT), data.list_splits(record.run)
    if asked and splits and asked not in splits:
        state.set_value(state.SPLIT_REFUSED, (page, record.run, get_default_split(splits), asked))
    *place, refused = state.get_value(state.SPLIT_REFUSED, ("", ""))
    if place and place == [page, record.run, asked if asked in splits else get_default_split(splits)]:
        show_finding(f"There is no split “{refused:.60}” of this run", f"The split {place[2]} is shown instead.")


@st.fragment(run_every=86_400.0)
def rerun_on_reconnect() -> None:
    """Draw nothing: a browser runs a page with a timer again when it reconnects, also to a new server process."""


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
    tagging, classroom = any(each.task == "tokens" for each in records), find_classroom() is not None
    entries = list_entries(tagging=tagging, classroom=classroom)
    shown = st.navigation(list_pages(entries, home), expanded=True)
    page = ALIASES.get(shown.url_path, shown.url_path) or home
    record_visit(page)
    if state.is_presenting():
        follow_theme()
        show_exhibit(page)
        rerun_on_reconnect()
        st.stop()
    send_menu_style(entries, "" if page == shown.url_path else page)
    with st.sidebar:
        send_history_script()
        pick_run()
        show_talk_buttons()
        follow_theme()
        rerun_on_reconnect()
    state.set_value(state.HERE, page)
    state.set_value(state.ADDRESS, shown.url_path)
    record = get_chosen_run()
    if record is not None and record.task != "tokens":
        show_selection_bar(record)
    show_link_problem(page, shown.url_path in ("", "home"), record)
    if not is_refused(record, page):
        shown.run()
    freeze_once()
except SentiscopeError as error:
    show_error(error)
