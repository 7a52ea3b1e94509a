"""Upper part of the Sentence page: word attributions, attention maps, switches for model parts, and λ curves."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.exceptions import NotAvailable
from core.fingerprint import hash_value
from core.interpret.model_edits import UNCHANGED, Editable
from core.models.capabilities import list_capabilities
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.ablation_levers import LEVERS, MEAN, SILENT, build_part_table
from dashboard.figures.attention import describe_special
from dashboard.figures.attention_heads import COEFFICIENTS, FROM, GRID, HEAD_VIEW, HEADS, LAYER, MAP, SCALE, get_layer
from dashboard.figures.figure import Source, ValueRange
from dashboard.figures.interventions import LAMBDA_BENCH
from dashboard.figures.word_attributions import COUNTED, TOWARDS, WORDS, build_push_table, get_target_class
from dashboard.reader.models import Wanted
from dashboard.widgets.export import Table, Tables
from dashboard.widgets.figure import show_bare, show_caption, show_figure, show_figures
from dashboard.widgets.messages import show_finding
from dashboard.widgets.options import choose_option, read_option
from dashboard.widgets.progress import offer_analysis, wait_for
from dashboard.widgets.style import split_page

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence_inspection import SentenceView

QUOTED = 80
NOTE = "A head may attend to a word that does not change the prediction. Switch the head off to test it."


def show_bench(source: Source) -> tuple[dict[str, Table], DeltaGenerator]:
    """Show word attributions and attention between words; return their tables and the page column for part switches."""
    words = st.container()
    left, right = split_page("bench", [1.22, 1], gap="medium")
    read_option(SCALE, source)
    with left:
        with st.container(key="bench-head", horizontal=True, vertical_alignment="center", gap="small"):
            st.html('<div class="s-fig"><h2>Attention</h2></div>', width="content")
            if len(source.view.layers) > 1:
                st.html('<span class="s-note">layer</span>', width="content")
            choose_option(LAYER, source, plain=True)
            choose_option(MAP, source, plain=True)
        starts = FROM.values(source)
        if isinstance(starts, ValueRange):
            ends = int(starts.low), int(starts.high)
            found = st.slider(FROM.label, *ends, key=FROM.name, bind="query-params", help=FROM.about)
            source.choices[FROM.name] = found
        show_bare(source, HEAD_VIEW)
    with words:
        tables = show_words(source)
    return tables, right


def show_more_maps(source: Source) -> Tables:
    """Show all attention heads side by side, and the weights with which each head combines its attention maps."""
    show_finding("Attention is not an explanation", NOTE)
    show_caption(describe_special(source.view, get_layer(source)))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choose_option(GRID, source)
        choose_option(SCALE, source)
    left, right = split_page("main", [6, 5])
    with left:
        show_figure(source, HEADS)
    with right, contextlib.suppress(NotAvailable):
        show_figure(source, COEFFICIENTS)
    return {}  # the maps are in a table of the first screen


def choose_target(source: Source) -> None:
    """Show the menu of the class that attributions explain, which is the predicted class at first."""
    if TOWARDS.has_choices(source):
        first = str(TOWARDS.get_default(source))
        state.reset_on_change(TOWARDS.name, first, first)
        if not state.is_projector():  # a projector has no room for it
            st.html('<span class="s-note">effect towards</span>', width="content")
        choose_option(TOWARDS, source, plain=True)


def pick_counted(source: Source) -> None:
    """Show the menu of what counts as a word in the sentence below the words."""
    with st.popover("Options", icon=":material/tune:", type="tertiary", key="tune", help="What counts as a word"):
        choose_option(COUNTED, source)


def show_words(source: Source, name: str = WORDS.name) -> dict[str, Table]:
    """Show each word's attribution to the prediction, for a text with at least one known word; return the table."""
    return {"Effect": partial(build_push_table, show_bare(source, WORDS, name=name))}


SHORT = 200  # longest text, in characters, whose maps are drawn while word effects are computed
STOPPED = "The prediction is above. Some effects are missing; a shorter text is faster."


