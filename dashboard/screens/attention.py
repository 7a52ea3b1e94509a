"""Page Attention: what attention does over a whole split, and which parts of the model are needed."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from core.error_analysis.selection import Selection, parse_selection
from core.error_analysis.word_replacement import describe_replacement, parse_replacement
from core.exceptions import InputError, NotAvailable
from core.formatting import count, format_subscript, number, plural
from core.interpret import attention_findings as findings
from core.interpret.attention_findings import describe_effects
from core.models.capabilities import list_capabilities
from core.runs.attention_files import AttentionMaps, PartEffects, PartImportance, WordEffects
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import part_importance, split_attention
from dashboard.figures.attention import has_subtraction
from dashboard.figures.figure import Figure, Source
from dashboard.figures.lambdas import COURSE, FINAL, SCALE, SHARES, find_other_seeds, has_lambda
from dashboard.figures.model_plan import describe_baseline
from dashboard.figures.part_importance import EFFECTS_OF_PARTS
from dashboard.figures.results import choose_default_run
from dashboard.figures.token_values import NUMBERS_OF, Numbers, build_history_table, read_numbers, read_run_numbers
from dashboard.screens import LAMBDA_ADDRESS
from dashboard.widgets import figure as widgets
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.kept_steps import show_curves
from dashboard.widgets.messages import show_empty, show_finding, show_header, show_problem, show_summary
from dashboard.widgets.options import choose_option, pick_option, read_option, show_sections
from dashboard.widgets.progress import offer_analysis, show_job, show_start_button
from dashboard.widgets.runs import choose_runs, list_facts, require_run

QUESTION = "What do the heads attend to in a whole split?"
NAMES = {"attention-mass": "Kinds of words", "attention-distance": "Distance", "attention-deviation": "Class token"}
NAMES |= {"attention-gates": "Gates", "attention-received": "Head of the model", "attention-importance": "Importance"}
WORDS_SECTION, REPLACE = "Words", "replace"
LAMBDA_FIGURES: tuple[Figure[Any], ...] = (EFFECTS_OF_PARTS, COURSE, SHARES, FINAL, NUMBERS_OF)
PLACED: tuple[Figure[Any], ...] = (
    split_attention.HEADS,
    *split_attention.SECTIONS,
    *part_importance.IMPORTANCE_FIGURES,
    part_importance.WORDS,
    *LAMBDA_FIGURES,
)
LAMBDAS, NUMBERS = "λ", "Learned numbers"
HEAD = "head"
COMPARABLE = "To compare, read the maps of another run on these texts: `sentiscope attend OTHER --only maps`."
POLL_SECONDS = 2.0
SUBTRACTS = "This model subtracts its second map, so λ enters with a minus."
DEPENDS = (
    "In {preset} λ depends on the token. The curve shows its mean over fixed validation texts; Sentence shows it for "
    "one text."
)
HEADS = "Each head has its own λ: thin lines, named on hover. The thick line is their mean."


def show_page() -> None:
    """Draw the Attention page: the maps of a run over a split, and sections on what they mean."""
    record = require_run("Attention", QUESTION, purpose="Measures of attention appear here")
    if record is None:
        return
    source = Source(record, data)
    facts = [(source.split, "split")] if source.split else []
    show_header("Attention", QUESTION, [*list_facts(record), *facts])
    if "maps" not in list_capabilities(record.config.model):
        text = describe_baseline(record.config.model.family, "attention")
        show_empty(f"{record.preset} has no attention", text, "Train a model", "train")
        return
    tables = _show_maps(source) if source.split else {}
    if not source.split:
        said = f"The run is {record.status}. Its attention can be measured once it has been evaluated."
        widgets.show_caption(said)
    for each in show_sections(_list_sections(source, maps=bool(tables))):
        tables |= each
    if tables:
        show_export_bar("attention", {**tables, **widgets.show_others(source, "attention", PLACED)})


def _list_sections(source: Source, *, maps: bool) -> dict[str, Callable[[], dict[str, Table]]]:
    """List the sections that a run has, by name; open that on λ for a link to its former address."""
    record = source.record
    sections: dict[str, Callable[[], dict[str, Table]]] = {}
    for figure in split_attention.SECTIONS if maps else ():
        if figure.is_available(source):
            sections[NAMES[figure.name]] = partial(_show_section, source, [figure])
    if source.split:
        sections[NAMES[part_importance.IMPORTANCE_FIGURES[0].name]] = partial(_show_importance, source)
        sections[WORDS_SECTION] = partial(_show_words, source)
    if has_lambda(record) or data.read_learned_scalars(record) or len(read_run_numbers(record)):
        sections[LAMBDAS if has_lambda(record) else NUMBERS] = partial(_show_lambda_section, source)
    if state.get_value(state.ADDRESS, "") == LAMBDA_ADDRESS:
        state.set_initial(state.MORE, [name for name in sections if name in (LAMBDAS, NUMBERS)])
        if not has_lambda(record):
            first = choose_default_run([one for one in data.list_runs() if has_lambda(one)])
            text = "Its heads have one map each, so there is nothing to weigh."
            has = f"{data.label_run(first.run) if first else 'ndt-01-n3'} has λ."
            show_finding(f"{record.preset} has no λ", f"{text} {has}")
    return sections


def _show_maps(source: Source) -> dict[str, Table]:
    """Show the grid of heads and the sentences of a chosen one; offer the analysis if it is not computed."""
    try:
        shown = split_attention.HEADS.read_data(source)
    except NotAvailable:
        show_finding("The maps have not been read yet", "What each head reads, and how evenly, appears here.")
        offer_analysis(AttentionMaps.from_run(data.store(), source.record.run, source.split), "attention-maps")
        return {}
    summary, place = st.container(), st.container()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pick_option(split_attention.MEASURE, source, width=260, plain=True)
        widgets.show_caption(split_attention.HEADS.resolve_text(split_attention.HEADS.reading, shown))
        widgets.show_how(split_attention.HEADS.name, str(split_attention.HEADS.reading), str(split_attention.HEADS.how))
    with summary:
        first, _, rest = findings.describe_entropy(shown.found).partition(". ")
        show_summary(f"{first}." if rest else first, rest)
    with place:
        shown = widgets.show_bare(source, split_attention.HEADS, on_select=_choose_head, selection_mode="points")
    _show_sentences(source, shown)
    return {**split_attention.HEADS.build_tables(shown)}


def _choose_head() -> None:
    points = state.get_clicked_points(f"fig-{split_attention.HEADS.name}")
    if points:
        layer, head, component = points[0]["customdata"]
        state.set_param(HEAD, f"{int(layer)}.{int(head)}.{int(component)}")
    else:
        state.set_param(HEAD, "")


def _show_sentences(source: Source, shown: split_attention.SplitAttention) -> None:
    """Show the sentences in which the chosen head's output is largest, with a link to each with the head silenced."""
    chosen = state.get_param(HEAD)
    layer, head, component = (int(each) if each.isdigit() else 0 for each in f"{chosen}.0.0.0".split(".")[:3])
    found = next((each for each in shown.found["examples"] if (each["layer"], each["head"]) == (layer, head)), None)
    if found is None:
        return
    several = any(row["component"] for row in shown.found["entropy"])
    edit = f"m{layer}.{head}.{component}" if several else f"h{layer}.{head}"
    part = f"A{format_subscript(component)} of this head" if several else "this head"
    with st.container(key="head-sentences"):
        st.markdown(f"**Sentences with the largest output of head {head} of layer {layer}**")
        for each in found["texts"]:
            link = state.link_to("sentence", run=source.record.run, text=each["text"], edit=edit)
            text = f'<a href="{escape(link)}" target="_self">{escape(each["text"])}</a>'
            st.html(f'<p class="s-cap" data-text>{text} <span>{number(each["norm"], 2)}</span></p>')
        widgets.show_caption(f"Number: mean norm of the head's output. A link opens Sentence with {part} switched off.")


