"""Choosing what to train, and starting it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from core.config import RunConfig, compose, inputs
from core.data.kept_examples import NAME
from core.exceptions import SentiscopeError
from core.failures.counter_examples import planned
from core.models.presets import PRESETS
from core.recipes import Applied
from core.runs import jobs
from core.runs.backbones import SETTING as BACKBONE
from core.runs.budget import LENGTHS, estimate, shortened, size, uncut_rows
from core.runs.configuration import configure, configured
from core.runs.start import START
from dashboard import access, cards, state
from dashboard.data import data
from dashboard.figures.numbers import count
from dashboard.figures.train_plan import EXAMPLES, command_line, recipe_text, size_phrase, summary, time_text
from dashboard.screens.train_composer import composed, composer
from dashboard.screens.train_settings import setting_fields
from dashboard.widgets.beginning import recipe, recipe_switch, start_picker
from dashboard.widgets.data_picker import data_picker
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem
from dashboard.widgets.preset_picker import preset_picker

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
