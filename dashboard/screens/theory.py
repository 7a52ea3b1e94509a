"""Page Theory: experiments on the theory of the SentiFormer paper, each with its question, figures and finding."""

from typing import Any

import streamlit as st

from core.api.papers import QUESTIONS, RUN, TEXT
from core.exceptions import SentiscopeError
from dashboard import state
from dashboard.data import data
from dashboard.figures.theory import FIGURES
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show_caption, show_with_tables
from dashboard.widgets.messages import as_sentence, show_finding, show_header, show_problem, show_summary

LABELS = {"markov": "First and last word", "memorise": "Memorisation", "kernel": "Kernel smoother"}
"""Experiment → its button, in order."""
WRONG = "The paper is wrong about RNNs"
WHY = (
    "Section III.C calls an RNN a finite-order Markov model, and section VI.A says that it must fail. An LSTM carries "
    "the first word in its state, which is not a window of fixed length. Only windows and TF-IDF fail here."
)


def show_page() -> None:
    """Draw the Theory page: one experiment of the link, its finding and its figures."""
    head, bar = st.container(), st.container(key="theory-bar", horizontal=True, gap="small")
    state.follow_link(state.EXPERIMENT)
    if state.get_value(state.EXPERIMENT, "") not in LABELS:
        state.set_value(state.EXPERIMENT, next(iter(LABELS)))
    state.follow_link(state.EXPERIMENT)
    look: dict[str, Any] = {"required": True, "label_visibility": "collapsed", "format_func": LABELS.__getitem__}
    name = str(bar.segmented_control("Experiment", list(LABELS), key=state.EXPERIMENT, **look) or next(iter(LABELS)))
    with head:
        show_header("Theory", QUESTIONS[name], [("SentiFormer", f"section III.{'B' if name == 'kernel' else 'C'}")])
    try:
        found = data.read_theory(name)
    except SentiscopeError as error:
        show_problem("This experiment cannot be shown", as_sentence(error))
        return
    show_summary(found["finding"])
    tables: dict[str, Table] = {}
    for figure in FIGURES[name]:
        tables |= show_with_tables(figure, found)
        if figure.name == "theory-markov":
            show_finding(WRONG, WHY)
    if name == "kernel":
        show_caption(f"{RUN}: “{TEXT}”")
    show_export_bar(f"theory-{name}", tables)


show_page()