def _show_said(sentence: str) -> None:
    st.html(f'<p class="s-finding" role="status"><b>{escape(sentence)}</b></p>')


def _show_section(source: Source, figures: Sequence[Figure[Any]]) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    if split_attention.DEVIATION in figures and len(split_attention.list_compared(source)) > 1:
        pick_option(split_attention.OTHER_RUN, source)
    elif split_attention.DEVIATION in figures:
        widgets.show_caption(COMPARABLE)
    for figure in figures:
        with contextlib.suppress(NotAvailable):
            shape = figure.read_data(source)
            if figure.finding:
                _show_said(figure.finding(shape))
            tables |= figure.build_tables(widgets.show_figure(source, figure))
    return tables


def _show_importance(source: Source) -> dict[str, Table]:
    tables = _show_section(source, part_importance.IMPORTANCE_FIGURES)
    files = partial(PartImportance.from_run, data.store(), source.record.run, source.split)
    if not tables:
        offer_analysis(files(), "attention-importance")
    elif source.record.config.model.attention.components > 1 and "map" not in {
        row["kind"] for row in part_importance.read_importance(source).found["parts"]
    }:
        each = files(each_map=True)
        if not show_job(each, "attention-each-map"):
            show_start_button(each, "attention-each-map", "Also each component in each head", about=each.offer.takes)
    return tables if has_lambda(source.record) else tables | _show_effects(source)