def compute_bench(source: Source, *, deep: bool) -> bool:
    """Return whether a text's attributions are computed; `deep`: also the effects of ablating parts and changing λ."""
    if len(source.text) <= SHORT:
        return True
    wanted = _list_requests(source, "pushed")
    if deep:
        wanted += _list_requests(source, "parts")
        if "lambda" in list_capabilities(source.record.config.model):
            wanted.append(("lambdas", source.record.run, source.text, get_target_class(source), source.edits))
    return bool(wait_for(data.request_all(*wanted), "bench", STOPPED).whole)


def compute_words(source: Source, place: str) -> bool:
    """Return whether the word attributions of a compared run or text are computed; until then show the progress."""
    return bool(wait_for(data.request_all(*_list_requests(source, "pushed")), f"words-{place}", STOPPED).whole)


def _list_requests(source: Source, name: str) -> list[Wanted]:
    changes = [source.edits, UNCHANGED] if source.edits else [UNCHANGED]
    return [(name, source.record.run, source.text, get_target_class(source), edits) for edits in changes]


PIECES = "The model reads unknown words in pieces; < and > mark the ends of a word."
MOST_WORDS = 6
RESET = "reset"
DEMO, DECIDED = "demo", "Sentences that one part decides"


def show_levers(source: Source, parts: Editable) -> dict[str, Table]:
    """Show the effect of ablating each model part, with a switch that ablates the part; return the table."""
    key = state.get_figure_key(LEVERS.name)
    if state.get_param(state.SILENT) == MEAN:
        source.choices[SILENT.name] = MEAN
    shape = show_bare(source, LEVERS, on_changes_change=lambda: _move_levers(key, parts))
    return {"Parts": partial(build_part_table, shape)}


def show_demos(record: RunRecord, text: str) -> None:
    """Show the menu of sentences that one part decides, or the button that finds them."""
    if rows := data.read_demos(record):
        named = {str(row["text"]): row for row in rows}
        about: dict[str, Any] = {"label_visibility": "collapsed", "placeholder": DECIDED, "index": None}
        about |= {"format_func": lambda each: f"{named[each]['what']}: {each}"}
        key = f"{DEMO}-{hash_value(text)[:8]}"  # of another text nothing is chosen
        st.selectbox(DECIDED, named, key=key, on_change=_take_demo, args=(key, named), **about)
    elif rows is None and (job := data.make_demos_job(record)):
        offer_analysis(job, job.name, about=True)


def _take_demo(key: str, named: Mapping[str, Mapping[str, Any]]) -> None:
    if text := state.pop_value(key):
        state.set_value(state.TEXT, text)
        state.set_param(state.EDIT, named[text]["edit"])


def show_lambdas(source: Source) -> Tables:
    """Show the prediction as a curve over each learned map weight λ; return the tables, or nothing without λ."""
    return show_figures(source, LAMBDA_BENCH) if "lambda" in list_capabilities(source.record.config.model) else {}


def _move_levers(key: str, parts: Editable) -> None:
    levers = {part: value for change in state.receive_changes(key) for part, value in change.items()}
    if way := levers.get(state.SILENT):
        state.set_param(state.SILENT, MEAN if way == MEAN else "")
    before = UNCHANGED.encode_line() if RESET in levers else state.get_param(state.EDIT)
    moved = {part: value for part, value in levers.items() if part not in (RESET, state.SILENT)}
    state.set_param(state.EDIT, parts.update_link(before, moved).encode_line() if moved else before)


def has_pieces(trained: SentenceView) -> bool:
    """Return whether a text has unknown words that the model reads in pieces."""
    return trained.pieces is not None and any(trained.unknown)


def show_unknown_words(trained: SentenceView) -> Tables:
    """Show the pieces (character n-grams) that replace each unknown word."""
    assert trained.pieces is not None
    there = [place for place, missing in enumerate(trained.unknown) if missing]
    show_caption(PIECES)
    for at in there[:MOST_WORDS]:
        show_caption(f"{trained.tokens[at]}: {', '.join(trained.pieces[at])}")
    if len(there) > MOST_WORDS:
        show_caption(f"{len(there) - MOST_WORDS} more words are not in the vocabulary.")
    return {}
