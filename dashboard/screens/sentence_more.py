"""Folded sections of the Sentence page: passages, mixture with TF-IDF, model parts, attribution methods."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import InputError, NotAvailable
from core.formatting import count, number, signed
from core.interpret.model_edits import Edits
from core.interpret.negation_templates import FILLER, PLACE, TEMPLATES
from core.interpret.negation_templates import LONGEST as LONGEST_TEMPLATE
from core.models.capabilities import list_capabilities
from core.runs import background_jobs
from core.runs.faithfulness_files import BeliefFiles
from core.runs.record import RunRecord
from core.text.graphemes import clip_text, wrap_bidi
from core.text.words import split_passages
from dashboard import state
from dashboard.data import data
from dashboard.figures import attribution_comparison, token_values
from dashboard.figures.ablation_levers import LEVERS
from dashboard.figures.attention import build_attention_table, build_prediction_table, has_subtraction
from dashboard.figures.attention_heads import COEFFICIENTS, COMBINED, HEAD_VIEW, HEADS
from dashboard.figures.attribution_comparison import DIFFERENCE, EXTENT, METHODS, READ_NEEDED
from dashboard.figures.faithfulness import ALONG, BELIEF, HOW, METHOD
from dashboard.figures.figure import Figure, Source
from dashboard.figures.interventions import DISTANCE, DONOR, LAMBDA_BENCH, OF, PATCHING, measure_distance, prepare_query
from dashboard.figures.model_plan import describe_baseline
from dashboard.figures.registry import list_unplaced
from dashboard.figures.word_attributions import WORDS, get_target_class
from dashboard.screens.sentence_bench import has_pieces, show_lambdas, show_more_maps, show_unknown_words
from dashboard.screens.sentence_compare import SECTION, ReadingComparison, compare_pinned, get_pinned, show_second_run
from dashboard.screens.sentence_counterfactual import show_counterfactual
from dashboard.screens.sentence_history import show_paper_sentences, show_tried
from dashboard.widgets.bars import show_prediction
from dashboard.widgets.export import Table, Tables, show_export_bar
from dashboard.widgets.figure import (
    show,
    show_bare,
    show_caption,
    show_figure,
    show_figure_heading,
    show_figures,
    show_heading,
    show_others,
    show_with_tables,
)
from dashboard.widgets.messages import as_sentence, escape_label, show_finding, show_problem
from dashboard.widgets.options import choose_option, read_option, show_sections
from dashboard.widgets.progress import show_job, show_start_button, wait_for
from dashboard.widgets.style import get_look, split_page

if TYPE_CHECKING:
    import numpy as np

    from core.interpret.sentence_inspection import MixView, SentenceView

BREATH = 0.2
"""Seconds to wait before charts are drawn, so that the bench appears first and typing is not delayed."""
NOTHING_KNOWN = 2  # columns of a token table without further values


def has_maps(view: SentenceView) -> bool:
    """Return whether a model has attention maps for a text: it has tokens and is not too long."""
    return bool(view.layers and view.tokens and not view.too_long)


def show_more(
    source: Source,
    trained: SentenceView,
    others: Mapping[str, RunRecord],
    pin: Source | None,
    tables: Mapping[str, Table],
) -> None:
    """Show the row of folded sections of the Sentence page, those that are open, and the export."""
    if state.get_value(state.MORE, None):
        time.sleep(BREATH)
    deep, tables = has_maps(trained), dict(tables)
    view = source.view if source.text.strip() else trained
    beside: dict[str, SentenceView] = {}
    with st.container(key="below"):
        if deep:
            _warn_truncated(source)
            about = source.view, has_subtraction(source.record), source.edits, trained
            tables["Attention"] = partial(build_attention_table, *about)
        else:
            _explain_no_inside(source.record, trained)
        for found in show_sections(_list_sections(source, trained, others, pin)):
            if isinstance(found, ReadingComparison):
                beside |= found.views
                found = found.tables
            tables |= found
        if len((known := token_values.build_token_table(trained)).columns) > NOTHING_KNOWN:
            tables["Tokens"] = known
        answers = partial(build_prediction_table, _list_predictions(view, trained if source.edits else None, beside))
        drawn = deep or any(figure.is_available(source) for figure in PLACED if figure not in OF_WORDS)
        drawn = drawn or "Distance" in tables
        show_export_bar("sentence", {"Prediction": answers, **tables}, figures=drawn)


def _list_sections(
    source: Source, trained: SentenceView, others: Mapping[str, RunRecord], pin: Source | None
) -> dict[str, Callable[[], Mapping[str, Table] | ReadingComparison]]:
    """Return the folded sections of the Sentence page, by name: those that this text has, and those that are open."""
    record, deep, words = source.record, has_maps(trained), bool(trained.tokens)
    view = source.view if source.text.strip() else trained
    sections: dict[str, tuple[bool, Callable[[], Mapping[str, Table] | ReadingComparison]]] = {
        "Smallest change": (words, partial(show_counterfactual, source)),
        "Methods": (words, partial(_show_methods, source)),
        "Trust": (words, partial(show_faithfulness, source)),
        "All heads": (deep, partial(show_more_maps, source)),
        "Vary λ": (deep and "lambda" in list_capabilities(record.config.model), partial(show_lambdas, source)),
        "Patching": (deep, partial(_show_patching, source)),
        "Other parts": (words and _has_other_parts(source), partial(_show_other_parts, source)),
        "Unknown words": (deep and has_pieces(trained), partial(show_unknown_words, trained)),
        "Mixture": (trained.mix is not None, partial(_show_mixture, record, source.edits, trained, view)),
        "Passages": (_is_long(record, trained), partial(_show_passages, record, source.text)),
        "Negation": (True, partial(_show_negation, record, others, source.text)),
        "Two models": (True, partial(show_second_run, source, others)),
        SECTION: (get_pinned() is not None, partial(compare_pinned, source, pin)),
        "From papers": (True, show_paper_sentences),
        "Recent": (True, show_tried),
    }
    opened = state.get_value(state.MORE, None) or ()  # one that is open stays so while the text changes
    shown = {name: each for name, each in sections.items() if each[0] or name in opened}
    return {name: draw if there else _show_missing for name, (there, draw) in shown.items()}


def _show_missing() -> Mapping[str, Table]:
    show_caption("This section needs another text or run.")
    return {}


def _warn_truncated(source: Source) -> None:
    view = source.view
    if view.truncated:
        show_finding(
            f"The last {count(view.truncated)} tokens were cut off",
            f"This model reads {count(source.record.max_length)} tokens at most. Not read: "
            f"“{wrap_bidi(clip_text(view.cut, QUOTED))}”.",
        )


def _list_predictions(
    view: SentenceView, trained: SentenceView | None, beside: Mapping[str, SentenceView]
) -> dict[str, dict[str, float]]:
    columns = {"probability": view.probabilities} | ({} if trained is None else {"as trained": trained.probabilities})
    if view.mix:
        columns |= {"network alone": view.mix.network, "TF-IDF alone": view.mix.tfidf}
    return columns | {name: other.probabilities for name, other in beside.items()}


def _explain_no_inside(record: RunRecord, view: SentenceView) -> None:
    if view.too_long:
        show_finding(
            f"A text of {count(len(view.tokens))} tokens is too long for maps",
            "Each token attends to few others here, so a map of all pairs would be nearly empty. Type a shorter text.",
        )
    elif view.layers:
        show_finding("This text has no words", "The bar shows the prediction for an empty text.")
    else:
        show_finding(
            f"{record.preset} has no attention maps",
            f"{describe_baseline(record.config.model.family, 'heads and layers')} "
            "Choose another run in the sidebar to see maps.",
        )


ROWS: dict[str, tuple[Figure[Any], ...]] = {
    "gates": (token_values.GATES,),
    "token-lambda": (token_values.TOKEN_LAMBDA,),
    "polarity": (token_values.POLARITY, token_values.LEXICON),
    "support": (token_values.SUPPORT,),
    "head": (token_values.BRANCHES,),
}
OF_WORDS: tuple[Figure[Any], ...] = (WORDS, METHODS, READ_NEEDED)
"""Figures without an exported picture of their own."""
PLACED: tuple[Figure[Any], ...] = (
    *(*OF_WORDS, BELIEF, ALONG, DIFFERENCE, DISTANCE, HEAD_VIEW, LEVERS, LAMBDA_BENCH, HEADS, COEFFICIENTS, PATCHING),
    COMBINED,
    *(figure for row in ROWS.values() for figure in row),
)


def _has_other_parts(source: Source) -> bool:
    figures = (*(figure for row in ROWS.values() for figure in row), *list_unplaced("sentence", PLACED))
    return len(token_values.build_number_table(token_values.read_view_scalars(source.view))) > 0 or any(
        map(methodcaller("is_available", source), figures)
    )


def _show_other_parts(source: Source) -> Tables:
    table = token_values.build_number_table(token_values.read_view_scalars(source.view))
    if len(table):
        learned = token_values.Numbers(table, "Learned numbers", "of the model, the same for every text")
        show(token_values.NUMBERS_OF, learned)
    for name, figures in ROWS.items():
        _show_columns(name, figures, source)
    return show_others(source, "sentence", PLACED)


def _show_columns(name: str, figures: Sequence[Figure[Any]], source: Source) -> None:
    """Show a row of figures in two columns, leaving out those that are not available for the run."""
    there = [figure for figure in figures if figure.is_available(source)]
    if not there:
        return
    columns = split_page(name, [6, 5])
    for column, figure in zip(columns, there, strict=False):
        with column:
            show_figure(source, figure)


MIXTURE = (
    "p = w · network + (1 − w) · TF-IDF, with the w that minimizes the loss on the validation split. TF-IDF counts "
    "words, pairs and character n-grams and was fitted on the training split. The temperature of the run, {}, then "
    "scales the mixture."
)
OFF = "Off: the network predicts alone, at the same temperature."
KEY = "edit-mix"
ROOMY = 0.55


def _show_mixture(record: RunRecord, edits: Edits, trained: SentenceView, view: SentenceView) -> Mapping[str, Table]:
    if trained.mix is None or view.mix is None:
        return {}
    about = MIXTURE.format(number(record.temperature, 2))
    show_heading("How the parts add up", "mix", note=record.mixture, about=about)
    _show_mixed_parts(record, trained.mix if edits else None, view.mix, view)
    state.set_value(KEY, not edits.unmixed)
    st.toggle("Include TF-IDF", key=KEY, on_change=_switch_mixture, args=(edits,), help=OFF)
    return {}


def _show_mixed_parts(record: RunRecord, before: MixView | None, now: MixView, view: SentenceView) -> None:
    def replace_predictions(probabilities: Mapping[str, float]) -> SentenceView:
        return replace(view, probabilities=dict(probabilities))

    trained = [None] * len(now.parts) if before is None else map(replace_predictions, before.parts.values())
    columns = st.columns(len(now.parts), gap="large")
    for column, (part, chances), was in zip(columns, now.parts.items(), trained, strict=True):
        with column:
            st.html(f'<p class="s-who"><b>{escape(part)}</b></p>')
            show_prediction(record, replace_predictions(chances), get_look(), before=was, small=True, roomy=ROOMY)


def _switch_mixture(edits: Edits) -> None:
    state.set_param(state.EDIT, replace(edits, unmixed=not state.get_value(KEY, True)).encode_line())


REACH = "Reach of negation"
MOST = 5
"""Most other runs; more colours would be hard to distinguish."""
TEMPLATE_HELP = f"Choose one or type your own: {PLACE} marks where words go, [not] in brackets is the negation."
INSERT_HELP = "Added one word at a time; with | between pieces, one piece at a time."


def _show_negation(record: RunRecord, others: Mapping[str, RunRecord], text: str) -> Tables:
    own = [text] if PLACE in text else []
    fitting = {name: other for name, other in others.items() if other.task == record.task}
    with st.container(key="distance", gap="small"):
        place = st.container()
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            look: dict[str, Any] = {"bind": "query-params", "help": TEMPLATE_HELP, "accept_new_options": True}
            look |= {"format_func": lambda name: TEMPLATES.get(name, name), "width": 360}
            template = st.selectbox("Template", [*own, *TEMPLATES], key=state.TEMPLATE, **look)
            look = {"bind": "query-params", "help": INSERT_HELP, "max_chars": LONGEST_TEMPLATE}
            insert = st.text_input("Inserted words", FILLER, key=state.INSERT, **look)
        state.keep_valid(state.CURVES, list(fitting))
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            hint = "Choose runs" if fitting else "There is no other run of this kind"
            look = {"bind": "query-params", "max_selections": MOST, "placeholder": hint}
            chosen = st.multiselect("Other runs", list(fitting), key=state.CURVES, **look)
            source = Source(record, data, others=[fitting[name] for name in chosen], text=template or "")
            if OF.has_choices(source):
                choose_option(OF, source)
        with place:
            try:
                runs, filled, towards = prepare_query(source, insert or FILLER)
                wanted = [("reach", each.run, filled, towards) for each in runs]
                if not wait_for(data.request_all(*wanted), "distance", "Some runs have not read every step.").whole:
                    show_heading(REACH, "distance")
                    return {}
                shape = measure_distance(source, insert or FILLER)
            except (InputError, NotAvailable) as error:
                show_heading(REACH, "distance")
                show_problem("This template cannot be read", str(error))
                return {}
            tables = show_with_tables(DISTANCE, shape)
            for note in shape.notes:
                show_caption(note)
    return tables


MOST_WORDS = 40
"""Most words per passage; models trained on sentences did best on reviews with this value."""
SEEN = 6  # passages shown without scrolling; a text of 2 000 words has fifty
QUOTED = 80
ABOUT = (
    "A model trained on sentences reads a long text badly. Here it reads passages of at most {} words, without your "
    "changes, and predicts from the mean of their logits. In a terminal: predict with --passage."
)
OWN = "The model was trained to read texts in passages of at most {} tokens; the mean of their logits is weighted."
NOTE = "Effect: log-odds lost without the passage. Click a passage to read it alone."


def _is_long(record: RunRecord, view: SentenceView) -> bool:
    if most := record.config.training.passages:
        return len(view.tokens) > most
    return not record.pairs and len(split_passages(view.text, MOST_WORDS)) > 1


def _show_passages(record: RunRecord, text: str) -> Tables:
    import pandas as pd

    own = record.config.training.passages
    read = data.predict_passages(record.run, text, 0 if own else MOST_WORDS)
    chances, whole = read.each.probabilities, read.whole.probabilities[0]
    effects = read.measure_effects(record.task, record.scaling)
    note = f"together {_format_prediction(record, whole)}; passage {effects.argmax() + 1} has most effect"
    show_heading("By passage", "passages", note=note, about=OWN.format(own) if own else ABOUT.format(MOST_WORDS))
    with st.container(key="passages", gap="xxsmall", height=320 if len(chances) > SEEN else "content"):
        for place, (passage, said, effect) in enumerate(zip(read.cut[0], chances, effects, strict=True)):
            told = f"{place + 1} · {_format_prediction(record, said)}, effect {signed(effect)}"
            line = f"{told} — {wrap_bidi(clip_text(passage, QUOTED))}"
            alone = partial(state.set_value, state.TEXT, passage)
            if st.button(escape_label(line), key=f"passage-{place}", type="tertiary", on_click=alone):
                st.rerun()
    show_caption(NOTE)
    columns = {f"probability:{name}": chances[:, place] for place, name in enumerate(record.classes)}
    columns |= {"effect": effects, "weight": read.weights}
    return {"Passages": pd.DataFrame({"passage": read.cut[0], **columns})}


def _format_prediction(record: RunRecord, chances: np.ndarray) -> str:
    """Format the predicted class with its probability; for multi-label runs all labels above their thresholds."""
    limits = record.tuned_thresholds or {}
    several = [place for place, name in enumerate(record.classes) if chances[place] > limits.get(name, 0.5)]
    shown = several if record.task == "multi" and several else [int(chances.argmax())]
    return ", ".join(f"{record.classes[place]} {number(float(chances[place]), 2)}" for place in shown)


def _show_methods(source: Source) -> Tables:
    tables: Tables = {}
    with st.container(key="by-method"):
        read_option(EXTENT, source)
        asked = source.record.run, source.text, get_target_class(source), source.edits
        wanted = "each_method", *asked, attribution_comparison.list_methods(source)
        known = wait_for(data.request_all(wanted), "methods", "Some methods have no result yet.")
        if not known.whole:
            if known.found is not None:
                shown = attribution_comparison.MethodComparison(source.record, known.found, bool(source.edits))
                tables = show_with_tables(METHODS, shown)
            choose_option(EXTENT, source)
            return tables
        left, right = split_page("methods", [6, 5])
        with left:
            tables = show_figures(source, METHODS)
            choose_option(EXTENT, source)
        with right, contextlib.suppress(NotAvailable):
            tables |= show_figures(source, READ_NEEDED)
    return tables


SHOWN = "deletion"


def show_faithfulness(source: Source) -> Tables:
    """Show how faithful attribution methods are on validation sentences, or offer to measure it; return the tables."""
    tables: Tables = {}
    with st.container(key="belief"):
        found = data.read_faithfulness(source.record)
        if found is None:
            show_heading(str(BELIEF.title), "belief", about=HOW)
        else:
            tables |= show_with_tables(BELIEF, BELIEF.read_data(source))  # not cached: it may be measured again
        measured = set() if found is None else {each.method for each in found.methods}
        _offer_measurement(source, measured)
        if found is not None:
            choose_option(METHOD, source)
            tables |= show_with_tables(ALONG, ALONG.read_data(source))
    return tables


def _offer_measurement(source: Source, measured: set[str]) -> None:
    run = source.record.run
    every, single = BeliefFiles.from_run(data.store(), run), BeliefFiles.from_run(data.store(), run, SHOWN)
    for files, key, what in ((every, "measure-all", "all methods"), (single, "measure-deletion", SHOWN)):
        if show_job(files, key, f"Measuring {what} on {files.limit} sentences"):
            return
    if background_jobs.read_job(every).status == "done":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not measured:
            show_start_button(single, "measure-deletion", f"Measure {SHOWN}")
        show_start_button(every, "measure-all")
        again = "Takes a few minutes. You may leave the page or close the tab."
        show_caption(again if measured else every.offer.takes)


LONGEST = 2_000
OFFER = "Replace one word: which layer, word and head carry the difference?"


def _show_patching(source: Source) -> Tables:
    with st.container(key="patching"):
        place = st.container()
        label, example = "Second sentence", "A second sentence with the same number of tokens"
        hidden: dict[str, Any] = {"placeholder": example, "label_visibility": "collapsed"}
        donor = st.text_input(label, key=state.DONOR, bind="query-params", max_chars=LONGEST, **hidden)
        source.choices[DONOR.name] = donor or ""
        shape, said = None, ("", OFFER)
        if (donor or "").strip():
            about = source.record.run, source.text, donor, get_target_class(source), source.edits
            try:
                if wait_for(data.request_all(("patches", *about)), "patches", "Some places were not tested.").whole:
                    shape = show_bare(source, PATCHING)
            except InputError as error:
                said = "These sentences cannot be combined", as_sentence(error)
        with place:
            show_figure_heading(PATCHING, shape)
        if shape is None:
            show_finding(*said) if said[0] else show_caption(said[1])
            return {}
        show_caption(PATCHING.resolve_text(PATCHING.reading, shape))
        return PATCHING.build_tables(shape)
