"""Messages of pages: headers, findings, problems, progress and the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from dashboard import state

_MARKS = re.compile(r"[!-/:-@\[-`{-~]")


def escape_label(text: str) -> str:
    """Return a person's text as the label of a widget: labels are markdown, and nothing in this one is a mark."""
    return _MARKS.sub(r"\\\g<0>", text)


def as_sentence(reason: object) -> str:
    """Return a reason with a capital and a full stop."""
    return f"{str(reason)[:1].upper()}{str(reason)[1:]}."


def show_header(title: str, question: str, facts: Sequence[tuple[str, str]] = (), *, low: bool = False) -> None:
    """Show title and question on the left, facts, (strong, plain), on the right; a `low` one takes a single line."""
    between = " · " if low else "<br>"
    right = between.join(f"<b>{escape(strong)}</b> {escape(plain)}" for strong, plain in facts)
    st.html(
        f'<div class="s-head{" s-low" if low else ""}"><div><h1>{escape(title)}</h1><p>{escape(question)}</p></div>'
        f'<div class="s-run">{right}</div></div>'
    )


def show_next_step(title: str, text: str, button: str, page: str, run: str) -> None:
    """Show the one thing to do next; the button leads to `page` with `run` chosen."""
    with st.container(key="next", horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.html(f'<div class="s-next"><b>{escape(title)}</b><span>{escape(text)}</span></div>', width="content")
        chosen = (run,) if run else (state.get_run(),)
        if st.button(button, type="primary", key="next-action", on_click=state.choose_run, args=chosen):
            state.open_page(page)


def show_empty(title: str, text: str, button: str, page: str) -> None:
    """Show what would be here, how to get it, and the button for it."""
    st.html(f'<div class="s-empty"><b>{escape(title)}</b><span>{escape(text)}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        if st.button(button, type="primary", key="empty-action"):
            state.open_page(page)


def show_problem(title: str, text: str) -> None:
    """Show a problem, its place, and how to solve it."""
    _show_message(title, text, "var(--wrong)")


def show_error(error: SentiscopeError) -> None:
    """Show why a page, or a part of one, cannot be drawn, and what to do."""
    more = "\nRestore the file, or choose another run in the sidebar." if isinstance(error, RunDamaged) else ""
    show_problem("This page cannot continue", f"{error}{more}")


def show_finding(title: str, text: str) -> None:
    """Show a finding that changes how a figure is read."""
    _show_message(title, text, "var(--accent)")


def show_shift(differences: Mapping[str, Any] | None) -> None:
    """Show how texts differ from training beyond chance (`core.evaluation.split_differences`), if they do."""
    if differences and differences["warnings"]:
        show_finding(f"{differences['name']} differs from {differences['known']}", " ".join(differences["warnings"]))


def _show_message(title: str, text: str, colour: str) -> None:
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))  # text to type
    st.html(f'<div class="s-msg" role="status" style="--c:{colour}"><b>{escape(title)}</b><p>{words}</p></div>')


def show_summary(sentence: str, more: str = "") -> None:
    """Show what a page has found, in one computed sentence, and one that qualifies it."""
    rest = f"<p>{escape(more)}</p>" if more else ""
    st.html(f'<div class="s-open" role="status"><h2>{escape(sentence)}</h2>{rest}</div>')


def show_selection(what: str, why: str) -> None:
    """Show a selection and the reason for it."""
    st.html(f'<div class="s-sel"><b>{escape(what)}</b> <span>{escape(why)}</span></div>', width="stretch")


def show_progress(what: str, detail: str, share: float) -> None:
    """Show a progress bar (`share` 0 to 1) with its task and details."""
    percent = round(100 * min(max(share, 0), 1))
    st.html(
        f'<div class="s-say"><b>{escape(what)}</b> <span>· {escape(detail)}</span>'
        f'<div class="s-prog" role="progressbar" aria-label="{escape(what)}" aria-valuenow="{percent}" '
        f'aria-valuemin="0" aria-valuemax="100"><div style="width:{percent}%"></div></div></div>'
    )


def show_notes(lines: Sequence[str]) -> None:
    """Show things worth knowing, one per line."""
    if lines:
        st.html(f'<ul class="s-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>')
