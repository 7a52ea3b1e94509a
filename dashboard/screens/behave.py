"""Behave: what everybody expects of a model, one capability at a time, and the sentences at which it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.behaviour.polarity import NONE
from core.behaviour.suite import POLARITIES, Suite
from core.exceptions import SentiscopeError
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.behavioral_tests import RATES, Behaved, consistent, failing, finding, rates_marks
from dashboard.figures.numbers import count
from dashboard.screens.behave_examples import class_list, way_to_examples
from dashboard.screens.behave_failing import failing_of, take_failing
from dashboard.screens.behave_suite import can_be_asked, chosen_suite, silent, suite_picker
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, show
from dashboard.widgets.header import header
from dashboard.widgets.messages import opening, problem
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look

if TYPE_CHECKING:
    import pandas as pd

QUESTION = "Can the model do what everybody expects, one capability at a time?"


def page() -> None:
    """The chosen run and others beside it, asked one suite."""
    record = chosen_run("Behave", QUESTION, purpose="What it can and cannot do stands here")
    if record is None:
        return
    try:
        suite = chosen_suite()
    except SentiscopeError as error:
        header("Behave", QUESTION, facts(record))
        problem("This suite cannot be asked", str(error))
        suite_picker(record, [])
        export_bar("behave", class_list(record, []), figures=False)
        return
    size = f"{len(suite.tests)} tests, {len(suite.capabilities)} capabilities, {count(suite.size)} cases"
    header("Behave", QUESTION, facts(record, (suite.name, size)))
    others = [one for one in data.runs_with_weights() if one.run != record.run and can_be_asked(one)]
    beside = suite_picker(record, others)
    by_name = {one.run: one for one in others}
    way_to_examples()
    tables = _asked(record, suite, [by_name[name] for name in beside])
    export_bar("behave", tables | class_list(record, beside), figures=False)


def _asked(record: RunRecord, suite: Suite, others: Sequence[RunRecord]) -> dict[str, pd.DataFrame]:
    """What they say to the suite; gives its tables."""
    sides = _sides(record)
    if sides is None:
        return {}
    judged, refused = {}, []
    for one in (record, *others):
        try:
            judged[one.run] = data.judged(one.run, suite, sides if one is record else {})
        except SentiscopeError as error:
            refused.append((one.run, str(error)))
    for run, why in refused:
        problem(f"{run} cannot be asked", why)
    return _show(Behaved(judged, record.run)) if record.run in judged else {}


def _show(behaved: Behaved) -> dict[str, pd.DataFrame]:
    opening(*finding(behaved))
    rows = rates_marks(behaved, look().tokens).ids
    asked = state.carried(state.CAPABILITY)
    begun = asked if asked in rows else rows[0]
    found = show(
        RATES,
        replace(behaved, picked=begun),
        default={"picked": begun},
        on_picked_change=partial(_take, behaved),
        on_unfolded_change=_told,
    )
    picked = found.get("picked") if found.get("picked") in rows else begun
    state.carry(state.CAPABILITY, picked)
    if sets := consistent(behaved):
        caption(sets)
    return RATES.numbers(behaved) | failing_of(behaved, picked)


def _take(behaved: Behaved) -> None:
    """What fails of the picked row is selected on all pages."""
    if picked := state.picked(RATES.name):
        run = state.asked(state.FAILS)
        take_failing(failing(behaved, picked, run if run in behaved.runs else behaved.run))


def _told() -> None:
    """A component tells only what somebody listens to."""


def _sides(record: RunRecord) -> dict[str, str] | None:
    """What the classes of a run mean whose names and order do not say it; None until the person has said it of all."""
    if record.task == "multi" or not (unknown := silent(record)):
        return {}
    caption("These classes say nothing of negative and positive. What does each mean here?")
    with st.container(horizontal=True):
        said = {name: _side(name) for name in unknown}
    return said if all(said.values()) else None


def _side(name: str) -> str:
    key = f"{state.SIDE}{name}"
    return st.selectbox(name, [*POLARITIES, NONE], index=None, key=key, bind="query-params", width=160) or ""


page()
