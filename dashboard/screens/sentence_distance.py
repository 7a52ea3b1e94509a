"""Templates: how far a negation reaches, for this run and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import InputError, NotAvailable
from core.interpret.templates import FILLER, LONGEST, PLACE, TEMPLATES
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.distance import DISTANCE, OF, asked, distance
from dashboard.figures.source import Source
from dashboard.widgets.figure import caption, heading, show
from dashboard.widgets.messages import problem
from dashboard.widgets.options import choose
from dashboard.widgets.waiting import waited

if TYPE_CHECKING:
    import pandas as pd

MOST = 5
"""Other runs: so many colours can be told apart."""
TEMPLATE_HELP = f"One of ours, or type your own: {PLACE} where words are put in, [not] in brackets is the negation."
INSERT_HELP = "One word at a time; with | between pieces, a piece at a time."


def reach_of_negation(record: RunRecord, others: Mapping[str, RunRecord], text: str) -> dict[str, pd.DataFrame]:
    """The section; a typed sentence with a place is the first template. Gives the table."""
    own = [text] if PLACE in text else []
    fitting = {name: other for name, other in others.items() if other.task == record.task}
    with st.container(key="distance", gap="small"):
        place = st.container()
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            template = st.selectbox(
                "Template",
                [*own, *TEMPLATES],
                key=state.TEMPLATE,
                bind="query-params",
                accept_new_options=True,
                format_func=lambda name: TEMPLATES.get(name, name),
                help=TEMPLATE_HELP,
                width=360,
            )
            insert = st.text_input(
                "What is put in", FILLER, key=state.INSERT, bind="query-params", max_chars=LONGEST, help=INSERT_HELP
            )
        state.keep_some(state.CURVES, list(fitting))
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            chosen = st.multiselect(
                "Other runs",
                list(fitting),
                key=state.CURVES,
                bind="query-params",
                max_selections=MOST,
                placeholder="Choose runs" if fitting else "There is no other run of this kind",
            )
            source = Source(record, data, others=[fitting[name] for name in chosen], text=template or "")
            if OF.counts(source):
                choose(OF, source)
        with place:
            try:
                runs, filled, towards = asked(source, insert or FILLER)
                wanted = [("reach", each.run, filled, towards) for each in runs]
                if not waited(data.asking(*wanted), "distance", "Not every run has read every step.").whole:
                    heading("How far a negation reaches", "distance")
                    return {}
                shape = distance(source, insert or FILLER)
            except (InputError, NotAvailable) as error:
                heading("How far a negation reaches", "distance")
                problem("This template cannot be read", str(error))
                return {}
            show(DISTANCE, shape)
            for note in shape.notes:
                caption(note)
    return DISTANCE.numbers(shape)
