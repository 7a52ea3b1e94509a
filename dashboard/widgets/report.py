"""The report of what a page shows, as one file: put together when somebody asks, not whenever the page is drawn."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.exceptions import SentiscopeError
from core.numbers import whole_percent
from dashboard import access, data, state
from dashboard.widgets.messages import problem

_ONE = threading.Lock()
"""Reports are put together one after the other: each takes seconds of a core, and a class has many visitors."""


def report_button(runs: Sequence[str], split: str, *, author: str | None = None) -> None:
    """A button that makes the report, then one that saves it; on a projector none.

    Args:
        runs: One, or several that are compared.
        split: That the page shows.
        author: What this one may see of the codes; None: all.
    """
    if not state.projector():
        st.fragment(_offer)(tuple(runs), split, author)


def _offer(runs: tuple[str, ...], split: str, author: str | None) -> None:
    """Either of the two; the file is kept for this visitor until another one is made."""
    name = f"{'-'.join(runs)[:120]}-{split}"
    kept: tuple[tuple[str, ...], str, str] | None = state.draft(state.REPORT, None)
    with st.container(key="report", horizontal=True, vertical_alignment="center", gap="medium"):
        asked = st.button(
            "Report · HTML",
            key="make-report",
            type="tertiary",
            help="Figures, tables, codes, settings, data card and predictions in one file that opens without a network",
        )
        if asked:
            kept = _made(runs, split, author)
        if kept and kept[:2] == (runs, split):
            megabytes = f"{len(kept[2].encode('utf-8', 'replace')) / 1e6:.1f} MB"
            st.download_button(
                f"Save the report, {megabytes}",
                partial(str, kept[2]),
                f"sentiscope-report-{name}.html",
                "text/html",
                key="save-report",
                type="tertiary",
                on_click="ignore",
            )


def _made(runs: tuple[str, ...], split: str, author: str | None) -> tuple[tuple[str, ...], str, str] | None:
    """The report; None after it was said why there is none."""
    from dashboard.reports.build import build

    bar = st.progress(0.0, "waiting for another report to be done")

    def tell(what: str, share: float | None) -> None:
        bar.progress(share or 0.0, what if share is None else f"{what}, {whole_percent(share)}")

    try:
        with _ONE:
            made = build(
                runs,
                split=split,
                author=author,
                no_paths=not access.local(),
                store=data.store(),
                on_progress=tell,
            )
    except SentiscopeError as error:
        bar.empty()
        problem("There is no report", str(error))
        return None
    bar.empty()
    kept = runs, split, made.markup
    state.put(state.REPORT, kept)
    return kept
