"""Theme and style sheets of the dashboard's pages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from dashboard import state
from dashboard.figures.drawing import read_asset
from dashboard.figures.theme import Look, write_colors
from dashboard.screens import Screen

_KEY = re.compile("[a-z0-9-]{1,40}")

_theme = st.components.v2.component(
    "sentiscope_theme", html='<div class="theme"></div>', css=read_asset("theme.css"), js=read_asset("theme.js")
)

_history = st.components.v2.component(
    "sentiscope_history", html="<div></div>", js=f"{read_asset('history.js')}export default () => {{}};"
)


def get_look() -> Look:
    """Return the theme of figures for this visitor: light or dark, and whether for a projector."""
    return Look(dark=st.context.theme.type == "dark", projector=state.is_projector())


def send_style() -> None:
    """Send the page's style sheet to the browser, with the colours of the light and dark themes as CSS variables."""
    root = "html{font-size:21px}" if state.is_projector() else ""
    if hidden := [name for name in state.read_link(state.HIDE).split(",") if _KEY.fullmatch(name)][:40]:
        places = ["[data-testid=stSidebar]" if name == "menu" else f".st-key-{name}" for name in hidden]
        root += f"{','.join(places)}{{display:none!important}}"
    # Menus and dialogs are outside the page element, where the theme's variables are not defined.
    above = f"[data-testid=stPopoverBody]{{color-scheme:{'dark' if get_look().dark else 'light'}}}"
    st.html(f"<style>:root{{{write_colors()}}}{root}{above}{read_asset('page.css')}</style>")


def send_menu_style(entries: Mapping[str, Screen], current: str) -> None:
    """Send the names of the menu's groups, shown before the first page of each, to the browser.

    Streamlit's own sections put a heading between list items, which screen readers cannot follow (axe: `list`).
    `current`: the page to mark in the menu, if its address in the link is another one than the menu's.
    """
    first = {each.group: name for name, each in list(entries.items())[::-1] if each.group}
    menu = "[data-testid=stSidebarNavItems]"
    rules = [f'{menu} li:has([href$="/{name}"])::before{{content:"{group}"}}' for group, name in first.items()]
    if current:
        rules.append(f'{menu} [href$="/{current}"]{{background:var(--rule)}}')
    st.html(f"<style>{''.join(rules)}</style>")


def add_style(name: str) -> None:
    """Send an additional style sheet from `assets` to the browser, for a page that needs one."""
    st.html(f"<style>{read_asset(name)}</style>")


def send_history_script() -> None:
    """Send a script that makes the browser's Back button leave a page with one press, whatever was chosen there."""
    _history(key="history")


def follow_theme() -> None:
    """Watch the browser's theme and rerun the page when it changes, since figures do not follow the style sheet."""
    _theme(key="theme", data={"dark": get_look().dark}, on_changed_change=lambda: None)


def split_page(name: str, widths: int | Sequence[float], gap: Literal["medium", "large"] = "large") -> list[Any]:
    """Return columns of a page with a key of their own, so that a style sheet can stack them on a narrow screen."""
    with st.container(key=f"pair-{name}"):
        return st.columns(widths, gap=gap)


def get_row_height() -> int:
    """Return the height of a table row in pixels, larger on a projector."""
    return 48 if state.is_projector() else 38
