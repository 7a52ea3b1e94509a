"""Filter and statistics of Errors: error rates, words, slices, label errors and dataset shift."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.data.table import TRAIN
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.failures.facets import looked_up, understood
from core.failures.rules import Clause, read
from core.failures.selection import Selection, parse
from core.failures.tags import MODELS, WITH, called
from core.numbers import count
from core.runs import errands
from core.runs.record import RunRecord
from core.text.clusters import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.data_quality import DOUBTED, LABELS_SHOWN, SHIFT, SHIFT_WORDS, Shifted
from dashboard.figures.distinguishing_features import (
    CLOUDS,
    MARKED,
    OF_CLASS,
    OVERUSED,
    Outcomes,
    find_outcomes,
    marked,
    overused,
)
from dashboard.figures.error_rates import GATHERED, SLICED, Gathered, Sliced, gathered, next_steps, sliced
from dashboard.figures.errors import ERRORS
from dashboard.figures.figure import Figure
from dashboard.figures.filtering import ASKED, FURTHER, SPLIT, TEXT, WRONG, changed, searched, sentence, word_of
from dashboard.figures.source import Source
from dashboard.widgets.figure import caption, heading, heading_of, place, show, show_others
from dashboard.widgets.messages import finding
from dashboard.widgets.options import pick
from dashboard.widgets.selected import inside_button
from dashboard.widgets.style import look
from dashboard.widgets.waiting import offer

if TYPE_CHECKING:
    import pandas as pd


PLACED = (ERRORS, GATHERED, OVERUSED, MARKED, SLICED, CLOUDS, DOUBTED, SHIFT, SHIFT_WORDS)


def below(source: Source, shown: Analysis, beside: Sequence[DeltaGenerator]) -> dict[str, pd.DataFrame]:
    """Show all statistics, the tags and words in the two columns that begin with the codes; return the tables."""
    tables: dict[str, pd.DataFrame] = {}
    found, words, parts = gathered(shown), overused(shown), sliced(shown)
    left, right = beside
    with left:
        tables |= _picks(GATHERED, found, found.picked, lambda: pick_row(shown, GATHERED.name, found.picked))
        beside_tags(shown)
        unsure_offer(source)
    with right:
        tables |= _picks(OVERUSED, words, words.picked, lambda: pick_row(shown, OVERUSED.name, words.picked))
    with st.container(key="pair-marked"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        tables |= _picks(SLICED, parts, parts.picked, lambda: _slice(shown))
    with right:
        tables |= _picks(MARKED, marked(shown), "", lambda: pick_row(shown, MARKED.name, ""))
    _next(shown, found, parts)
    tables |= words_of_outcomes(source, shown) | likely_label_errors(source) | shift_of(source, shown)
    return tables | show_others(source, "errors", PLACED, partial(_offer_analysis, source))


def _picks(figure: Figure[Any], shape: Any, picked: str, told: Callable[[], None]) -> dict[str, pd.DataFrame]:
    """Show a table whose rows can be picked, or only its caption where it has none; return its numbers."""
    numbers = figure.numbers(shape)
    if all(table.empty for table in numbers.values()):
        heading_of(figure, shape)
        caption(figure.say(figure.reading, shape))
    else:
        show(figure, shape, default={"picked": picked}, on_picked_change=told)
    return numbers


def _slice(shown: Analysis) -> None:
    select(shown, [WRONG, *parse(state.picked(SLICED.name) or "").rules])


def _next(shown: Analysis, found: Gathered, parts: Sliced) -> None:
    steps = next_steps(shown, found, parts)
    heading("What to do next", "next-steps", note="as far as these numbers bear it out")
    if not steps:
        caption("Nothing stands out: no tag and no slice survives correction, and no error is very sure. Read on.")
    for at, step in enumerate(steps):
        with st.container(key=f"step-{at}", horizontal=True, vertical_alignment="center"):
            words = f'<p class="s-step"><b>{escape(step.advice)}.</b> <span>{escape(step.evidence)}.</span></p>'
            st.html(words, width="stretch")
            st.button("Show them", key=f"show-step-{at}", on_click=select, args=(shown, step.rules))


UNSURE = "unsure under dropout"


def other_run(record: RunRecord, split: str) -> str:
    """Return the run that is chosen in the picker below the tags; empty: none."""
    run = state.offer(state.DISAGREE, data.models_beside(record, split))
    try:
        return run if run and len(data.known(record, split).tagged.rows(f"{WITH}{run}")) else ""
    except SentiscopeError as error:
        finding(f"{run} cannot stand beside it", f"{error}.")
        return ""


def beside_tags(shown: Analysis) -> None:
    """Show the picker below the table of tags, and which tags are absent."""
    there = data.models_beside(shown.table.record, shown.table.split)
    if there:
        st.selectbox(
            "Compare with",
            there,
            index=None,
            key=state.DISAGREE,
            bind="query-params",
            width=320,
            placeholder="Another model",
            help="A tag for the sentences of which this run says something else; the best on this split stands first",
        )
    if said := absent(shown, "none is picked above" if there else "no other model was evaluated on these rows"):
        caption(f"Not here: {said}.")


def absent(shown: Analysis, lone: str) -> str:
    """Return why tags are absent, by reason; for dropout only if it cannot be computed."""
    reasons: dict[str, list[str]] = {}
    own = {MODELS: lone, UNSURE: data.unsure(shown.table.record, shown.table.split).why}
    for name, why in shown.known.tagged.absent.items():
        if reason := own.get(name, why):
            reasons.setdefault(reason, []).append(called(name))
    return " · ".join(f"{', '.join(names)} – {why}" for why, names in reasons.items())


def words_of_outcomes(source: Source, shown: Analysis) -> dict[str, pd.DataFrame]:
    """Show the words that mark right and wrong predictions; return their table."""
    head = st.container()
    if len(source.record.classes) > 2 or source.record.task == "multi":
        pick(OF_CLASS, source)
    found = find_outcomes(shown, str(source.chosen(OF_CLASS)))
    note, reading = CLOUDS.say(CLOUDS.note, found), CLOUDS.say(CLOUDS.reading, found)
    with head:
        heading_of(CLOUDS, found)
    if any(found.found.values()):
        alternative, take = CLOUDS.alternative(found, note, reading), lambda: _pick_cloud_word(shown, found)
        place(CLOUDS.draw(found, look()), CLOUDS.name, alternative, on_picked_change=take)
    caption(reading)
    return CLOUDS.numbers(found)


def _pick_cloud_word(shown: Analysis, found: Outcomes) -> None:
    outcome, _, words = state.picked(CLOUDS.name).partition(": ")
    select(shown, found.rules(outcome, words) if words else [WRONG])


def shift_of(source: Source, shown: Analysis) -> dict[str, pd.DataFrame]:
    """Show the section on dataset shift; return its tables."""
    if source.split == TRAIN:
        return {}
    try:
        found = SHIFT.shape(source)
    except NotAvailable:
        _offer_analysis(source, SHIFT)
        return {}
    if found.found["left_out"]:
        heading_of(SHIFT)
        caption(found.sentence)
        return {}
    with st.container(key="pair-shift"):
        left, right = st.columns([6, 5], gap="large")
    with left:
        show(SHIFT, found, more=found.sentence)
    with right:
        _words(found, shown)
    return SHIFT.numbers(found) | SHIFT_WORDS.numbers(found)


def _words(found: Shifted, shown: Analysis) -> None:
    if not found.found["words"]:
        heading_of(SHIFT_WORDS, found, about=False)
        caption(SHIFT_WORDS.say(SHIFT_WORDS.reading, found))
        return
    held = {str(clause) for clause in shown.clauses}
    picked = next((row["words"] for row in found.found["words"] if held == {"all", f"word={row['words']}"}), "")
    found = replace(found, picked=picked)
    show(SHIFT_WORDS, found, default={"picked": picked}, on_picked_change=lambda: _pick_word(shown))


def _pick_word(shown: Analysis) -> None:
    words = state.picked(SHIFT_WORDS.name)
    select(shown, ["all", f"word={words}"] if words else [])


def _offer_analysis(source: Source, figure: Figure[Any]) -> None:
    """Offer to compute what a figure needs, if it can be computed."""
    if figure.analysis is not None:
        heading_of(figure)
        offer(figure.analysis.of(data.store(), source.record, source.split), f"look-for-{figure.analysis.name}")


DOUBT, TWICE = "labels that are likely wrong", "texts that have another label elsewhere"
ROW = f"fig-{DOUBTED.name}"
DOUBLES = 8


def likely_label_errors(source: Source) -> dict[str, pd.DataFrame]:
    """Show the section on likely label errors; return its table."""
    try:
        found = DOUBTED.shape(source)
    except NotAvailable:
        _offer_analysis(source, DOUBTED)
        return {}
    rows = found["rows"][:LABELS_SHOWN]
    more, take = "Choose a row to read its sentence." if rows else "", partial(_take_row, source, rows)
    show(DOUBTED, found, more=more, on_select=take, selection_mode="single-row")
    now = selection.chosen(source.record)
    if now is not None and len(now) and state.draft(state.SELECTOR, "") == ROW:
        _opened(source, now)
    _selecting(source, found)
    if twice := found["conflicts"]:
        named = "; ".join(
            f"{quoted(each['text'], 80)} ({', '.join(f'{name} {n}' for name, n in each['labels'].items())})"
            for each in twice[:DOUBLES]
        )
        more = f" and {count(len(twice) - DOUBLES)} more" if len(twice) > DOUBLES else ""
        caption(f"The same text with several labels: {named}{more}.")
    return DOUBTED.numbers(found) if found["rows"] else {}


def _take_row(source: Source, rows: Sequence[Mapping[str, Any]]) -> None:
    at = next(iter(state.rows_of(ROW)), None)
    if at is None or at >= len(rows):
        selection.clear(source.record)
        return
    row = rows[at]
    if row["split"] in data.evaluated_splits(source.record.run):
        selection.choose_keys(source.record, row["split"], [row["key"]], DOUBT, at=0, by=ROW)
    elif source.record.config.data.texts:
        about = f"{DOUBT}, {row['split']}"
        selection.choose_sentences(source.record, [row["text"]], [row["truth"]], about, at=0, by=ROW)


def _opened(source: Source, now: selection.Chosen) -> None:
    with st.container(key="doubted-row", horizontal=True, vertical_alignment="center", gap="medium"):
        said = f"is {now.label(0)}" if now.label(0) else ""
        st.html(f'<div class="s-sel"><b>{escape(now.text(0))}</b> <span>{escape(said)}</span></div>', width="stretch")
        if inside_button(source.record):
            selection.look_inside()


def _selecting(source: Source, found: Mapping[str, Any]) -> None:
    record, split = source.record, source.split
    likely = [row for row in found["rows"] if row["likely"]]
    here = [row["key"] for row in likely if row["split"] == split]
    training = [row for row in likely if row["split"] == TRAIN and split != TRAIN and record.config.data.texts]
    twice = [row["key"] for each in found["conflicts"] for row in each["rows"] if row["split"] == split]
    of_training = [row["text"] for row in training], [row["truth"] for row in training]
    both = [each for each in found["conflicts"] if any(row["split"] == TRAIN for row in each["rows"])]
    both = both if split != TRAIN and record.config.data.texts else []
    of_both = [each["text"] for each in both], [" or ".join(each["labels"]) for each in both]
    rows, sentences = partial(selection.choose_keys, record, split), partial(selection.choose_sentences, record)
    offers: list[tuple[str, int, Callable[[], None]]] = [
        (f"of {split}", len(here), partial(rows, here, DOUBT)),
        (f"of {TRAIN}", len(training), partial(sentences, *of_training, f"{DOUBT}, {TRAIN}")),
        (f"of {split} with another label elsewhere", len(twice), partial(rows, twice, TWICE)),
        (f"of {TRAIN} with several labels", len(both), partial(sentences, *of_both, f"{TWICE}, {TRAIN}")),
    ]
    with st.container(key="doubted-selects", horizontal=True, gap="medium"):
        for place, (words, n, choose) in enumerate(offers):
            if n:
                label, key = f"Select the {count(n)} {words}", f"select-doubted-{place}"
                st.button(label, key=key, type="tertiary", on_click=choose)


def unsure_offer(source: Source) -> None:
    """Show the job of the dropout tag, or its button; nothing if the tag is there or cannot be computed."""
    files = data.unsure(source.record, source.split).files
    if files is not None and errands.job(files).status != "done":
        offer(files, "find-unsure", about=True)


def filter_bar(shown: Analysis, splits: Sequence[str]) -> None:
    """Show the selection as a sentence whose words can be changed."""
    key = state.figure_key("filter")
    drawn = state.confirmed(key)
    place(sentence(shown, look(), splits), "filter", "", on_changes_change=lambda: _chosen(key, shown, drawn))


def pick_row(shown: Analysis, figure: str, before: str) -> None:
    """Make a row of a table that was picked a word of the filter; a callback."""
    rule = state.picked(figure)
    word = word_of(shown.facets, rule or before)
    select(shown, changed(shown.clauses, shown.facets, word, rule or (before if word == FURTHER else "")))


def select(shown: Analysis, rules: Sequence[str]) -> None:
    """Select by these rules on all pages; a callback."""
    table = shown.table
    selection.choose(table.record, Selection(tuple(rules), table.split))


def _chosen(key: str, shown: Analysis, drawn: int) -> None:
    """Apply the words that were changed since the page was drawn, one after the other; a callback."""
    before = clauses, split = shown.clauses, shown.table.split
    for change in state.receive_changes(key, drawn):
        word, value = (str(change.get(name, "")).strip() for name in ("word", "value"))
        if word == SPLIT:
            split = value
        elif word in (TEXT, ASKED):
            clauses = read(_searched(shown, clauses, word, value), shown.table)
        elif word:
            clauses = read(changed(clauses, shown.facets, word, value), shown.table)
    if (clauses, split) != before:
        selection.choose(shown.table.record, Selection(tuple(map(str, clauses)), split))


def _searched(shown: Analysis, clauses: Sequence[Clause], word: str, typed: str) -> list[str]:
    """Return the clauses with what was typed into the search, or where ids are asked for; empty: without it."""
    asked = shown.known.bare.asked
    if not typed:
        return changed(clauses, shown.facets, word, "", asked)
    find = looked_up if word == ASKED else understood
    try:
        return searched(clauses, shown.facets, find(shown.table, asked, typed), asked)
    except InputError as error:
        state.put(state.SELECTION_PROBLEM, str(error).removeprefix("--where "))
        return list(map(str, clauses))
