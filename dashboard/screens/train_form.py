"""The form of Train: data, model, each setting, composing a model of one's own, and the start."""

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
from core.models.describe import equation, parts
from core.models.presets import PRESETS
from core.recipes import Applied
from core.runs import jobs
from core.runs.backbones import SETTING as BACKBONE
from core.runs.budget import LENGTHS, Size, estimate, shortened, size, uncut_rows
from core.runs.configuration import configure, configured
from core.runs.start import START
from core.settings import Setting
from dashboard import access, cards, state
from dashboard.data import data
from dashboard.figures.diagram import DIAGRAM, Made, described
from dashboard.figures.numbers import count
from dashboard.figures.train_plan import (
    EXAMPLES,
    NOT_LISTED,
    OFFERED,
    command_line,
    leaf,
    recipe_text,
    shown,
    size_phrase,
    summary,
    time_text,
)
from dashboard.widgets.beginning import recipe, recipe_switch, start_picker
from dashboard.widgets.data_picker import data_picker
from dashboard.widgets.figure import caption, place
from dashboard.widgets.messages import problem
from dashboard.widgets.preset_picker import preset_picker
from dashboard.widgets.style import look

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
    """What is set on top of the preset: the length's, the data's, the person's, then what parts read."""
    along: dict[str, Any]
    """These last."""
    config: RunConfig
    recipe: Applied


def train_form() -> None:
    """Three choices and one button, under them what it begins with; every setting below, folded."""
    with st.container(key="train-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        preset_picker(MODEL, help="The Models page shows what each is made of")
        data_picker(more="; the Data page shows what is in it")
        st.segmented_control(
            "Length",
            list(LENGTHS),
            default=LENGTH,
            key=state.LENGTH,
            bind="query-params",
            required=True,
            help=LENGTH_HELP,
        )
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
    time = time_text(estimate(draft.config, records, counts), draft.config)
    cost = f"{size_phrase(large)}. {time}.".replace("..", ".")
    caption(f"{line} {cost}")
    for sentence in shortened(draft.model, draft.config, uncut_rows(draft.config, records, counts)):
        caption(sentence)
    _removed_rows(draft.config)
    if draft.recipe.name:
        caption(recipe_text(draft.recipe, draft.settings))
    name = state.draft(state.NAME, "")
    command = command_line(access.written(draft.source), draft.model, draft.settings, name, draft.recipe.name)
    words = f"{summary(draft.config, state.typed(state.SETTING), draft.along)} {cost}"
    defaults = _defaults(draft.along)
    composer(defaults, draft.config.model, partial(composed, draft.config, large, words, command))
    setting_fields(defaults, command)


def _removed_rows(config: RunConfig) -> None:
    """Say how many rows will not be judged, or that too few would be left, before anybody waits for it."""
    try:
        for note in data.removed_rows(config):
            caption(f"{note[:1].upper()}{note[1:]}.")
    except SentiscopeError as error:
        problem("This training would be refused", str(error))


def _examples_switch() -> None:
    """Whether the class's counter-examples join the training split."""
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
    """What is chosen now.

    Raises:
        SentiscopeError: it cannot be trained so.
    """
    model = state.draft(state.PRESET, MODEL)
    chosen = access.option(state.draft(state.DATA, DATA) or DATA).settings
    typed = state.typed(state.SETTING)
    access.refuse_foreign(typed)
    if state.draft(state.ALONG, False) and data.examples():
        typed[EXAMPLES] = planned(data.store().folder)
    settings = {**_given(chosen["data.name"]), **chosen, **typed}
    along = inputs(model, settings)
    settings |= along
    found = configured(settings["data.name"], model, settings, _recipe(), store=data.store())
    return Draft(model, settings["data.name"], settings, along, *found)


def _defaults(along: dict[str, Any]) -> RunConfig:
    """What stands in grey: the preset as data and length have it, with what parts read, before a person's changes.

    What it begins with is a choice beneath them: another run, or a backbone with sizes of its own.
    """
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
    """What the length sets."""
    return {"data.name": source, **LENGTHS[state.draft(state.LENGTH, LENGTH)]}


def _start() -> None:
    """Button: make the run, start its process, and choose it."""
    try:
        draft = _draft()
        record = jobs.submit(data.store(), draft.config, draft.model, state.draft(state.NAME, ""), draft.recipe)
    except SentiscopeError as error:
        state.put(state.PROBLEM, str(error))
        return
    state.choose_run(record.run)


STARTS_FROM = "Starts from the preset above; what has no effect on this model is not shown. "


def composer(defaults: RunConfig, model: ModelConfig | None, show: Callable[[], None]) -> None:
    """The fields of all parts that have an effect, folded."""
    own = state.typed(state.SETTING)
    with st.expander("Compose your own", key="composer"):
        caption(STARTS_FROM + HOW)
        for title, names in shown(own, model).items():
            field_rows(title, [SETTINGS[name] for name in names], defaults, empty="none", model=model)
        if any(name in OFFERED for name in own):
            st.button("Back to the preset", key="compose-clear", on_click=_clear)
        show()


def composed(config: RunConfig, size: Size | None, words: str, command: str) -> None:
    """The model that the fields make: in words, drawn, as an equation, as a command."""
    caption(words)
    vocabulary = size.vocabulary if size else config.text.max_vocab
    with st.container(key="pair-composed"):
        left, right = st.columns([1.1, 1], gap="large")
        with left:
            made = Made(parts(config.model, vocabulary=vocabulary, classes=2), "composed")
            place(DIAGRAM.draw(made, look()), "composed", described(made.parts))
        with right:
            for index, line in enumerate(equation(config.model)):
                with st.container(key=f"equation-{index}", gap=None):
                    st.latex(line.latex)
                    caption(line.words)
    st.code(command, language=None, wrap_lines=True)


def _clear() -> None:
    """Button: every field of the builder is empty again."""
    state.forget(*(state.SETTING + name for name in OFFERED))


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
        columns = st.columns(COLUMNS, vertical_alignment="bottom")
        for column, setting in zip(columns, listed[start : start + COLUMNS], strict=False):
            with column:
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
