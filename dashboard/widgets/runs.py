"""The run chosen on all pages: its picker in the sidebar, and messages for pages without a run to show."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import streamlit as st

from core.exceptions import SentiscopeError
from core.models.capabilities import list_capabilities
from core.runs.efficiency import Speed
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.results import CORPUS, choose_default_run, get_data_name, read_headline
from dashboard.screens import PAGES
from dashboard.widgets.messages import explain_refusal, show_empty, show_finding, show_header, show_problem
from dashboard.widgets.progress import show_job, start_analyses

SHORT = 20  # characters of a name that the picker shows; a longer name also appears below it
STARTER = "It comes with Sentiscope: reinstall Sentiscope, or run `git restore trained` in a checkout."
"""Advice for a damaged starter run, which cannot be deleted."""
WHAT = "This deletes its record, curves, weights, predictions and maps for good. Other runs do not change."


def pick_run() -> None:
    """Show the menu of runs in the sidebar, own data first; a URL without a run gets a default run."""
    records = {record.run: record for record in data.list_runs()}
    names = data.name_runs()
    if requested := state.get_value(state.REQUESTED, ""):
        state.set_value(state.RUN, requested)
    state.follow_link(state.RUN)
    if state.get_run() and state.get_run() not in records:
        state.set_value(state.MISSING, state.get_run())
        state.drop_keys(state.RUN)
    elif names and not state.get_run() and not state.get_value(state.MISSING, ""):
        best = choose_default_run([*records.values()]) or next(iter(records.values()))  # none finished: the newest
        state.set_initial(state.RUN, best.run)
        state.follow_link(state.RUN)
    if said := state.pop_value(state.REMOVED):
        show_finding(*said)
    st.html('<p class="s-label">Run</p>')
    listed = sorted(records, key=lambda run: (names[run].data == CORPUS, names[run].data, names[run].text))
    look: dict[str, Any] = {"placeholder": "Choose a run" if names else "No run yet", "disabled": not names}
    look |= {"required": True, "label_visibility": "collapsed", "format_func": lambda run: names[run].full}
    st.selectbox("Run that all pages show", listed, None, key=state.RUN, **look)
    state.drop_keys(state.REQUESTED)  # the browser has received it
    if run := state.get_run():
        state.drop_keys(state.MISSING)
        if len(names[run].full) > SHORT:
            st.html(f'<p class="s-name">{escape(names[run].full)}</p>')


def choose_runs(
    label: str, runs: Sequence[str], key: str, empty: str, about: str, *, several: bool = False, **look: Any
) -> Any:
    """Show a menu of runs under their names for people; `empty` is shown without a choice, `about` is its help."""
    names = data.name_runs()
    look |= {"key": key, "placeholder": empty, "help": about, "format_func": lambda run: names[run].full}
    return st.multiselect(label, runs, **look) if several else st.selectbox(label, runs, index=None, **look)


def offer_speed(runs: Sequence[str], label: str, key: str, **look: Any) -> None:
    """Show a button that measures the prediction time of runs, or the progress of the measurement."""
    speeds = {f"speed-{run}": Speed.from_run(data.store(), run) for run in runs}
    if not any([show_job(speed, name, f"Measuring {speed.run}") for name, speed in speeds.items()]):
        st.button(label, key, on_click=start_analyses, args=(speeds,), **look)


def get_chosen_run() -> RunRecord | None:
    """Return the record of the run chosen in the sidebar; None if no run is chosen, or it is missing or damaged."""
    found = next((record for record in data.list_runs() if record.run == state.get_run()), None)
    return None if found is None or found.status == "damaged" else found


def rank_comparable(record: RunRecord, others: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the other runs on the same data as a run, best first."""
    same = [each for each in others if each.data_fingerprint == record.data_fingerprint and each.run != record.run]
    return sorted(same, key=lambda each: -(found.value if (found := read_headline(each)) else 0.0))


def require_run(title: str, question: str, *, purpose: str) -> RunRecord:
    """Return the record of the chosen run; if there is none to show, explain that on the page and stop it.

    `purpose`: what the page shows for a run, such as "Errors appear here".
    """
    records = {record.run: record for record in data.list_runs()}
    record = records.get(state.get_run())
    if record is not None and record.status != "damaged":
        return record
    show_header(title, question)
    if missing := state.get_value(state.MISSING, ""):
        where = "It was renamed, removed, or made elsewhere. Choose another in the sidebar."
        show_problem(f"There is no run “{missing}” here", where)
    elif not records:
        text = f"{purpose} once a model is trained."
        show_empty("No model has been trained here yet", text, "Train a model", "train")
    elif record is None:
        show_problem("No run is chosen", "Choose one in the sidebar.")
    else:
        show_damaged(record)
    st.stop()


