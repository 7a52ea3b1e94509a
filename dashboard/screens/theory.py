"""Page Theory: experiments on the theory of the SentiFormer paper, each with its question, figure and finding."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.api.theory_experiments import RUN, TEXT
from core.exceptions import SentiscopeError
from core.papers.theory_names import QUESTIONS
from dashboard import state
from dashboard.data import data
from dashboard.figures import theory as figures
from dashboard.figures.figure import Figure
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show, show_caption
from dashboard.widgets.messages import as_sentence, show_finding, show_header, show_problem, show_summary
from dashboard.widgets.style import get_look

LABELS = {"markov": "First and last word", "memorise": "By heart", "kernel": "Kernel smoother"}
"""Name of an experiment → its button, in order."""
SECTIONS = {"kernel": "section III.B", "memorise": "section III.C", "markov": "section III.C"}
WORDS = 16
"""Words of the text whose two maps are drawn."""
WRONG = "The paper is wrong about RNNs"
WHY = (
    "Section III.C calls an RNN a finite-order Markov model, and section VI.A says that it must fail. An LSTM carries "
    "the first word in its state: a finite state is no bounded window. Only windows fail here."
)


def show_page() -> None:
    """Draw the Theory page: one experiment of the link, its finding and its figures."""
    head, bar = st.container(), st.container(key="theory-bar", horizontal=True, gap="small")
    with bar:
        name = _pick_theory()
    with head:
        show_header("Theory", QUESTIONS[name], [("SentiFormer", SECTIONS[name])])
    try:
        found = data.read_theory(name)
    except SentiscopeError as error:
        show_problem("This experiment cannot be shown", as_sentence(error))
        return
    show_summary(found["finding"])
    shown: list[tuple[Figure[Any], Any]] = {
        "kernel": lambda: [(figures.KERNEL, found)],
        "memorise": lambda: [(figures.MEMORY, found)],
        "markov": lambda: [(figures.MARKOV, found), (figures.MAPS, data.trace_theory(WORDS))],
    }[name]()
    tables: dict[str, Table] = {}
    for figure, shape in shown:
        show(figure, shape, drawing=figure.draw(shape, get_look()))
        tables |= figure.build_tables(shape)
        if figure is figures.MARKOV:
            show_finding(WRONG, WHY)
    if name == "kernel":
        show_caption(f"{RUN}: “{TEXT}”")
    show_export_bar(f"theory-{name}", tables)


def _pick_theory() -> str:
    """Show the experiments as buttons, bound to the link by their key; return the chosen name."""
    state.follow_link(state.THEORY)
    if state.get_value(state.THEORY, "") not in LABELS:
        state.set_value(state.THEORY, next(iter(LABELS)))
    state.follow_link(state.THEORY)
    look: dict[str, Any] = {"required": True, "label_visibility": "collapsed"}
    chosen = st.segmented_control("Theory", list(LABELS), format_func=LABELS.__getitem__, key=state.THEORY, **look)
    return str(chosen or next(iter(LABELS)))


show_page()
