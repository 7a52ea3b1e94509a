"""Page Attention: what attention does over a whole split, and which parts of the model are needed."""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.exceptions import NotAvailable
from core.formatting import number
from core.interpret import attention_findings as findings
from core.models.capabilities import list_capabilities
from core.runs.attention_files import AttentionMaps, PartImportance
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures import split_attention
from dashboard.figures.figure import Figure, Source
from dashboard.figures.lambdas import has_lambda
from dashboard.figures.model_plan import describe_baseline
from dashboard.figures.split_attention import HEADS, IMPORTANCE_FIGURES, MEASURE, SECTIONS, SplitAttention
from dashboard.widgets import lambda_course
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show_bare, show_caption, show_figure, show_how, show_others
from dashboard.widgets.messages import show_empty, show_finding, show_header, show_summary
from dashboard.widgets.options import pick_option, show_sections
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import list_facts, require_run

QUESTION = "What do the heads read over a whole split?"
NAMES = {"attention-mass": "Kinds of words", "attention-distance": "Distance", "attention-deviation": "Class token"}
NAMES |= {"attention-gates": "Gates", "attention-received": "Head of the model", "attention-importance": "Importance"}
LAMBDAS, NUMBERS = "λ", "Learned numbers"
HEAD = "head"


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
    tables = _show_maps(source) if source.split else _explain_unfinished(record)
    sections: dict[str, Callable[[], dict[str, Table]]] = {}
    for figure in SECTIONS if tables else ():
        if figure.is_available(source):
            sections[NAMES[figure.name]] = partial(_show_section, source, [figure])
    if source.split:
        sections[NAMES[IMPORTANCE_FIGURES[0].name]] = partial(_show_importance, source)
    if has_lambda(record) or data.read_learned_scalars(record):
        sections[LAMBDAS if has_lambda(record) else NUMBERS] = partial(lambda_course.show_section, source)
    for each in show_sections(sections):
        tables |= each
    if tables:
        show_export_bar("attention", {**tables, **show_others(source, "attention", split_attention.ALL)})


def _explain_unfinished(record: RunRecord) -> dict[str, Table]:
    show_caption(f"The run is {record.status}. Its attention can be measured once it has been evaluated.")
    return {}


def _show_maps(source: Source) -> dict[str, Table]:
    """Show the grid of heads and the sentences of a chosen one; offer the analysis if it is not computed."""
    try:
        shown = HEADS.read_data(source)
    except NotAvailable:
        show_finding("The maps have not been read yet", "What each head reads, and how evenly, appears here.")
        offer_analysis(AttentionMaps.from_run(data.store(), source.record.run, source.split), "attention-maps")
        return {}
    summary, place = st.container(), st.container()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        pick_option(MEASURE, source, width=260, plain=True)
        show_caption(HEADS.resolve_text(HEADS.reading, shown))
        show_how(HEADS.name, str(HEADS.reading), str(HEADS.how))
    with summary:
        show_summary(*_split_finding(findings.describe_entropy(shown.found)))
    with place:
        shown = show_bare(source, HEADS, on_select=_choose_head, selection_mode="points")
    _show_sentences(source, shown)
    return {**HEADS.build_tables(shown)}


def _split_finding(sentence: str) -> tuple[str, str]:
    first, _, rest = sentence.partition(". ")
    return (f"{first}.", rest) if rest else (first, "")


def _choose_head() -> None:
    """Store the clicked head in the link (widget callback)."""
    points = state.get_clicked_points(f"fig-{HEADS.name}")
    if points:
        layer, head, component = points[0]["customdata"]
        state.set_param(HEAD, f"{int(layer)}.{int(head)}.{int(component)}")
    else:
        state.set_param(HEAD, "")


def _show_sentences(source: Source, shown: SplitAttention) -> None:
    """Show the sentences in which the chosen head's output is largest, with a link to each with the head silenced."""
    chosen = state.get_param(HEAD)
    layer, head, component = (int(each) if each.isdigit() else 0 for each in f"{chosen}.0.0.0".split(".")[:3])
    found = next((each for each in shown.found["examples"] if (each["layer"], each["head"]) == (layer, head)), None)
    if found is None:
        return
    several = any(row["component"] for row in shown.found["entropy"])
    edit = f"m{layer}.{head}.{component}" if several else f"h{layer}.{head}"
    with st.container(key="head-sentences"):
        st.markdown(f"**Sentences with the largest output of head {head} of layer {layer}**")
        for each in found["texts"]:
            link = state.link_to("sentence", run=source.record.run, text=each["text"], edit=edit)
            _show_link(each["text"], number(each["norm"], 2), link)
        show_caption(f"Number: mean norm of the head's output. A link opens Sentence with {edit} switched off.")


def _show_link(text: str, norm: str, link: str) -> None:
    st.html(
        f'<p class="s-cap" data-text><a href="{escape(link)}" target="_self">{escape(text)}</a> <span>{norm}</span></p>'
    )


def _show_section(source: Source, figures: Sequence[Figure[Any]]) -> dict[str, Table]:
    """Show the finding of a section as a sentence, then its figures; return their tables."""
    tables: dict[str, Table] = {}
    for figure in figures:
        with contextlib.suppress(NotAvailable):
            shape = figure.read_data(source)
            if figure.finding:
                st.html(f'<p class="s-finding" role="status"><b>{escape(figure.finding(shape))}</b></p>')
            tables |= figure.build_tables(show_figure(source, figure))
    return tables


def _show_importance(source: Source) -> dict[str, Table]:
    """Show what silencing each part costs, or the button that measures it."""
    tables = _show_section(source, IMPORTANCE_FIGURES)
    if not tables:
        offer_analysis(PartImportance.from_run(data.store(), source.record.run, source.split), "attention-importance")
    return tables if has_lambda(source.record) else tables | lambda_course.show_effects(source)


show_page()
