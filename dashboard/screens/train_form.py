"""Form of the Train page: data, model preset, settings, composition of a new model, and the start button."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.config import SETTINGS, RunConfig, compose, explain_idle, find_missing_inputs
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.error_analysis.counter_examples import write_copy
from core.exceptions import SentiscopeError
from core.formatting import count
from core.models.config import ModelConfig
from core.models.model_description import list_parts
from core.models.presets import PRESETS
from core.recipes import AppliedRecipe
from core.runs import training_jobs
from core.runs.backbones import SETTING as BACKBONE
from core.runs.configuration import START, configure, configure_with_recipe
from core.runs.cost_estimate import LENGTHS, Size, count_uncut_rows, describe_shortcuts, estimate_size, estimate_time
from core.settings import Setting
from dashboard import access, state
from dashboard.data import data
from dashboard.figures import model_plan as plan
from dashboard.figures.model_plan import ModelDiagram
from dashboard.widgets import options
from dashboard.widgets.figure import show_caption
from dashboard.widgets.messages import as_sentence, explain_refusal, show_problem, show_refusal, show_summary

MODEL, DATA, LENGTH = "ndt-01-n3", "built-in", "short"
LENGTH_HELP = (
    "Short: 4 epochs on at most 16\u202f000 sentences · medium: 10 on at most 64\u202f000 · full: up to 30 on all "
    "sentences, until nothing improves. The time is shown below."
)
SWEEPS_HELP = "Sweeps trains each with several seeds, and tests whether the difference is real"
RECIPE_MORE = "“Plan and command” lists its settings. Fields that you fill override it."

COMPOSER, ADVANCED, PLAN = "Compose your own", "Advanced settings", "Plan and command"
"""Folded sections of the form."""


@dataclass(frozen=True)
class Draft:
    """A training as chosen in the form of the Train page, with the complete config of its run."""

    model: str
    source: str
    settings: dict[str, Any]
    """Settings that override the preset; the last are inputs that the model needs (`along`)."""
    along: dict[str, Any]
    config: RunConfig
    recipe: AppliedRecipe


def show_form(offer: Callable[[], None]) -> None:
    """Show the form of a training: model, data, length, start button, folded settings, cost and the model.

    `offer` shows what else the page has.
    """
    _follow_settings()
    with st.container(key="train-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        options.pick_preset(MODEL, help="The Models page shows how each is built")
        options.pick_dataset(more="; the Data page shows its content")
        bound: dict[str, Any] = {"key": state.LENGTH, "bind": "query-params", "required": True}
        st.segmented_control("Length", list(LENGTHS), default=LENGTH, help=LENGTH_HELP, **bound)
        st.button("Start training", type="primary", on_click=_start_training, key="start")
    with st.container(key="train-more", horizontal=True, vertical_alignment="center", gap="small"):
        opened = options.choose_sections([COMPOSER, ADVANCED, PLAN], plain=True)
        if st.button("Try several settings", "to-sweeps", SWEEPS_HELP, type="tertiary"):
            state.open_page("sweeps")
        offer()
    text = show_refusal(state.PROBLEM, "This training cannot start")
    draft: Draft | None = None
    try:
        draft = _make_draft()
    except SentiscopeError as error:
        if not text:
            show_problem("These settings do not fit together", str(error))
    defaults = _list_defaults(draft.along if draft else {})
    if COMPOSER in opened:
        _show_composer(defaults, draft.config.model if draft else None)
    if ADVANCED in opened:
        _show_settings(defaults)
    if draft is None:
        return
    records, counts = data.list_runs(), access.get_counts(draft.config)
    size, time = estimate_size(draft.config, records, counts), estimate_time(draft.config, records, counts)
    if PLAN in opened:
        rows = count_uncut_rows(draft.config, records, counts)
        _show_plan(draft, plan.describe_size(size), plan.describe_time(time, draft.config), rows)
    show_summary(plan.describe_cost(draft.model, size, time, draft.config))
    with explain_refusal("This training would be refused"):
        for note in data.describe_removed_rows(draft.config):
            show_caption(as_sentence(note))
    _show_model(draft.config, size)


def _show_plan(draft: Draft, size: str, time: str, rows: int | None) -> None:
    changes = plan.summarize_changes(draft.config, state.get_typed(state.SETTING), draft.along)
    show_caption(f"{PRESETS[draft.model].line} {changes} {size}. {time}.".replace("..", "."))
    for sentence in describe_shortcuts(draft.model, draft.config, rows):
        show_caption(sentence)
    if draft.recipe.name:
        show_caption(plan.describe_recipe(draft.recipe, draft.settings))
    name, source = state.get_value(state.NAME, ""), access.format_name(draft.source)
    command = plan.write_command(source, draft.model, draft.settings, name, draft.recipe.name)
    st.code(command, language=None, wrap_lines=True)


def _follow_settings() -> None:
    """Keep the typed settings and the link equal, the newer wins; a new visitor gets those of the link."""
    typed = [f"{name}={value}" for name, value in state.get_typed(state.SETTING).items()]
    before = state.get_value(f"{state.SET}-latest", None)
    if typed != (before or []):
        state.set_value(state.SET, typed)
    state.follow_link(state.SET, several=True)
    pairs = [pair.partition("=")[::2] for pair in state.get_value(state.SET, None) or ()]
    if unknown := [name for name, _ in pairs if name not in SETTINGS]:
        show_problem("This link names unknown settings", f"It is ignored: {', '.join(unknown)}.")
    linked = {name: value for name, value in pairs if name in SETTINGS}
    for name in state.get_typed(state.SETTING).keys() - linked.keys():
        state.drop_keys(state.SETTING + name)
    for name, value in linked.items():
        state.set_value(state.SETTING + name, value)
    for switch in (state.RECIPE, state.ALONG):
        state.follow_switch(switch)


def _make_draft() -> Draft:
    model = state.get_value(state.PRESET, MODEL)
    chosen = access.find_dataset(state.get_value(state.DATA, DATA) or DATA).settings
    typed = state.get_typed(state.SETTING)
    access.refuse_foreign(typed)
    if state.get_value(state.ALONG, False) and data.list_examples():
        typed[plan.EXAMPLES] = write_copy(data.store().folder)
    settings = {**_make_settings(chosen["data.name"]), **chosen, **typed}
    along = find_missing_inputs(model, settings)
    settings |= along
    found = configure_with_recipe(settings["data.name"], model, settings, _get_recipe(), store=data.store())
    return Draft(model, settings["data.name"], settings, along, *found)


def _list_defaults(along: dict[str, Any]) -> RunConfig:
    """Return the config shown as default values in grey: preset, data and length, without the user's own changes."""
    model = state.get_value(state.PRESET, MODEL)
    try:
        chosen = access.find_dataset(state.get_value(state.DATA, DATA) or DATA).settings
        source = chosen["data.name"]
        typed = state.get_typed(state.SETTING)
        beneath = {name: typed[name] for name in (START, BACKBONE) if name in typed}
        access.refuse_foreign(beneath)
        given = {**_make_settings(source), **chosen, **along, **beneath}
        return configure(source, model, given, _get_recipe(), store=data.store())
    except SentiscopeError:  # the page shows elsewhere that the data are missing
        return compose(model, along)


