"""Every setting of a training, folded away; an empty field keeps what stands in it in grey."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.config import SETTINGS, RunConfig, idle
from core.models.config import ModelConfig
from core.runs.start import START
from core.settings import Setting
from dashboard import state
from dashboard.figures.train_plan import EXAMPLES, NOT_LISTED, OFFERED, leaf
from dashboard.widgets.figure import caption

ROOMS = {"training": "Training", "data": "Data", "text": "Text"}
ELSEWHERE = OFFERED | {*NOT_LISTED, START, EXAMPLES}
"""Settings with a field of their own on top, or in the builder."""
COLUMNS = 4
AUTOMATIC = "automatic"
HOW = "An empty field keeps the value in grey. The names are those of sentiscope train --set."


def setting_fields(defaults: RunConfig, command: str) -> None:
    """The name of the run and a field for each setting; `command` is the same training on the command line."""
    with st.expander("Advanced settings", key="advanced"):
        st.text_input(
            "Name of the run",
            key=state.NAME,
            persist_state="session",
            placeholder="made from data, model, seed and time",
            help="Letters, digits, dots and dashes; a taken name gets a number",
        )
        for room, title in ROOMS.items():
            listed = [
                setting for name, setting in SETTINGS.items() if name.startswith(f"{room}.") and name not in ELSEWHERE
            ]
            field_rows(title, listed, defaults)
        caption(HOW)
        st.code(command, language=None, wrap_lines=True)


def field_rows(
    title: str,
    listed: Sequence[Setting],
    defaults: RunConfig,
    *,
    empty: str = AUTOMATIC,
    model: ModelConfig | None = None,
) -> None:
    """A group of settings, a field for each; `empty` stands for no value, `model` says which do nothing."""
    st.html(f'<p class="s-label s-group">{title}</p>')
    for start in range(0, len(listed), COLUMNS):
        places = st.columns(COLUMNS, vertical_alignment="bottom")
        for place, setting in zip(places, listed[start : start + COLUMNS], strict=False):
            with place:
                _field(setting, leaf(defaults, setting.name) or empty, idle(setting.name, model) if model else "")


def _field(setting: Setting, default: str, idle: str) -> None:
    """The field of a setting; `idle` is why it does nothing, where it does not."""
    about = f"{setting.help} ({setting.name})" if setting.help else f"As `--set {setting.name}=…`"
    about += f" **Without effect here**: {idle}." if idle else ""
    key = state.SETTING + setting.name
    if setting.choices:
        st.selectbox(
            setting.label,
            setting.choices,
            index=None,
            placeholder=default,
            key=key,
            persist_state="session",
            help=about,
        )
    else:
        st.text_input(setting.label, placeholder=default, key=key, persist_state="session", help=about)
