"""The form of Train: data, model, each setting, the composition of a model, and the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from core.config import SETTINGS, RunConfig, compose, idle, inputs
from core.data.kept_examples import NAME
from core.exceptions import SentiscopeError
from core.failures.counter_examples import planned
from core.models.config import ModelConfig
from core.models.describe import parts
from core.models.presets import PRESETS
from core.numbers import count
from core.recipes import Applied
from core.runs import jobs
from core.runs.backbones import SETTING as BACKBONE
from core.runs.budget import LENGTHS, Size, estimate, shortened, size, uncut_rows
from core.runs.configuration import configure, configured
from core.runs.start import START
from core.settings import Setting
from dashboard import access, state
from dashboard.data import cards, data
from dashboard.figures import train_plan as plan
from dashboard.figures.diagram import DIAGRAM, Made, described
from dashboard.widgets.figure import caption, place
from dashboard.widgets.messages import as_sentence, problem
from dashboard.widgets.style import look
from dashboard.widgets.training_fields import (
    data_picker,
    preset_picker,
    recipe,
    recipe_switch,
    show_equation,
    start_picker,
)

MODEL, DATA, LENGTH = "ndt-01-n3", "built-in", "short"
LENGTH_HELP = (
    "Short: 4 epochs on at most 16\u202f000 sentences · medium: 10 on at most 64\u202f000 · full: up to 30 on all of "
    "them, until nothing improves. How long that takes here stands below."
)
RECIPE_MORE = "What it sets stands below; a field that you fill stands above it."


@dataclass(frozen=True)
class Draft:
    """A training as chosen on the page."""

    model: str
    source: str
    settings: dict[str, Any]
    """What is set on top of the preset, at last what parts of the model read (`along`)."""
    along: dict[str, Any]
    config: RunConfig
    recipe: Applied


def train_form() -> None:
    """Show three choices and one button, under them what it begins with; every setting below, folded."""
    with st.container(key="train-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        preset_picker(MODEL, help="The Models page shows what each is made of")
        data_picker(more="; the Data page shows what is in it")
        bound: dict[str, Any] = {"key": state.LENGTH, "bind": "query-params", "required": True}
        st.segmented_control("Length", list(LENGTHS), default=LENGTH, help=LENGTH_HELP, **bound)
        st.button("Start training", type="primary", on_click=_start, key="start")
    with st.container(key="train-begins", horizontal=True, vertical_alignment="bottom", gap="small"):
        start_picker(state.SETTING + START)
        recipe_switch(state.RECIPE, RECIPE_MORE, bind=True)
        _examples_switch()
    line = PRESETS[state.draft(state.PRESET, MODEL)].line
    if text := state.take(state.PROBLEM):
        problem("This training cannot start", text)
    try:
        draft = _draft()
    except SentiscopeError as error:
        tell = partial(problem, "These settings do not fit together", str(error))
        if not text:
            tell()
        defaults = _defaults({})
        composer(defaults, None, tell)
        setting_fields(defaults, "")
        return
    records = data.runs()
    counts = cards.counts(draft.config)
    large = size(draft.config, records, counts)
    time = plan.time_text(estimate(draft.config, records, counts), draft.config)
    cost = f"{plan.size_phrase(large)}. {time}.".replace("..", ".")
    caption(f"{line} {cost}")
    for sentence in shortened(draft.model, draft.config, uncut_rows(draft.config, records, counts)):
        caption(sentence)
    _removed_rows(draft.config)
    if draft.recipe.name:
        caption(plan.recipe_text(draft.recipe, draft.settings))
    name = state.draft(state.NAME, "")
    command = plan.command_line(access.written(draft.source), draft.model, draft.settings, name, draft.recipe.name)
    words = f"{plan.summary(draft.config, state.typed(state.SETTING), draft.along)} {cost}"
    defaults = _defaults(draft.along)
    composer(defaults, draft.config.model, partial(composed, draft.config, large, words, command))
    setting_fields(defaults, command)


def _removed_rows(config: RunConfig) -> None:
    try:
        for note in data.removed_rows(config):
            caption(as_sentence(note))
    except SentiscopeError as error:
        problem("This training would be refused", str(error))


def _examples_switch() -> None:
    n = len(data.examples())
    st.toggle(
        f"Add {count(n)} {NAME}" if n != 1 else "Add 1 counter-example",
        key=state.ALONG,
        persist_state="session",
        disabled=not n,
        help="They join the training split alone, and no metric ever includes them (data.examples). "
        + ("Behave lists them" if n else "None are kept yet: Keep on Sentence keeps one"),
    )


def _draft() -> Draft:
    """Return the chosen training; SentiscopeError: it cannot be trained."""
    model = state.draft(state.PRESET, MODEL)
    chosen = access.option(state.draft(state.DATA, DATA) or DATA).settings
    typed = state.typed(state.SETTING)
    access.refuse_foreign(typed)
    if state.draft(state.ALONG, False) and data.examples():
        typed[plan.EXAMPLES] = planned(data.store().folder)
    settings = {**_given(chosen["data.name"]), **chosen, **typed}
    along = inputs(model, settings)
    settings |= along
    found = configured(settings["data.name"], model, settings, _recipe(), store=data.store())
    return Draft(model, settings["data.name"], settings, along, *found)


def _defaults(along: dict[str, Any]) -> RunConfig:
    """Return the values in grey: the preset with data, length and inputs, before a person's own changes."""
    model = state.draft(state.PRESET, MODEL)
    try:
        chosen = access.option(state.draft(state.DATA, DATA) or DATA).settings
        source = chosen["data.name"]
        typed = state.typed(state.SETTING)
        beneath = {name: typed[name] for name in (START, BACKBONE) if name in typed}
        access.refuse_foreign(beneath)
        given = {**_given(source), **chosen, **along, **beneath}
        return configure(source, model, given, _recipe(), store=data.store())
    except SentiscopeError:  # the data cannot be had, which the page says anyway
        return compose(model, along)


