"""Below the bench: what would change an answer, whether to believe it, all maps, other readings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard.figures.models import reads_without
from dashboard.figures.numbers import count
from dashboard.figures.sentence import attention_table, prediction_table, subtracts
from dashboard.figures.source import Source
from dashboard.figures.tokens import token_table
from dashboard.screens.sentence_belief import may_i_believe_it
from dashboard.screens.sentence_distance import reach_of_negation
from dashboard.screens.sentence_edits import lambda_bench, unknown_words
from dashboard.screens.sentence_flip import what_would_change
from dashboard.screens.sentence_maps import more_maps
from dashboard.screens.sentence_methods import side_by_side
from dashboard.screens.sentence_mix import mixture
from dashboard.screens.sentence_parts import OF_WORDS, PLACED, other_parts
from dashboard.screens.sentence_passages import by_passage, is_long
from dashboard.screens.sentence_patching import from_another
from dashboard.screens.sentence_pinned import beside_the_pin
from dashboard.screens.sentence_second import second_run
from dashboard.screens.sentence_tried import tried_sentences
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import anchor
from dashboard.widgets.messages import finding

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.sentence import SentenceView

BREATH = 0.2
"""Seconds in which nothing is sent: the browser shows the bench before it begins to draw charts, and whoever goes on
typing waits for none."""
NOTHING_KNOWN = 2
"""Columns of a table of tokens that says nothing but the tokens."""


def has_maps(view: SentenceView) -> bool:
    """Whether there is anything inside to look at."""
    return bool(view.layers and view.tokens and not view.too_long)


def below_the_bench(
    source: Source,
    trained: SentenceView,
    others: Mapping[str, RunRecord],
    pin: Source | None,
    tables: Mapping[str, Table],
) -> None:
    """Every section below the bench.

    Args:
        source: What is read, as edited.
        trained: The same without edits.
        others: Runs that can stand beside this one.
        pin: The reading that is pinned.
        tables: What stands above, for the export.
    """
    time.sleep(BREATH)
    deep, tables = has_maps(trained), dict(tables)
    view = source.view if source.text.strip() else trained
    with st.container(key="below"):
        links = st.container()
        mixture(source.record, source.edits, trained, view)
        tables |= by_passage(source.record, source.text)
        if trained.tokens:
            tables |= what_would_change(source)
            tables |= side_by_side(source)
            last = st.container()
        if deep:
            tables |= _maps(source, trained)
        else:
            _nothing_inside(source.record, trained)
        if trained.tokens:
            tables |= other_parts(source)
        reached = reach_of_negation(source.record, others, source.text)
        pinned, second = beside_the_pin(source, pin), second_run(source, others)
        tried = tried_sentences()
        tables |= reached | pinned.tables | second.tables | _tokens(trained) | tried
        with links:
            _contents(_sections(source, bool(trained.tokens), deep, reached, tried, pin))
        end = st.container()
    if trained.tokens:
        with last:  # it asks the model many times: all else is there by then
            tables |= may_i_believe_it(source)
    answers = prediction_table(_answers(view, trained if source.edits else None, pinned.views | second.views))
    drawn = deep or bool(reached) or any(figure.there(source) for figure in PLACED if figure not in OF_WORDS)
    with end:
        export_bar("sentence", {"Prediction": answers, **tables}, figures=drawn)


def _sections(source: Source, words: bool, deep: bool, reached: object, tried: object, pin: object) -> dict[str, str]:
    """What stands below the bench, by the names of the headings."""
    provided = provides(source.record.config.model)
    sections = {
        "passages": ("Passage by passage", is_long(source.record, source.text)),
        "flip": ("What would change it", words),
        "methods": ("Methods side by side", words),
        "belief": ("May I believe it", words),
        "lambda-bench": ("λ bench", deep and "lambda" in provided),
        "grid": ("Heads side by side", deep),
        "patching": ("From another sentence", deep),
        "distance": ("How far a negation reaches", reached),
        "pinned": ("Beside what is pinned", pin),
        "beside": ("Two runs side by side", True),
        "tried": ("Tried sentences", tried),
    }
    return {name: title for name, (title, there) in sections.items() if there}


def _contents(sections: Mapping[str, str]) -> None:
    """Links that go to each section."""
    links = "".join(f'<a href="#{anchor(name)}" target="_self">{escape(title)}</a>' for name, title in sections.items())
    st.html(f'<nav class="s-contents" aria-label="On this page">{links}</nav>')


def _maps(source: Source, trained: SentenceView) -> dict[str, Table]:
    unknown_words(source.edits, trained)
    tables = dict[str, Table](lambda_bench(source))
    more_maps(source)
    tables |= from_another(source)
    table = partial(attention_table, source.view, subtracts(source.record), source.edits, trained)
    return tables | {"Attention": table}


def _answers(
    view: SentenceView, trained: SentenceView | None, beside: Mapping[str, SentenceView]
) -> dict[str, dict[str, float]]:
    """Each column of the table of answers: this one, as trained, its parts where it is mixed, other runs."""
    columns = {"probability": view.probabilities} | ({} if trained is None else {"as trained": trained.probabilities})
    if view.mix:
        columns |= {"network alone": view.mix.network, "TF-IDF alone": view.mix.tfidf}
    return columns | {name: other.probabilities for name, other in beside.items()}


def _tokens(trained: SentenceView) -> dict[str, pd.DataFrame]:
    known = token_table(trained)
    return {"Tokens": known} if len(known.columns) > NOTHING_KNOWN else {}


def _nothing_inside(record: RunRecord, view: SentenceView) -> None:
    if view.too_long:
        finding(
            f"A text of {count(len(view.tokens))} tokens is too long for maps",
            "Each token sees only its neighbours and a few others here, so a map of all pairs would be nearly empty. "
            "Type a shorter text to see maps.",
        )
    elif view.layers:
        finding("There is no word here to look into", "The bar shows what the model says of an empty text.")
    else:
        finding(
            f"{record.preset} has no attention to look into",
            f"{reads_without(record.config.model.family, 'heads and layers')} "
            "Choose another run in the sidebar to see maps.",
        )