def _show_words(source: Source) -> dict[str, Table]:
    choose_option(part_importance.WORD_CLASS, source)
    try:
        shown = part_importance.WORDS.read_data(source)
    except NotAvailable as error:
        files = WordEffects.from_run(data.store(), source.record.run, source.split)
        if files.get_path("json").is_file():
            widgets.show_caption(f"The words cannot be ranked: {error}.")
        else:
            offer_analysis(files, "attention-words")
        return _show_replacement(source)
    rules = parse_selection(state.get_param(state.SELECT)).rules
    picked = next((row["word"] for row in shown.rows if rules == ("all", f"word={row['word']}")), "")
    _show_said(part_importance.WORDS.finding(shown) if part_importance.WORDS.finding else "")
    take = partial(_select_word, source)
    widgets.show(
        part_importance.WORDS, replace(shown, picked=picked), default={"picked": picked}, on_picked_change=take
    )
    return {**part_importance.WORDS.build_tables(shown), **_show_replacement(source)}


def _select_word(source: Source) -> None:
    word = state.get_picked(part_importance.WORDS.name)
    rules = ("all", f"word={word}") if word else ()
    selection.select_rules(source.record, Selection(rules, source.split))


def _show_replacement(source: Source) -> dict[str, Table]:
    """Show a field for a word and its replacement, and how many answers change in the selected sentences."""
    record, split = source.record, source.split
    about = "In the selected sentences, else in all of the split, as `sentiscope errors RUN --replace OLD=NEW`"
    look: dict[str, Any] = {"bind": "query-params", "placeholder": "great=terrible", "width": 260, "help": about}
    typed = st.text_input("Replace a word", key=REPLACE, max_chars=200, **look)
    if not typed:
        return {}
    now = selection.get_split_selection(record, split)
    try:
        rows = range(len(data.read_table(record, split))) if now is None else now.places.tolist()
        found = data.replace_word(record, split, tuple(rows), parse_replacement(typed))
    except InputError as error:
        show_problem("This cannot be replaced", str(error))
        return {}
    where = f"{plural(len(rows), 'sentence')}, {'selected' if now else split}"
    _show_said(describe_replacement(found))
    widgets.show_caption(
        f"{where}. Same as the label: {count(found['right_before'])} before, {count(found['right_after'])} after."
    )
    if not found["rows"]:
        return {}
    table = pd.DataFrame(found["rows"])
    widgets.show_table(table.drop(columns="row"), "Changed answers", key="replaced-answers")
    choose = partial(selection.choose_rows, record, split, table["row"].tolist(), f"answer changes with {typed}")
    st.button(f"Select the {count(len(table))} that change", key="select-replaced", type="tertiary", on_click=choose)
    return {"Replaced": table}


