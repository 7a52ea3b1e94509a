"""The look of pages: the theme and the style sheet."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.figures.drawing import read_asset
from dashboard.figures.theme import DARK, LIGHT, Look

NAMED = ("paper", "panel", "ink", "muted", "accent", "plus", "minus", "wrong", "right")

_theme = st.components.v2.component(
    "sentiscope_theme", html='<div class="theme"></div>', css=read_asset("theme.css"), js=read_asset("theme.js")
)

_history = st.components.v2.component(
    "sentiscope_history", html="<div></div>", js=f"{read_asset('history.js')}export default () => {{}};"
)


def get_look() -> Look:
    """Return the look of figures for this visitor."""
    return Look(dark=st.context.theme.type == "dark", projector=state.is_projector())


def send_style() -> None:
    """Send the style sheet of the page, with the colours of both themes as variables."""
    names = {**{name: name for name in NAMED}, "rule": "grid"}
    pairs = {name: (getattr(LIGHT, token), getattr(DARK, token)) for name, token in names.items()}
    colours = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())
    root = "html{font-size:21px}" if state.is_projector() else ""
    # What opens above the page hangs outside of it, where the browser knows of no theme.
    above = f"[data-testid=stPopoverBody]{{color-scheme:{'dark' if get_look().dark else 'light'}}}"
    st.html(f"<style>:root{{{colours}}}{root}{above}{read_asset('page.css')}</style>")


def add_style(name: str) -> None:
    """Send another style sheet of `assets`, for pages that need it."""
    st.html(f"<style>{read_asset(name)}</style>")


def send_history_script() -> None:
    """Make *Back* lead to the page before with one press, whatever was chosen on this one."""
    _history(key="history")


def follow_theme() -> None:
    """Draw the figures again when a person switches the theme; the style sheet alone does not reach into them."""
    _theme(key="theme", data={"dark": get_look().dark}, on_changed_change=lambda: None)


def get_row_height() -> int:
    """Return the height of a table row in pixels; the text of tables follows the root font size."""
    return 48 if state.is_projector() else 38