def _recipe() -> str:
    return recipe(state.draft(state.RECIPE, False))


def _given(source: str) -> dict[str, Any]:
    return {"data.name": source, **LENGTHS[state.draft(state.LENGTH, LENGTH)]}


def _start() -> None:
    with state.refusals(state.PROBLEM):
        draft = _draft()
        record = jobs.submit(data.store(), draft.config, draft.model, state.draft(state.NAME, ""), draft.recipe)
        state.choose_run(record.run)


STARTS_FROM = "Starts from the preset above; what has no effect on this model is not shown. "


def composer(defaults: RunConfig, model: ModelConfig | None, show: Callable[[], None]) -> None:
    """Show the fields of all parts that have an effect, folded."""
    own = state.typed(state.SETTING)
    with st.expander("Compose your own", key="composer"):
        caption(STARTS_FROM + HOW)
        for title, names in plan.shown(own, model).items():
            field_rows(title, [SETTINGS[name] for name in names], defaults, empty="none", model=model)
        if any(name in plan.OFFERED for name in own):
            fields = [state.SETTING + name for name in plan.OFFERED]
            st.button("Back to the preset", key="compose-clear", on_click=state.forget, args=fields)
        show()


def composed(config: RunConfig, size: Size | None, words: str, command: str) -> None:
    """Show the model that the fields make: in words, drawn, as an equation, as a command."""
    caption(words)
    vocabulary = size.vocabulary if size else config.text.max_vocab
    with st.container(key="pair-composed"):
        left, right = st.columns([1.1, 1], gap="large")
        with left:
            made = Made(parts(config.model, vocabulary=vocabulary, classes=2), "composed")
            place(DIAGRAM.draw(made, look()), "composed", described(made.parts))
        with right:
            show_equation(config.model)
    st.code(command, language=None, wrap_lines=True)


ROOMS = {"training": "Training", "data": "Data", "text": "Text"}
ELSEWHERE = plan.OFFERED | {*plan.NOT_LISTED, START, plan.EXAMPLES}
"""Settings with a field of their own on top, or in the builder."""
COLUMNS = 4
AUTOMATIC = "automatic"
HOW = "An empty field keeps the value in grey. The names are those of sentiscope train --set."


def setting_fields(defaults: RunConfig, command: str) -> None:
    """Show the name of the run and a field for each setting; `command` is the same training in a terminal."""
    with st.expander("Advanced settings", key="advanced"):
        st.text_input(
            "Name of the run",
            key=state.NAME,
            persist_state="session",
            placeholder="made from data, model, seed and time",
            help="Letters, digits, dots and dashes; a taken name gets a number",
        )
        for room, title in ROOMS.items():
            names = [name for name in SETTINGS if name.startswith(f"{room}.") and name not in ELSEWHERE]
            field_rows(title, [SETTINGS[name] for name in names], defaults)
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
    """Show a group of settings, a field for each; `empty` is no value, `model` says which do nothing."""
    st.html(f'<p class="s-label s-group">{title}</p>')
    for start in range(0, len(listed), COLUMNS):
        columns = st.columns(COLUMNS, vertical_alignment="bottom")
        for column, setting in zip(columns, listed[start : start + COLUMNS], strict=False):
            with column:
                _field(setting, plan.leaf(defaults, setting.name) or empty, idle(setting.name, model) if model else "")


def _field(setting: Setting, default: str, idle: str) -> None:
    about = f"{setting.help} ({setting.name})" if setting.help else f"As `--set {setting.name}=…`"
    about += f" **Without effect here**: {idle}." if idle else ""
    shared: dict[str, Any] = {"placeholder": default, "persist_state": "session", "help": about}
    if setting.choices:
        st.selectbox(setting.label, setting.choices, index=None, key=state.SETTING + setting.name, **shared)
    else:
        st.text_input(setting.label, key=state.SETTING + setting.name, **shared)