def _show_lambda_section(source: Source) -> dict[str, Table]:
    """Show the course of λ in front of chosen other runs, its final values, and other learned numbers."""
    record = source.record
    if not has_lambda(record):
        return _show_scalars(record)
    tables = _show_effects(source)
    others = [one for one in data.list_runs() if one.run != record.run and has_lambda(one)]
    state.follow_link(state.COMPARED, several=True)
    state.reset_on_change(state.COMPARED, record.run, find_other_seeds(record, others))
    state.follow_link(state.COMPARED, several=True)
    with st.container(horizontal=True, gap="medium"):
        choose_option(SCALE, Source(record, data), plain=True)
        if others:
            with st.popover("Compare with …"):
                runs, about = [one.run for one in others], "By default, runs that differ only in the seed"
                choose_runs("Compare with", runs, state.COMPARED, "Other runs with λ", about, several=True)
    if record.is_live:
        st.fragment(_watch_run, run_every=POLL_SECONDS)(record.run)
        return tables
    return tables | _show_lambdas(record)


def _show_effects(source: Source) -> dict[str, Table]:
    """Show in a line how many answers depend on λ, gates, σ and heads, or the button that measures it."""
    if not source.split:
        return {}
    try:
        shown = EFFECTS_OF_PARTS.read_data(source)
    except NotAvailable:
        offer_analysis(PartEffects.from_run(data.store(), source.record.run, source.split), EFFECTS_OF_PARTS.name)
        return {}
    show_finding(str(EFFECTS_OF_PARTS.title), describe_effects({"effects": shown.found}))
    return {**widgets.show_with_tables(EFFECTS_OF_PARTS, shown)}


def _watch_run(run: str) -> None:
    record = data.store().read(run)
    if not record.is_live:
        st.rerun()
    _show_lambdas(record)


def _show_lambdas(record: RunRecord) -> dict[str, Table]:
    source = Source(record, data, choices={"runs": state.get_value(state.COMPARED, [])})
    read_option(SCALE, source)
    try:
        shown = COURSE.read_data(source)
    except NotAvailable:
        if record.is_live:
            show_finding("No λ has been logged yet", "The first value arrives with the first training step.")
        else:
            show_finding("No λ was logged", "The history of this run has none. Train it again to record λ.")
        return {}
    for name, lines in shown.skipped.items():
        show_problem(
            f"{plural(lines, 'line')} of the history of {data.label_run(name)} cannot be read",
            "The curves leave them out; the run itself is not affected.",
        )
    if shown.tracks[0].normed:
        widgets.show(SHARES, shown.tracks[0])
    tables = show_curves(record, COURSE, shown)
    depends = record.config.model.attention.mixing == "differential-v2"
    notes = (
        SUBTRACTS if has_subtraction(record) else "",
        DEPENDS.format(preset=record.preset) if depends else "",
        HEADS if shown.tracks[0].heads else "",
    )
    if any(notes):
        show_finding("How to read λ here", " ".join(filter(None, notes)))
    widgets.show(FINAL, shown)
    return {**tables, **_show_scalars(record)}


def _show_scalars(record: RunRecord) -> dict[str, Table]:
    lines, table = data.read_learned_scalars(record), read_run_numbers(record)
    if len(table):
        final = Numbers(table, "Final values", "at the saved epoch")
        widgets.show(NUMBERS_OF, final if lines else read_numbers(record))
    found = {"Learned numbers": table, "Course of numbers": build_history_table(lines)}
    return {name: each for name, each in found.items() if len(each)}


show_page()
