"""Fields that pages share: options of figures, sections, split, text, model edits, model, and labelled data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import runs
from core.exceptions import SentiscopeError
from core.formatting import count
from core.interpret.model_edits import STEP, Editable, Edits, get_text_editable
from core.models.config import ModelConfig
from core.models.model_description import write_equation
from core.models.presets import PAPERS
from core.recipes import RECIPES
from core.runs.record import RunRecord
from core.runs.store import list_kept_steps
from core.text.text_pairs import join_pair, split_pair
from dashboard import access, selection, state
from dashboard.data import data
from dashboard.figures import model_plan
from dashboard.figures.figure import FreeText, Option, Source, ValueRange
from dashboard.widgets.export import Table
from dashboard.widgets.figure import edit_labels, show_caption, show_drawing
from dashboard.widgets.messages import explain_refusal, show_error, show_finding, show_problem
from dashboard.widgets.runs import choose_runs
from dashboard.widgets.style import get_look, split_page

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView
    from core.runs.evaluation_data import DataRequest, DatasetLabels

_MARKED = re.compile(r"[]*`~$<>\[\\:]|(?<!\w)_|_(?!\w)")
"""Markdown markup, which button labels would apply and menu labels would not."""


def choose_option(option: Option, source: Source, *, plain: bool = False) -> str:
    """Show a figure option as buttons if it has several values, store the choice in the source and return it.

    With `plain`, only screen readers get the label, since the text next to the widget describes it.
    """
    values = _list_values(option, source)
    first = str(option.get_default(source))
    if len(values) < 2:
        return first
    if any(map(_MARKED.search, values)):  # such as in a class name
        return pick_option(option, source)
    state.drop_stale(option.name, values)
    look: dict[str, Any] = {"label_visibility": "collapsed"} if plain else {"help": option.about or None}
    look |= {"default": None if state.has_followed(option.name) else first}  # a dependent option already has a value
    look |= {"bind": "query-params", "required": True}
    chosen: str = st.segmented_control(option.label, values, key=option.name, **look) or first
    source.choices[option.name] = chosen
    return chosen


def pick_option(
    option: Option, source: Source, *, label: str = "", width: int = 180, about: str = "", plain: bool = False
) -> str:
    """Show a figure option as a dropdown menu, and store the choice in the figure's source; return the choice."""
    values, first = _list_values(option, source), str(option.get_default(source))
    state.drop_stale(option.name, values)
    if option.usual is not None:  # the default depends on the run, so a link must contain it
        state.set_initial(option.name, first)
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible", "help": about or None}
    look |= {"bind": "query-params", "width": width}
    chosen: str = st.selectbox(label or option.label, values, key=option.name, **look) or first
    source.choices[option.name] = chosen
    return chosen


def choose_split(splits: Sequence[str], *, plain: bool = False) -> str:
    """Show the evaluated splits of a run as a row of buttons, `plain` without a label; return the chosen split."""
    state.set_option(state.SPLIT, splits, selection.get_default_split(splits))
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible"}
    chosen = st.segmented_control("Split", splits, key=state.SPLIT, bind="query-params", required=True, **look)
    return chosen or splits[-1]


def read_option(option: Option, source: Source) -> str:
    """Return a figure option's value before its widget is drawn, and store it in the figure's source."""
    value = state.get_bound(option.name)
    if value in _list_values(option, source):
        source.choices[option.name] = value
    return str(source.get_choice(option))


def _list_values(option: Option, source: Source) -> list[str]:
    values = option.values(source)
    assert not isinstance(values, ValueRange | FreeText), f"{option.name} has no list of values"
    return list(values)


ALL = "all"  # of the URL parameter: every section is open
Result = TypeVar("Result")
Sections: TypeAlias = Mapping[str, Callable[[], Mapping[str, Table]]]
"""The folded sections of a page: name → the function that draws it and returns its tables."""


def show_sections(sections: Mapping[str, Callable[[], Result]], *, plain: bool = False) -> list[Result]:
    """Show names of a page's sections in a row, draw those that are open in the given order, and return their results.

    The URL parameter `more` holds the open ones. `plain`: the row has no label.
    """
    opened = choose_sections(list(sections), plain=plain)
    return [draw() for name, draw in sections.items() if name in opened]


def collect_tables(sections: Sections, *, plain: bool = False) -> dict[str, Table]:
    """Draw a page's sections like `show_sections`; return the tables of those that are open."""
    found = show_sections(sections, plain=plain)
    return {name: table for tables in found for name, table in tables.items()}


