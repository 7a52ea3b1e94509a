"""Which data to train on: the same field wherever a training run begins."""

from __future__ import annotations

import streamlit as st

from dashboard import access, state


def data_picker(*, more: str = "") -> None:
    """A known name or a path, bound to the URL; `more` is added to the help."""
    st.selectbox(
        "Data",
        access.names(here=True),
        key=state.DATA,
        bind="query-params",
        width=180,
        accept_new_options=True,
        help=f"A known name, or the path of a file or folder on this machine{more}",
    )
