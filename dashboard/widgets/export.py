"""What a page offers to download: figures as SVG or PNG, tables as CSV, and a report, which is built on request."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from core.exceptions import SentiscopeError, StorageError
from core.formatting import format_csv, whole_percent
from dashboard import state
from dashboard.data import data
from dashboard.figures.drawing import read_asset
from dashboard.widgets.messages import show_problem

if TYPE_CHECKING:
    import pandas as pd

_KINDS = "".join(f'<button type="button" value="{kind.lower()}">Figures · {kind}</button>' for kind in ("SVG", "PNG"))
_figures = st.components.v2.component(
    "sentiscope_export",
    html=f'<div class="s-export">{_KINDS}</div>',
    css=read_asset("export.css"),
    js=read_asset("export.js"),
)

Table: TypeAlias = "pd.DataFrame | Callable[[], pd.DataFrame]"
"""A table, or a function that returns it; the CSV is made on click, since a rerun drops files made before."""
Tables: TypeAlias = "dict[str, pd.DataFrame]"
"""Tables of a part of a page by name."""


def offer_download(
    label: str, content: Callable[[], str | bytes], file: str, kind: str, key: str, about: str | None = None
) -> None:
    """Show a button that downloads a file, which is made on click."""
    st.download_button(label, content, file, kind, key=key, help=about, type="tertiary", on_click="ignore")


def show_export_bar(
    page: str,
    tables: Mapping[str, Table],
    *,
    figures: bool = True,
    texts: Mapping[str, tuple[str, Callable[[], str]]] | None = None,
) -> None:
    """Show a menu of buttons that download the page's figures and tables as files; nothing on a projector.

    `texts`: further files, label → name of the file and the function that writes it.
    """
    if state.is_projector():
        return
    with st.popover("Export", key="export", type="tertiary"):
        if figures:
            _figures(key="export-figures", width="content")
        for name, table in tables.items():
            make = partial(lambda table: format_csv(table() if callable(table) else table), table)
            file = f"sentiscope-{page}-{name.lower().replace(' ', '-')}.csv"
            offer_download(f"{name} · CSV", make, file, "text/csv", f"export-{name}")
        for label, (file, write) in (texts or {}).items():
            offer_download(label, write, f"sentiscope-{page}-{file}", "text/plain", f"export-{file}")


_ONE = threading.Lock()  # reports are built one at a time, since each needs a processor core for seconds


@dataclass(frozen=True)
class ReportRequest:
    """What a report is about: the runs, the split, and the annotator."""

    runs: tuple[str, ...]
    split: str
    author: str
    version: str = ""  # version of the codes and slices of the data


def offer_report(runs: Sequence[str], split: str) -> None:
    """Show a button that builds a report of runs, then one that downloads it; nothing on a projector.

    This is not a fragment: Streamlit identifies a fragment by its position on the page, and drops a click if a rerun
    has changed this position.
    """
    if state.is_projector():
        return
    runs = tuple(runs)
    kept: tuple[ReportRequest, str] | None = state.get_value(state.REPORT, None)
    with st.container(key="report", horizontal=True, vertical_alignment="center", gap="medium"):
        version = ""
        with contextlib.suppress(StorageError):  # building the report raises the same error
            version = data.read_codes_version(runs[0])
        of = ReportRequest(runs, split, state.get_author(), version)
        about = "Figures, tables, codes, settings, data card and predictions in one file that works offline"
        ask = partial(state.set_value, state.REPORT_ASKED, of)
        st.button("Report · HTML", "make-report", about, ask, type="tertiary")
        asked: ReportRequest | None = state.get_value(state.REPORT_ASKED, None)
        # Author and codes may have changed since the button was drawn: the report uses the current ones.
        if asked and (asked.runs, asked.split) == (runs, split):
            kept = _build_report(of)
            state.drop_keys(state.REPORT_ASKED)
        if kept and kept[0] == of:
            megabytes = f"{len(kept[1].encode('utf-8', 'replace')) / 1e6:.1f} MB"
            named = "-".join(filter(None, ("-".join(runs)[:120], split)))
            label, file = f"Save the report, {megabytes}", f"sentiscope-report-{named}.html"
            offer_download(label, partial(str, kept[1]), file, "text/html", "save-report")


def _build_report(of: ReportRequest) -> tuple[ReportRequest, str] | None:
    from dashboard import access
    from dashboard.reports.build import build_report

    bar = st.progress(0.0, "waiting for another report")

    def show_step(what: str, share: float | None) -> None:
        bar.progress(share or 0.0, what if share is None else f"{what}, {whole_percent(share)}")

    try:
        with _ONE:
            own: dict[str, Any] = {"split": of.split, "author": of.author, "no_paths": not access.is_local()}
            made = build_report(of.runs, **own, store=data.store(), on_progress=show_step)
    except SentiscopeError as error:
        show_problem("The report was not made", str(error))
        return None
    finally:
        bar.empty()
    kept = of, made.markup
    state.set_value(state.REPORT, kept)
    return kept