def choose_sections(names: list[str], *, plain: bool = False) -> list[str]:
    """Show only the row of names; return those of the open sections. `plain`: without a label."""
    if state.read_link(state.MORE) == ALL:
        state.set_value(state.MORE, names)
    state.keep_valid(state.MORE, names)
    look: dict[str, Any] = {"label_visibility": "collapsed" if plain else "visible"}
    return st.pills("More", names, selection_mode="multi", key=state.MORE, bind="query-params", **look) or []


LONGEST = 20_000  # characters: a text of 2,000 words has about 12,000
FIELDS = {"pair-first": "First text", "pair-second": "Second text"}


def fill_text(record: RunRecord, first: str) -> None:
    """Fill the shared text field with the previous page's text, else with `first`; call once per drawing of a page."""
    state.restore_text(state.TEXT, first)
    if record.pairs:
        _set_pair(state.get_latest(state.TEXT))


def show_text_field(record: RunRecord) -> str:
    """Show the shared text field, or two fields for a run on text pairs; return the text."""
    if record.pairs:
        return _show_pair_fields()
    look: dict[str, Any] = {"placeholder": "Type a sentence", "max_chars": LONGEST, "bind": "query-params"}
    return st.text_input("Sentence", key=state.TEXT, live=True, label_visibility="collapsed", **look) or ""


@st.fragment
def show_text_part(record: RunRecord, show: Callable[[RunRecord, str, DeltaGenerator], None]) -> None:
    """Show the text field and everything that depends on its text, as a part of the page that reruns alone."""
    with st.container(key="bench", gap="xsmall"):
        line = st.container(key="typed", horizontal=True, vertical_alignment="center", gap="small")
        with line:
            text = show_text_field(record)
        if record.pairs and text and not (parts := split_pair(text) or (text, ""))[1].strip():
            about = f"Type the second one. The results below are for “{parts[0]}” alone."
            show_finding("This run reads two texts", about)
        try:
            show(record, text, line)
        except SentiscopeError as error:  # the app's error handler does not cover the rerun of a fragment
            show_error(error)