def require_splits(
    record: RunRecord, title: str, question: str, show_instead: Callable[[RunRecord], object] | None = None
) -> list[str]:
    """Return the evaluated splits of a run; if there is none, explain that on the page and stop it.

    `show_instead` shows what else the page can do with a run that was opened without data.
    """
    if splits := data.list_splits(record.run):
        return splits
    show_header(title, question, list_facts(record))
    if record.is_live:
        text = "Its metrics are measured when the training ends."
        show_empty("This run is still being trained", text, "Watch it learn", "train")
    elif record.from_outside:
        from dashboard import access  # loads pandas

        if access.is_local():  # others are not told the folders of this machine
            state.set_value(state.CLASSIFIER, record.config.model.backbone)
        text = f"Open its folder again with labelled data{', or measure it once below' if show_instead else ''}."
        show_empty("This run has not been evaluated", text, "Open it with data", "models", more="Open a classifier")
        if show_instead is not None:
            show_instead(record)
    else:
        show_empty("This run has not been evaluated", describe_end(record), "Train a model", "train")
    st.stop()


def require_weights(record: RunRecord, title: str, question: str) -> None:
    """Stop the page of a run that cannot read new text, and explain that."""
    if data.hash_weights(record.run):
        return
    show_header(title, question, list_facts(record))
    if record.is_live:
        text = "It can read text after its first epoch."
        show_empty("This run has not learned anything yet", text, "Watch it learn", "train")
    else:
        text = f"It cannot read new sentences. Its curves and metrics are still there. {record.reason}"
        show_empty("This run has no weights", text, "Train a model", "train")
    st.stop()


def show_damaged(record: RunRecord) -> None:
    """Show why a run's files are damaged, and how to repair or delete the run."""
    starter = data.store().is_starter(record.run)
    mend = STARTER if starter else "Restore the file, or delete the run."
    show_problem(f"Run “{record.run}” is damaged", f"{record.reason}\n{mend} Other runs are not affected.")
    if not starter:
        offer_removal(record.run)


def describe_end(record: RunRecord) -> str:
    """Describe in a sentence how the training of a run ended, with the reason if it is known."""
    words = {"failed": "It failed", "cancelled": "It was stopped", "done": "It is finished"}
    how = words.get(record.status, "It waits")
    return f"{how}: {record.reason.rstrip('.')}." if record.reason else f"{how}."


def describe_attention(record: RunRecord) -> tuple[str, str]:
    """Return a model's numbers of layers and attention heads as (bold, plain) texts for a page header."""
    model = record.config.model
    if "maps" not in list_capabilities(model):
        return "no attention", ""
    return f"{model.layers} layers", f"of {model.attention.heads} heads"


def list_facts(record: RunRecord, *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Return (bold, plain) texts about a run for a page header: its name, model and data, then `more`."""
    name, on = data.name_runs()[record.run], f"on {get_data_name(record.config.data.name)}"
    model = record.mixture if record.preset == name.name else record.described
    return [(name.name, ", ".join(filter(None, (name.note, f"{model} {on}".strip())))), *more]


def offer_removal(run: str) -> None:
    """Show a button that deletes a run after a confirmation."""
    if st.button("Delete …", key=f"remove-{run}", type="tertiary", help="Asks before it deletes"):
        _confirm_removal(run)


@st.dialog("Delete a run")
def _confirm_removal(run: str) -> None:
    with explain_refusal("This run cannot be deleted"):
        data.store().get_removable_path(run)
        show_problem(f"Delete “{run}”?", WHAT)
        place = st.container(horizontal=True)
        if place.button("Delete it", key="remove-yes", type="primary", on_click=_remove_run, args=(run,)):
            st.rerun()
        if place.button("Keep it", key="remove-no"):
            st.rerun()


def _remove_run(run: str) -> None:
    try:
        data.store().remove(run)
    except SentiscopeError as error:
        state.set_value(state.REMOVED, ("The run was not deleted", str(error)))
        return
    state.clear_clicks(state.ROWS)  # the selected row number now means another run
    if state.get_run() == run and (first := choose_default_run(data.list_runs())):
        state.choose_run(first.run)
    state.set_value(state.REMOVED, (f"“{run}” is deleted", "All its files are gone."))


def is_refused(record: RunRecord | None, page: str) -> bool:
    """Tell the visitor if a page cannot show a run that labels words instead of texts; return whether it does."""
    if record is None or record.task != "tokens" or not PAGES[page].of_texts:
        return False
    show_header(PAGES[page].title, "", list_facts(record))
    what = "See Tagging for its sentences, errors and types, and to tag your own sentence."
    show_finding(f"{data.label_run(record.run)} gives each word a tag", f"{PAGES[page].of_texts} {what}")
    if st.button("Open Tagging", type="primary", key="to-tokens"):
        state.open_page("tokens")
    return True