def _get_recipe() -> str:
    return options.get_recipe(state.get_value(state.RECIPE, False))


def _make_settings(source: str) -> dict[str, Any]:
    return {"data.name": source, **LENGTHS[state.get_value(state.LENGTH, LENGTH)]}


def _start_training() -> None:
    with state.store_refusal(state.PROBLEM):
        draft, name = _make_draft(), state.get_value(state.NAME, "")
        record = training_jobs.submit(data.store(), draft.config, draft.model, name, draft.recipe)
        state.choose_run(record.run)


STARTS_FROM = "Starts from the preset above and hides settings without effect. "


def _show_composer(defaults: RunConfig, model: ModelConfig | None) -> None:
    own = state.get_typed(state.SETTING)
    show_caption(STARTS_FROM + HOW)
    for title, names in plan.list_shown_settings(own, model).items():
        show_fields(title, [SETTINGS[name] for name in names], defaults, empty="none", model=model)
    if any(name in plan.OFFERED for name in own):
        fields = [state.SETTING + name for name in plan.OFFERED]
        st.button("Back to the preset", key="compose-clear", on_click=state.drop_keys, args=fields)


def _show_model(config: RunConfig, size: Size | None) -> None:
    vocabulary = size.vocabulary if size else config.text.max_vocab
    made = ModelDiagram(list_parts(config.model, vocabulary=vocabulary, classes=2), "composed")
    options.show_model("composed", config.model, made)


ROOMS = {"training": "Training", "data": "Data", "text": "Text"}
ELSEWHERE = plan.OFFERED | {*plan.NOT_LISTED, START, plan.EXAMPLES}
"""Settings with their own field at the top or in the builder."""
COLUMNS = 4
AUTOMATIC = "automatic"
HOW = "An empty field keeps the grey value. Names are those of sentiscope train --set."


def _show_settings(defaults: RunConfig) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        look: dict[str, Any] = {"placeholder": "made from data, model, seed and time", "width": 360}
        look["help"] = "Letters, digits, dots and dashes; a taken name gets a number"
        st.text_input("Name of the run", key=state.NAME, persist_state="session", **look)
        options.pick_start(state.SETTING + START)
        options.show_recipe_switch(state.RECIPE, RECIPE_MORE)
        n = len(data.list_examples())
        about = "They join only the training split; no metric includes them (data.examples). "
        about += "Behaviour tests lists them" if n else "None is saved yet: press Save on Sentence"
        title = f"Add {count(n)} {NAME}" if n != 1 else "Add 1 counter-example"
        st.toggle(title, key=state.ALONG, persist_state="session", disabled=not n, help=about)
    for room, title in ROOMS.items():
        names = [name for name in SETTINGS if name.startswith(f"{room}.") and name not in ELSEWHERE]
        show_fields(title, [SETTINGS[name] for name in names], defaults)
    show_caption(HOW)


def show_fields(
    title: str,
    listed: Sequence[Setting],
    defaults: RunConfig,
    *,
    empty: str = AUTOMATIC,
    model: ModelConfig | None = None,
) -> None:
    """Show a field for each setting of a group; `empty` is shown for no value; `model` shows which have no effect."""
    st.html(f'<p class="s-label s-group">{title}</p>')
    for start in range(0, len(listed), COLUMNS):
        columns = st.columns(COLUMNS, vertical_alignment="bottom")
        for column, setting in zip(columns, listed[start : start + COLUMNS], strict=False):
            with column:
                default = plan.format_setting(defaults, setting.name) or empty
                _show_field(setting, default, explain_idle(setting.name, model) if model else "")


def _show_field(setting: Setting, default: str, idle: str) -> None:
    about = f"{setting.help} ({setting.name})" if setting.help else f"As `--set {setting.name}=…`"
    about += f" **Without effect here**: {idle}." if idle else ""
    shared: dict[str, Any] = {"placeholder": default, "persist_state": "session", "help": about}
    if setting.choices:
        st.selectbox(setting.label, setting.choices, index=None, key=state.SETTING + setting.name, **shared)
    else:
        st.text_input(setting.label, key=state.SETTING + setting.name, **shared)
