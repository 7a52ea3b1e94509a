"""Which run is looked at: the picker in the sidebar, and what a page says when there is none to look at."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.naming import data_name
from dashboard.figures.results import offered
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, problem
from dashboard.widgets.run_removal import removal_button, removed

SHORT = 20
"""Characters that the picker shows of a name; a longer one stands below it as well."""
STARTER = "It comes with Sentiscope: install that again, or in a checkout `git restore trained`."
"""What to do about a starter run that is damaged; it cannot be deleted."""


def run_picker() -> None:
    """The shared picker, bound to the URL; a link without a run gets the one to begin with."""
    records = data.runs()
    names = [record.run for record in records]
    asked = state.asked_run()
    if requested := state.requested_run():
        state.put(state.RUN, requested)
    if asked and asked not in names and not state.run():
        state.put(state.MISSING, asked)
    elif names and not state.run() and not state.draft(state.MISSING, ""):
        state.initial(state.RUN, _first(records))
    removed()
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


def _first(records: Sequence[RunRecord]) -> str:
    """What is offered to begin with; where nothing is finished yet, the newest run."""
    return (offered(records) or records[0]).run


def chosen_record() -> RunRecord | None:
    """The chosen run's record; None where none is chosen, or it is not there or damaged."""
    found = next((record for record in data.runs() if record.run == state.run()), None)
    return None if found is None or found.status == "damaged" else found


def chosen_run(title: str, question: str, *, purpose: str) -> RunRecord | None:
    """The chosen run's record, or None after the page has said why there is nothing to show.

    Args:
        title: The page's name.
        question: What it answers; both head the page where it has nothing else to show.
        purpose: What the page would show with a run, e.g. "Its metrics and mistakes stand here".
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
    """What is wrong with a run that cannot be shown, and what to do."""
    starter = data.store().is_starter(record.run)
    mend = STARTER if starter else "Bring the file back, or delete the run."
    problem(f"Run “{record.run}” is damaged", f"{record.reason}\n{mend} Other runs are not touched.")
    if not starter:
        removal_button(record.run)


def ended(record: RunRecord) -> str:
    """How a run ended that was not finished, in a sentence."""
    words = {"failed": "It failed", "cancelled": "It was stopped", "done": "It is finished"}
    how = words.get(record.status, "It waits")
    return f"{how}: {record.reason.rstrip('.')}." if record.reason else f"{how}."


def attends(record: RunRecord) -> tuple[str, str]:
    """How much attention a model has, for `facts`."""
    model = record.config.model
    if "maps" not in provides(model):
        return "no attention", ""
    return f"{model.layers} layers", f"of {model.attention.heads} heads"


def facts(record: RunRecord, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """What stands at the right of a page's head."""
    return [
        (record.run, ""),
        (record.described, f"on {data_name(record.config.data.name)}, seed {record.config.training.seed}"),
        *more,
    ]
