"""The report of a page as one file, built on request and not whenever the page is drawn."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.exceptions import SentiscopeError, StorageError
from core.fingerprint import fingerprint
from core.numbers import whole_percent
from dashboard import access, state
from dashboard.data import data
from dashboard.widgets.messages import problem

_ONE = threading.Lock()
"""Reports are put together one after the other: each takes seconds of a core, and a class has many visitors."""


@dataclass(frozen=True)
class Asked:
    """The request for a report; the last report is offered while the request stays the same."""

    runs: tuple[str, ...]
    split: str
    author: str
    codes: str = ""
    """A coded session; empty: the run, or what is compared."""
    version: str = ""
    """Of the codes and slices of the data."""

    @property
    def name(self) -> str:
        """Return the name of the report's file."""
        return "-".join(filter(None, ("-".join(self.runs)[:120], self.split, self.codes[:40])))


def report_button(runs: Sequence[str], split: str, *, sessions: Mapping[str, str] | None = None, now: str = "") -> None:
    """Show a button that makes the report, then one that saves it; on a projector none.

    `sessions` are coded sessions that there may be a report of, with their words; `now` is the one that is shown.

    It is no fragment: Streamlit identifies a fragment by its place on the page, and drops a click on one whose place
    another run of the page has changed meanwhile.
    """
    if not state.projector():
        _offer(tuple(runs), split, sessions or {}, now)


def _offer(runs: tuple[str, ...], split: str, sessions: Mapping[str, str], now: str) -> None:
    kept: tuple[Asked, str] | None = state.draft(state.REPORT, None)
    with st.container(key="report", horizontal=True, vertical_alignment="center", gap="medium"):
        codes = _session(sessions, now) if sessions else ""
        version = ""
        with contextlib.suppress(StorageError):  # then a report cannot be made either, which says why
            version = data.written(runs[0])
        of = Asked(runs, split, state.author(), codes, version)
        st.button(
            "Report · HTML",
            key="make-report",
            type="tertiary",
            on_click=state.put,
            args=(state.REPORT_ASKED, of),
            help="Figures, tables, codes, settings, data card and predictions in one file that opens without a network",
        )
        asked: Asked | None = state.draft(state.REPORT_ASKED, None)
        # The author, the session and the codes may have changed since the button was drawn: it is of what they are now.
        if asked and (asked.runs, asked.split) == (runs, split):
            kept = _made(of)
            state.forget(state.REPORT_ASKED)
        if kept and kept[0] == of:
            megabytes = f"{len(kept[1].encode('utf-8', 'replace')) / 1e6:.1f} MB"
            st.download_button(
                f"Save the report, {megabytes}",
                partial(str, kept[1]),
                f"sentiscope-report-{of.name}.html",
                "text/html",
                key="save-report",
                type="tertiary",
                on_click="ignore",
            )


def _session(sessions: Mapping[str, str], now: str) -> str:
    names = ["", *sessions]
    return st.selectbox(
        "Report of",
        names,
        index=names.index(now) if now in names else 0,
        format_func=lambda name: sessions.get(name, "the run"),
        key=f"report-of-{fingerprint([*names, now])[:12]}",
        label_visibility="collapsed",
        width=320,
    )


def _made(of: Asked) -> tuple[Asked, str] | None:
    from dashboard.reports.build import build

    bar = st.progress(0.0, "waiting for another report to be done")

    def tell(what: str, share: float | None) -> None:
        """Show the progress of the report."""
        bar.progress(share or 0.0, what if share is None else f"{what}, {whole_percent(share)}")

    try:
        with _ONE:
            made = build(
                of.runs,
                codes=of.codes,
                split=of.split,
                author=of.author,
                no_paths=not access.local(),
                store=data.store(),
                on_progress=tell,
            )
    except SentiscopeError as error:
        problem("There is no report", str(error))
        return None
    finally:
        bar.empty()
    kept = of, made.markup
    state.put(state.REPORT, kept)
    return kept
