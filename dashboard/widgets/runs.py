"""The chosen run: the picker in the sidebar, and messages of pages that have no run to show."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core.exceptions import SentiscopeError
from core.models.provides import provides
from core.runs.efficiency import measure_apart
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.naming import data_name
from dashboard.figures.results import offered
from dashboard.screens import PAGES
from dashboard.widgets.messages import empty, finding, header, problem

SHORT = 20
"""Characters that the picker shows of a name; a longer one stands below it as well."""
STARTER = "It comes with Sentiscope: install that again, or in a checkout `git restore trained`."
"""What to do about a starter run that is damaged; it cannot be deleted."""
WHAT = "Its record, curves, weights, predictions and maps are deleted for good; other runs are not touched."


def run_picker() -> None:
    """Show the run picker, bound to the URL; a link without a run gets a default one."""
    records = data.runs()
    names = [record.run for record in records]
    asked = state.in_link(state.RUN)
    if requested := state.draft(state.REQUESTED, ""):
        state.put(state.RUN, requested)
    if asked and asked not in names and not state.run():
        state.put(state.MISSING, asked)
    elif names and not state.run() and not state.draft(state.MISSING, ""):
        state.initial(state.RUN, (offered(records) or records[0]).run)  # none finished: the newest
    if said := state.take(state.REMOVED):
        finding(*said)
    st.html('<p class="s-label">Run</p>')
    st.selectbox(
        "Run: every page speaks of it",
        names,  # as they are: what is shown here is what the URL carries
        index=None,
        key=state.RUN,
        bind="query-params",
        placeholder="Choose a run" if names else "No run yet",
        required=True,
        label_visibility="collapsed",
        disabled=not names,
    )
    state.forget(state.REQUESTED)  # the browser knows it now
    if state.run():
        state.forget(state.MISSING)
        if len(state.run()) > SHORT:
            st.html(f'<p class="s-name">{escape(state.run())}</p>')


def measure_speed(runs: Sequence[str], doing: str, failed: str) -> None:
    """Measure the time and memory of a prediction of runs, and run the page again; `failed` heads an error."""
    try:
        with st.spinner(doing):
            measure_apart(data.store(), runs)
    except SentiscopeError as error:
        problem(failed, str(error))
    else:
        st.rerun()


def chosen_record() -> RunRecord | None:
    """Return the chosen run's record; None where none is chosen, or it is not there or damaged."""
    found = next((record for record in data.runs() if record.run == state.run()), None)
    return None if found is None or found.status == "damaged" else found


def chosen_run(title: str, question: str, *, purpose: str) -> RunRecord | None:
    """Return the chosen run's record; if there is nothing to show, show why and return None.

    `purpose` says what the page would show with a run, such as "Its metrics and mistakes stand here".
    """
    records = {record.run: record for record in data.runs()}
    record = records.get(state.run())
    if record is not None and record.status != "damaged":
        return record
    header(title, question)
    if missing := state.draft(state.MISSING, ""):
        where = "It was renamed, removed, or made elsewhere. Choose another in the sidebar."
        problem(f"There is no run “{missing}” here", where)
    elif not records:
        text = f"{purpose} as soon as there is one."
        empty("No model has been trained here yet", text, "Train a model", "train")
    elif record is None:
        problem("No run is chosen", "Choose one in the sidebar.")
    else:
        damaged(record)
    return None


def damaged(record: RunRecord) -> None:
    """Show why a run is damaged, and how to repair it."""
    starter = data.store().is_starter(record.run)
    mend = STARTER if starter else "Bring the file back, or delete the run."
    problem(f"Run “{record.run}” is damaged", f"{record.reason}\n{mend} Other runs are not touched.")
    if not starter:
        removal_button(record.run)


def ended(record: RunRecord) -> str:
    """Describe in a sentence how a run ended."""
    words = {"failed": "It failed", "cancelled": "It was stopped", "done": "It is finished"}
    how = words.get(record.status, "It waits")
    return f"{how}: {record.reason.rstrip('.')}." if record.reason else f"{how}."


def attends(record: RunRecord) -> tuple[str, str]:
    """Return the layers and heads of a model, as a fact of a page's header."""
    model = record.config.model
    if "maps" not in provides(model):
        return "no attention", ""
    return f"{model.layers} layers", f"of {model.attention.heads} heads"


def facts(record: RunRecord, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the facts at the right of a page's header."""
    return [
        (record.run, ""),
        (record.described, f"on {data_name(record.config.data.name)}, seed {record.config.training.seed}"),
        *more,
    ]


def removal_button(run: str) -> None:
    """Offer to delete a run, after asking."""
    if st.button("Delete …", key=f"remove-{run}", type="tertiary", help="Asks first"):
        _ask(run)


@st.dialog("Delete a run")
def _ask(run: str) -> None:
    try:
        data.store().removable(run)
    except SentiscopeError as error:
        problem("This run stays", str(error))
        return
    problem(f"Delete “{run}”?", WHAT)
    with st.container(horizontal=True):
        if st.button("Delete it", key="remove-yes", type="primary", on_click=_remove, args=(run,)):
            st.rerun()
        if st.button("Keep it", key="remove-no"):
            st.rerun()


def _remove(run: str) -> None:
    try:
        data.store().remove(run)
    except SentiscopeError as error:
        state.put(state.REMOVED, ("It could not be deleted", str(error)))
        return
    state.clear(state.ROWS)  # a chosen row is a place in the table, where another run stands now
    if state.run() == run and (first := offered(data.runs())):
        state.choose_run(first.run)
    state.put(state.REMOVED, (f"“{run}” is deleted", "Nothing of it is left here."))


def refused(record: RunRecord | None, page: str) -> bool:
    """Return whether a page has nothing to show of a run that tags words; if so, show why."""
    if record is None or record.task != "tokens" or not PAGES[page].of_texts:
        return False
    header(PAGES[page].title, "", facts(record))
    what = "Its sentences, errors by kind, types and the tags of a sentence of your own stand on Tokens."
    finding(f"{record.run} gives each word a tag", f"{PAGES[page].of_texts} {what}")
    if st.button("Open Tokens", type="primary", key="to-tokens"):
        state.go("tokens")
    return True
