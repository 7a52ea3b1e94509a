"""The look of a page: which theme is on, and the one style block."""

from __future__ import annotations

import streamlit as st

from dashboard import state
from dashboard.figures.drawing import asset
from dashboard.figures.theme import DARK, LIGHT, Look

NAMED = ("paper", "panel", "ink", "muted", "accent", "plus", "minus", "wrong", "right")

_theme = st.components.v2.component(
    "sentiscope_theme", html='<div class="theme"></div>', css=asset("theme.css"), js=asset("theme.js")
)

_history = st.components.v2.component(
    "sentiscope_history", html="<div></div>", js=f"{asset('history.js')}export default () => {{}};"
)


def look() -> Look:
    """Return how figures are to be drawn for this visitor."""
    return Look(dark=st.context.theme.type == "dark", projector=state.projector())


def style() -> None:
    """Send the page's style sheet, with the colours of both themes as variables of which the browser chooses one."""
    names = {**{name: name for name in NAMED}, "rule": "grid"}
    pairs = {name: (getattr(LIGHT, token), getattr(DARK, token)) for name, token in names.items()}
    colours = "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())
    root = "html{font-size:21px}" if state.projector() else ""
    # What opens above the page hangs outside of it, where the browser knows of no theme.
    above = f"[data-testid=stPopoverBody]{{color-scheme:{'dark' if look().dark else 'light'}}}"
    st.html(f"<style>:root{{{colours}}}{root}{above}{asset('page.css')}</style>")


def add_style(name: str) -> None:
    """Send a further style sheet of `assets`, for what some pages alone have."""
    st.html(f"<style>{asset(name)}</style>")


def one_step_back() -> None:
    """Make *Back* lead to the page before with one press, whatever was chosen on this one."""
    _history(key="history")


def follow_theme() -> None:
    """Draw the figures anew when a person switches the theme; the style sheet alone does not reach into them."""
    _theme(key="theme", data={"dark": look().dark}, on_changed_change=lambda: None)


def row_height() -> int:
    """Return the pixels of a table row; the text of tables follows the root font size by itself."""
    return 48 if state.projector() else 38
