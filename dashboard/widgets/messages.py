"""Messages on dashboard pages: headers, findings, problems, progress and the suggested next step."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from dashboard import state

_MARKS = re.compile(r"[!-/:-@\[-`{-~]")


def escape_label(text: str) -> str:
    """Escape Markdown in a user's text, so that a widget label shows it literally."""
    return _MARKS.sub(r"\\\g<0>", text)


def as_sentence(reason: object) -> str:
    """Return an error or reason as a sentence, with a capital letter and a full stop."""
    return f"{str(reason)[:1].upper()}{str(reason)[1:]}."


def show_header(title: str, question: str, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Show a page's title, its question and, on the right, its (bold, plain) facts on one line."""
    right = " · ".join(f"<b>{escape(strong)}</b> {escape(plain)}" for strong, plain in facts)
    st.html(
        f'<div class="s-head"><div><h1>{escape(title)}</h1><p>{escape(question)}</p></div>'
        f'<div class="s-run">{right}</div></div>'
    )


def show_empty(title: str, text: str, button: str, page: str, **link: str) -> None:
    """Show what an empty page would contain, how to get it, and a button that leads there."""
    st.html(f'<div class="s-empty"><b>{escape(title)}</b><span>{escape(text)}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        if st.button(button, type="primary", key="empty-action"):
            state.open_page(page, **link)


def show_problem(title: str, text: str) -> None:
    """Show an error message: the problem as a title, and a text on how to solve it."""
    _show_message(title, text, "var(--wrong)")


def show_refusal(key: str, title: str) -> Any:
    """Show once why an action was refused (`state.store_refusal`); return the reason, None without a refusal."""
    if text := state.pop_value(key):
        show_problem(title, str(text))
    return text


def show_notice(key: str) -> None:
    """Show once what an action has done, if it has stored that under this session key."""
    if said := state.pop_value(key):
        st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')


@contextmanager
def explain_refusal(title: str) -> Iterator[None]:
    """Show an error that is raised inside as a problem with this title (context manager)."""
    try:
        yield
    except SentiscopeError as error:
        show_problem(title, str(error))


def show_error(error: SentiscopeError) -> None:
    """Show the error that stops a page or a part of it, with advice on what to do."""
    more = "\nRestore the file, or choose another run in the sidebar." if isinstance(error, RunDamaged) else ""
    show_problem("This page cannot continue", f"{error}{more}")


def show_finding(title: str, text: str) -> None:
    """Show a highlighted finding that changes how readers should interpret a figure."""
    _show_message(title, text, "var(--accent)")


def show_shift(differences: Mapping[str, Any] | None) -> None:
    """Show warnings if a split's texts differ from the training texts (`core.evaluation.split_differences`)."""
    if differences and differences["warnings"]:
        show_finding(f"{differences['name']} differs from {differences['known']}", " ".join(differences["warnings"]))


def _show_message(title: str, text: str, color: str) -> None:
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))  # text that users type
    st.html(f'<div class="s-msg" role="status" style="--c:{color}"><b>{escape(title)}</b><p>{words}</p></div>')


def show_summary(sentence: str, more: str = "") -> None:
    """Show a page's main finding as one computed sentence, optionally with a second sentence that qualifies it."""
    rest = f"<p>{escape(more)}</p>" if more else ""
    st.html(f'<div class="s-open" role="status"><h2>{escape(sentence)}</h2>{rest}</div>')


def show_selection(what: str, why: str) -> None:
    """Show one line with the selected sentences in words and the reason for the selection."""
    st.html(f'<div class="s-sel"><b>{escape(what)}</b> <span>{escape(why)}</span></div>', width="stretch")


def show_progress(what: str, detail: str, share: float) -> None:
    """Show a progress bar with its task, if one is given, and details; `share`: the finished fraction from 0 to 1."""
    percent = round(100 * min(max(share, 0), 1))
    name = f"<b>{escape(what)}</b> <span>· {escape(detail)}</span>" if what else escape(detail)
    st.html(
        f'<div class="s-say">{name}<div class="s-prog" role="progressbar" aria-label="{escape(what or detail)}" '
        f'aria-valuenow="{percent}" aria-valuemin="0" aria-valuemax="100">'
        f'<div style="width:{percent}%"></div></div></div>'
    )


def show_notes(lines: Sequence[str]) -> None:
    """Show a bulleted list of notes, one per line; nothing for an empty list."""
    if lines:
        st.html(f'<ul class="s-notes">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>')