def _show_pair_fields() -> str:
    text = state.get_latest(state.TEXT)
    if tuple(state.get_value(key, "") for key in FIELDS) != (split_pair(text) or (text, "")):
        _set_pair(text)
    for key, label in FIELDS.items():
        look: dict[str, Any] = {"placeholder": label, "max_chars": LONGEST // 2, "on_change": _join_pair}
        st.text_input(label, key=key, live=True, label_visibility="collapsed", **look)
    return text


def _set_pair(text: str) -> None:
    for key, part in zip(FIELDS, split_pair(text) or (text, ""), strict=True):
        state.set_value(key, part)


def _join_pair() -> None:
    first, second = (str(state.get_value(key, "") or "") for key in FIELDS)
    state.set_param(state.TEXT, join_pair(first, second) if second.strip() else first)


def read_link_edits(record: RunRecord, text: str, trained: SentenceView) -> tuple[Edits, Editable, SentenceView]:
    """Return the model edits in the URL, the edits that are possible, and the edited model's view of the text."""
    edits, parts, left_out = parse_edits(record, trained, state.get_param(state.EDIT))
    if left_out and (parts.layers or STEP in state.get_param(state.EDIT)):
        many = "One change" if left_out == 1 else f"{left_out} changes"
        show_finding(f"{many} of the link cannot be applied", f"This run has {parts.syntax_help}.")
    return edits, parts, data.inspect_text(record.run, text, edits)


def parse_edits(record: RunRecord, trained: SentenceView, said: str) -> tuple[Edits, Editable, int]:
    """Parse model edits from a URL; return the edits, the possible edits, and how many edits do not fit the model."""
    steps = list_kept_steps(data.store().get_path(record.run))
    parts = replace(get_text_editable(record.config.model, trained), steps=steps)
    edits, left_out = parts.read_link(said)
    return edits, parts, left_out


STRONG = "strong"
WIDTH = 180


def pick_preset(default: str, *, help: str = "") -> str:
    """Show URL-bound menus of papers and model presets; return the preset, at first `default` if it is listed."""
    look: dict[str, Any] = {"bind": "query-params", "width": WIDTH}  # the shown names are the values in the URL
    names = model_plan.list_presets(st.selectbox("Paper", [model_plan.ALL, *PAPERS.values()], key=state.PAPER, **look))
    state.drop_stale(state.PRESET, names)
    first = names.index(default) if default in names else 0
    return str(st.selectbox("Model", names, index=first, key=state.PRESET, help=help or None, **look))


def show_model(name: str, model: ModelConfig, diagram: model_plan.ModelDiagram, caption: str = "") -> None:
    """Show a model as a diagram and, next to it, as equations, each followed by an explanation in words."""
    left, right = split_page(name, [1.1, 1])
    with left:
        show_drawing(model_plan.DIAGRAM.draw(diagram, get_look()), name, model_plan.describe_parts(diagram.parts))
        if caption:
            show_caption(caption)
    for index, line in enumerate(write_equation(model)):
        with right.container(key=f"equation-{index}", gap=None):
            st.latex(line.latex)
            show_caption(line.words)


def pick_dataset(*, more: str = "") -> None:
    """Show the menu of data sets for a training (name or path), bound to the URL; `more` is added to its help text."""
    about = f"A known name, or the path of a file or folder on this machine{more}"
    look: dict[str, Any] = {"bind": "query-params", "width": WIDTH, "accept_new_options": True, "help": about}
    st.selectbox("Data", access.list_names(here=True), key=state.DATA, **look)


def pick_start(key: str) -> None:
    """Show the menu of finished runs whose tokenizer, vocabulary and layers a training may start from."""
    about = "A finished run: its tokenizer, words and layers are reused where they fit (training.start)"
    runs = [each.run for each in data.list_runs() if each.status == "done" and each.config.model.family == "encoder"]
    choose_runs("Start from", runs, key, "scratch", about, persist_state="session", width=WIDTH)


def show_recipe_switch(key: str, more: str) -> None:
    """Show the switch of the strong training recipe; `more` extends its help text."""
    st.toggle("Strong recipe", key=key, persist_state="session", help=f"{RECIPES[STRONG].line} {more}")


def get_recipe(switched: bool) -> str:
    """Return the name of the training recipe that the switch selects; empty if the switch is off."""
    return STRONG if switched else ""


USUAL = "test, or all"
LEFT_OUT = "leave out"
REFUSED = "These data cannot be used"


def choose_data(key: str, label: str) -> DataRequest | None:
    """Show the fields that choose labelled data by name, path or file; None until data are chosen."""
    named = f"{key}-data"
    known, typed = access.list_names(here=True), state.get_value(named, None)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        about = "A known name, or the path of a labelled file or folder on this machine"
        look: dict[str, Any] = {"accept_new_options": True, "placeholder": "A name, or a path", "width": 260}
        options = [*known, typed] if typed and typed not in known else known
        name = st.selectbox(label, options, index=None, key=named, help=about, **look)
        look = {"accept_new_options": True, "width": 160, "help": "A single file is one split"}
        split = st.selectbox("Its split", [USUAL, "train", "validation", "test"], key=f"{key}-split", **look)
    file = st.file_uploader("Or a labelled file", type=access.KINDS, key=f"{key}-file")
    split = "" if split in (None, USUAL) else split
    with explain_refusal(REFUSED):
        if file is not None:
            kept = access.keep_upload(file.name, file.getvalue())
            return runs.evaluation_data.DataRequest(str(kept), split)
        if name:
            settings = dict(access.find_dataset(name).settings)
            source = str(settings.pop("data.name"))
            reading = {name: value for name, value in settings.items() if name.startswith("data.")}
            return runs.evaluation_data.DataRequest(source, split, settings=reading)
    return None


def match_labels(key: str, record: RunRecord, chosen: DataRequest) -> tuple[DataRequest, DatasetLabels, bool] | None:
    """Show a table that matches the labels of data to the classes of a run; None if the data cannot be used.

    Return also whether each label has a class, or is to be left out.
    """
    import pandas as pd

    try:
        offered = data.match_labels(record, chosen.data, chosen.split, tuple(sorted(chosen.settings.items())))
    except SentiscopeError as error:
        show_problem(REFUSED, str(error))
        return None
    names = [LEFT_OUT if name == "" else name for name in offered.meant.values()]
    rows = pd.DataFrame({"label": list(offered.labels), "rows": list(offered.labels.values()), "class": names})
    classes = st.column_config.SelectboxColumn("Class", options=[*record.classes, LEFT_OUT], width=220)
    columns = {"label": st.column_config.TextColumn("Its label", width=220), "class": classes}
    own = f"{key}-labels-{record.run}-{offered.split}-{'-'.join(offered.labels)[:80]}"
    edited = edit_labels(rows, columns, state.get_widget_key(own))
    show_caption(f"{count(offered.rows)} labelled rows, split {offered.split}. Click a class to change it.")
    meant = {str(old): new for old, new in zip(edited["label"], edited["class"], strict=True)}
    lacking = [old for old, new in meant.items() if pd.isna(new)]
    if lacking:
        show_caption(f"First choose a class for {', '.join(map(repr, lacking))}, or leave out the rows.")
    rename = {old: "" if new == LEFT_OUT else str(new) for old, new in meant.items() if old not in lacking}
    return replace(chosen, rename=rename), offered, not lacking
