"""Evaluation of a run on other data: the choice of data, a table that matches labels, and a separate process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.data import library
from core.exceptions import SentiscopeError
from core.numbers import count
from core.runs import errands
from core.runs.errands import OnWait
from core.runs.record import RunRecord
from core.runs.store import RunStore
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.metrics import ELSEWHERE_CONFUSION, ELSEWHERE_METRICS, ELSEWHERE_VALUES, measured_stats
from dashboard.widgets.bars import stats
from dashboard.widgets.figure import caption, show
from dashboard.widgets.messages import finding, notes, problem, progress
from dashboard.widgets.style import row_height

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.judged import Offered

USUAL = "test, or all"
LEFT_OUT = "leave out"
NONE = "nothing"
HOW = (
    "Nothing is trained. Its labels are matched with the classes of this run, and the rows that it was trained on are "
    "found and counted."
)


@dataclass(frozen=True)
class OtherData:
    """The data and options of an evaluation, as `core.api.evaluate` takes them."""

    run: str
    data: str
    split: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    against: str = ""
    limit_test: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """Return the command of the evaluation."""
        given = {"--data": self.data, "--split": self.split, "--by": self.by, "--against": self.against}
        given["--limit"] = str(self.limit_test or "")
        words = [word for name, value in given.items() if value for word in (name, value)]
        words += [word for old, new in self.rename.items() for word in ("--map", f"{old}={new}")]
        words += [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return ["evaluate", self.run, "--json", *words]


def evaluate_apart(wanted: OtherData, on_wait: OnWait) -> dict[str, Any]:
    """Run `sentiscope evaluate --json`; return its result, `on_wait` and errors as of `core.runs.errands.answer`."""
    name = f"evaluate-{os.getpid()}-{time.time_ns()}"
    found: dict[str, Any] = errands.answer(RunStore(), wanted.words, name, on_wait=on_wait)
    return found


def elsewhere(record: RunRecord) -> dict[str, pd.DataFrame]:
    """Show the section on other data; return the tables of the results."""
    with st.expander("Evaluate on other data"):
        caption(HOW)
        chosen = _chosen()
        if chosen is not None:
            _match(record, chosen)
        return _shown(state.draft(state.ELSEWHERE, None), record)


def _chosen() -> OtherData | None:
    known, typed = access.names(here=True), state.draft("elsewhere-data", None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.selectbox(
            "Other data",
            [*known, typed] if typed and typed not in known else known,
            index=None,
            key="elsewhere-data",
            accept_new_options=True,
            width=260,
            placeholder="A name, or a path",
            help="A known name, or the path of a labelled file or folder on this machine",
        )
        split = st.selectbox(
            "Split there",
            [USUAL, "train", "validation", "test"],
            key="elsewhere-split",
            accept_new_options=True,
            width=160,
            help="A single file is one split",
        )
    file = st.file_uploader("Or a labelled file", type=access.KINDS, key="elsewhere-file")
    split = "" if split in (None, USUAL) else split
    try:
        if file is not None:
            kept = library.keep_file(access.library_folder(), file.name, file.getvalue())
            return OtherData("", str(kept), split)
        if name:
            settings = dict(access.option(name).settings)
            source = str(settings.pop("data.name"))
            reading = {name: value for name, value in settings.items() if name.startswith("data.")}
            return OtherData("", source, split, settings=reading)
    except SentiscopeError as error:
        problem("These data cannot be used", str(error))
    return None


def _match(record: RunRecord, chosen: OtherData) -> None:
    try:
        offered = data.offered(record, chosen.data, chosen.split, tuple(sorted(chosen.settings.items())))
    except SentiscopeError as error:
        problem("These data cannot be used", str(error))
        return
    meant = _table(record, offered)
    rename = {label: "" if name == LEFT_OUT else name for label, name in meant.items() if name is not None}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        by = st.selectbox("By", [NONE, *offered.columns], key=f"elsewhere-by-{chosen.data}", width=180)
        others = [other.run for other in data.runs() if _comparable(other, record)]
        against = st.selectbox("Against", [NONE, *others], key="elsewhere-against", width=220)
        limit = st.number_input("Rows at most", 0, value=0, step=1000, key="elsewhere-limit", width=150, help="0: all")
        by, against = ("" if each in (None, NONE) else each for each in (by, against))
        told: dict[str, Any] = {"by": by, "against": against, "limit_test": int(limit or 0)}
        wanted = replace(chosen, run=record.run, rename=rename, **told)
        lacking = [label for label, name in meant.items() if name is None]
        start = st.button("Evaluate", type="primary", key="elsewhere-start", disabled=bool(lacking))
    if lacking:
        means, its = ("means", "its") if len(lacking) == 1 else ("mean", "their")
        caption(f"Say first what {', '.join(map(repr, lacking))} {means}, or leave {its} rows out.")
    if start:
        _measure(wanted)


def _comparable(other: RunRecord, record: RunRecord) -> bool:
    same = other.task == record.task and set(other.classes) == set(record.classes)
    return other.status == "done" and other.run != record.run and same


def _table(record: RunRecord, offered: Offered) -> dict[str, str | None]:
    """Show the labels to be matched; return label → class, `LEFT_OUT`, or None if it is undecided."""
    import pandas as pd

    names = [LEFT_OUT if name == "" else name for name in offered.meant.values()]
    classes = [*record.classes, LEFT_OUT]
    rows = pd.DataFrame({"label": list(offered.labels), "rows": list(offered.labels.values()), "class": names})
    edited = st.data_editor(
        rows,
        hide_index=True,
        row_height=row_height(),
        width="content",
        disabled=["label", "rows"],
        column_config={
            "label": st.column_config.TextColumn("Label there", width=220),
            "rows": st.column_config.NumberColumn("Rows", width=90),
            "class": st.column_config.SelectboxColumn("Class of this run", options=classes, width=220),
        },
        key=state.current(f"elsewhere-labels-{record.run}-{offered.split}-{'-'.join(offered.labels)[:80]}"),
    )
    caption(f"{count(offered.rows)} labelled rows, split {offered.split}. Click a class to change it.")
    named = zip(edited["label"], edited["class"], strict=True)
    return {str(label): None if pd.isna(name) else str(name) for label, name in named}


def _measure(wanted: OtherData) -> None:
    """Measure in another process; any click meanwhile, *Stop* too, ends it."""
    st.button("Stop", icon=":material/stop:", key="elsewhere-stop", help="Nothing half done is kept")
    place = st.empty()

    def tell(what: str, share: float) -> None:
        """Show the progress of the evaluation."""
        with place:
            progress("Evaluating", what, share)

    try:
        state.put(state.ELSEWHERE, evaluate_apart(wanted, tell))
    except SentiscopeError as error:
        place.empty()
        problem("It could not be evaluated", str(error))
        return
    st.rerun()


def _shown(measured: dict[str, Any] | None, record: RunRecord) -> dict[str, pd.DataFrame]:
    if measured is None or measured["run"] != record.run:
        return {}
    stats(measured_stats(measured))
    for sentence in measured["warnings"]:
        finding("Before you quote this", sentence)
    if pair := measured.get("against"):
        finding(f"Against {pair['second']}", f"{pair['verdict']}: {pair['metric']} {pair['difference']:+.3f}.")
    left = [f"{name}: not defined, since {reason}" for name, reason in measured["left_out"].items()]
    notes([*measured["notes"], *left])
    show(ELSEWHERE_METRICS, measured)
    tables = ELSEWHERE_METRICS.numbers(measured)
    for figure, there in ((ELSEWHERE_CONFUSION, measured["task"] == "single"), (ELSEWHERE_VALUES, "by" in measured)):
        if there:
            show(figure, measured)
            tables |= figure.numbers(measured)
    return tables
