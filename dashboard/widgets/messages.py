"""What a page says when there is nothing to show, when something went wrong, or while something takes time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from dashboard import state


def empty(title: str, text: str, button: str, page: str) -> None:
    """What would be here, how to get it, and the button for it."""
    st.html(f'<div class="s-empty"><b>{escape(title)}</b><span>{escape(text)}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        if st.button(button, type="primary", key="empty-action"):
            state.go(page)


def problem(title: str, text: str) -> None:
    """What is wrong, where, and what to do."""
    _message(title, text, "var(--wrong)")


def stopped(error: SentiscopeError) -> None:
    """A page, or a part of one, that cannot be drawn: why, and what to do."""
    more = "\nBring the file back, or choose another run in the sidebar." if isinstance(error, RunDamaged) else ""
    problem("This page cannot continue", f"{error}{more}")


def finding(title: str, text: str) -> None:
    """Something that changes how a figure is to be read."""
    _message(title, text, "var(--accent)")


def differing(differences: Mapping[str, Any] | None) -> None:
    """Show in what texts differ from training beyond chance (`core.evaluation.differences`), if in anything."""
    if differences and differences["warnings"]:
        finding(f"{differences['name']} differs from {differences['known']}", " ".join(differences["warnings"]))


def _message(title: str, text: str, colour: str) -> None:
    st.html(
        f'<div class="s-msg" role="status" style="--c:{colour}"><b>{escape(title)}</b><p>{_commands(text)}</p></div>'
    )


def _commands(text: str) -> str:
    """Escaped, with what stands between backticks as something to type."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def opening(sentence: str, more: str = "") -> None:
    """What a page has found, in one computed sentence, and one that qualifies it."""
    rest = f"<p>{escape(more)}</p>" if more else ""
    st.html(f'<div class="s-open" role="status"><h2>{escape(sentence)}</h2>{rest}</div>')


def selection_note(what: str, why: str) -> None:
    """What is selected, and by what."""
    st.html(f'<div class="s-sel"><b>{escape(what)}</b> <span>{escape(why)}</span></div>', width="stretch")


def progress(what: str, detail: str, share: float) -> None:
    """One bold phrase, what is left, and a bar (`share` 0 to 1)."""
    percent = round(100 * min(max(share, 0), 1))
    st.html(
        f'<div class="s-say"><b>{escape(what)}</b> <span>· {escape(detail)}</span>'
        f'<div class="s-prog" role="progressbar" aria-label="{escape(what)}" aria-valuenow="{percent}" '
        f'aria-valuemin="0" aria-valuemax="100"><div style="width:{percent}%"></div></div></div>'
    )


def notes(lines: Sequence[str]) -> None:
    """Things worth knowing, one per line; nothing where there are none."""
    if lines:
        st.html(f'<ul class="s-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>')
