"""Filter bar and folded statistics of the Errors page: error rates, words, slices, label errors and dataset shift."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.data.dataset import TRAIN
from core.error_analysis.facets import find_clause, parse_search
from core.error_analysis.query import Clause, parse_rules
from core.error_analysis.selection import Selection, parse_selection
from core.error_analysis.tags import MODELS, WITH, name_tag
from core.exceptions import InputError, NotAvailable, SentiscopeError
from core.formatting import count
from core.runs import background_jobs
from core.runs.record import RunRecord
from core.text.graphemes import quote_text
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import distinguishing_features as features
from dashboard.figures import error_rates, filtering
from dashboard.figures.data_quality import DOUBTED, LABELS_SHOWN, SHIFT, SHIFT_WORDS, SplitShift
from dashboard.figures.distinguishing_features import CLOUDS, MARKED, OF_CLASS, OVERUSED, Outcomes
from dashboard.figures.error_list import ERRORS
from dashboard.figures.figure import Figure, Source
from dashboard.figures.registry import list_unplaced
from dashboard.figures.row_selection import RowSelection
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show, show_caption, show_drawing, show_figure_heading, show_others
from dashboard.widgets.messages import show_finding
from dashboard.widgets.options import pick_option
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import choose_runs
from dashboard.widgets.selection_bar import show_inside_button
from dashboard.widgets.style import get_look, split_page

PLACED = (ERRORS, error_rates.GATHERED, OVERUSED, MARKED, error_rates.SLICED, CLOUDS, DOUBTED, SHIFT, SHIFT_WORDS)


def list_sections(source: Source, shown: RowSelection, *, tagged: bool) -> dict[str, Callable[[], Tables]]:
    """Return the folded sections of the Errors page, by name; without tags, each says that it waits for them."""
    sections: dict[str, Callable[[], Tables]] = {
        "Error rates": partial(_show_rates, source, shown),
        "Words": partial(_show_words, shown),
        "Weak slices": partial(_show_slices, shown),
        "Word clouds": partial(_show_outcome_words, source, shown),
        "Label errors": partial(_show_label_errors, source),
        **({} if source.split == TRAIN else {"Shift": partial(_show_shift_section, source, shown)}),
    }
    if list_unplaced("errors", PLACED):
        sections["Others"] = partial(show_others, source, "errors", PLACED, partial(_offer_analysis, source))
    return sections if tagged else dict.fromkeys(sections, _show_waiting)


def _show_waiting() -> Tables:
    show_caption("This section needs the tags.")
    return {}


def _show_rates(source: Source, shown: RowSelection) -> Tables:
    found = error_rates.count_errors(shown)
    left, right = split_page("gathered", [6, 5])
    with left:
        take = partial(pick_row, shown, error_rates.GATHERED.name, found.picked)
        tables = _show_pick_table(error_rates.GATHERED, found, found.picked, take)
    with right:
        _pick_other_run(shown)
        files = data.check_dropout(source.record, source.split).files
        if files is not None and background_jobs.read_job(files).status != "done":
            offer_analysis(files, "find-unsure", about=True)
    return tables


def _show_words(shown: RowSelection) -> Tables:
    words = features.compare_words(shown)
    left, right = split_page("marked", [6, 5])
    with left:
        tables = _show_pick_table(OVERUSED, words, words.picked, lambda: pick_row(shown, OVERUSED.name, words.picked))
    with right:
        take = partial(pick_row, shown, MARKED.name, "")
        marked = _show_pick_table(MARKED, features.compare_features(shown), "", take)
    return tables | marked


def _show_slices(shown: RowSelection) -> Tables:
    parts = error_rates.find_slices(shown)
    return _show_pick_table(error_rates.SLICED, parts, parts.picked, lambda: _select_slice(shown))


def _show_pick_table(figure: Figure[Any], shape: Any, picked: str, told: Callable[[], None]) -> Tables:
    """Show a figure as a table with clickable rows, or only its caption if empty; return its numbers as tables."""
    numbers = figure.build_tables(shape)
    if all(table.empty for table in numbers.values()):
        show_figure_heading(figure, shape)
        show_caption(figure.resolve_text(figure.reading, shape))
    else:
        show(figure, shape, default={"picked": picked}, on_picked_change=told)
    return numbers


def _select_slice(shown: RowSelection) -> None:
    select_rules(shown, [filtering.WRONG, *parse_selection(state.get_picked(error_rates.SLICED.name) or "").rules])


UNSURE = "unsure under dropout"


def get_other_run(record: RunRecord, split: str) -> str:
    """Return the run chosen to compare predictions with; empty if none is chosen or it cannot be compared."""
    run = state.get_optional(state.DISAGREE, data.list_other_models(record, split))
    try:
        return run if run and len(data.read_tagged_rows(record, split).tagged.match_tag(f"{WITH}{run}")) else ""
    except SentiscopeError as error:
        show_finding(f"{data.label_run(run)} cannot be compared", f"{error}.")
        return ""


def _pick_other_run(shown: RowSelection) -> None:
    there = data.list_other_models(shown.table.record, shown.table.split)
    if there:
        state.follow_link(state.DISAGREE)
        about = "Adds a tag for sentences where this run predicts another label. The best on this split comes first"
        choose_runs("Compare with", there, state.DISAGREE, "Another model", about, width=320)
    for said in list_absent(shown, "no model is chosen above" if there else "no other model was evaluated here"):
        show_caption(said)


def list_absent(shown: RowSelection, lone: str) -> list[str]:
    """List which error tags are missing and why; the MC-dropout tag counts only if it cannot be computed."""
    reasons: dict[str, list[str]] = {}
    own = {MODELS: lone, UNSURE: data.check_dropout(shown.table.record, shown.table.split).why}
    for name, why in shown.known.tagged.absent.items():
        if reason := own.get(name, why):
            reasons.setdefault(reason, []).append(name_tag(name))
    return [f"No tag “{', '.join(names)}”: {why}." for why, names in reasons.items()]


def _show_outcome_words(source: Source, shown: RowSelection) -> Tables:
    head = st.container()
    if len(source.record.classes) > 2 or source.record.task == "multi":
        pick_option(OF_CLASS, source)
    found = features.find_outcomes(shown, str(source.get_choice(OF_CLASS)))
    note, reading = CLOUDS.resolve_text(CLOUDS.note, found), CLOUDS.resolve_text(CLOUDS.reading, found)
    with head:
        show_figure_heading(CLOUDS, found)
    if any(found.found.values()):
        alternative, take = CLOUDS.write_alt_text(found, note, reading), lambda: _pick_cloud_word(shown, found)
        show_drawing(CLOUDS.draw(found, get_look()), CLOUDS.name, alternative, on_picked_change=take)
    show_caption(reading)
    return CLOUDS.build_tables(found)


def _pick_cloud_word(shown: RowSelection, found: Outcomes) -> None:
    outcome, _, words = state.get_picked(CLOUDS.name).partition(": ")
    select_rules(shown, found.list_rules(outcome, words) if words else [filtering.WRONG])


def _show_shift_section(source: Source, shown: RowSelection) -> Tables:
    try:
        found = SHIFT.read_data(source)
    except NotAvailable:
        _offer_analysis(source, SHIFT)
        return {}
    if found.found["left_out"]:
        show_figure_heading(SHIFT)
        show_caption(found.sentence)
        return {}
    left, right = split_page("shift", [6, 5])
    with left:
        show(SHIFT, found, more=found.sentence)
    with right:
        _show_shifted_words(found, shown)
    return SHIFT.build_tables(found) | SHIFT_WORDS.build_tables(found)


def _show_shifted_words(found: SplitShift, shown: RowSelection) -> None:
    if not found.found["words"]:
        show_figure_heading(SHIFT_WORDS, found, about=False)
        show_caption(SHIFT_WORDS.resolve_text(SHIFT_WORDS.reading, found))
        return
    held = {str(clause) for clause in shown.clauses}
    picked = next((row["words"] for row in found.found["words"] if held == {"all", f"word={row['words']}"}), "")
    found = replace(found, picked=picked)
    show(SHIFT_WORDS, found, default={"picked": picked}, on_picked_change=lambda: _pick_word(shown))


def _pick_word(shown: RowSelection) -> None:
    words = state.get_picked(SHIFT_WORDS.name)
    select_rules(shown, ["all", f"word={words}"] if words else [])


def _offer_analysis(source: Source, figure: Figure[Any]) -> None:
    if figure.analysis is not None:
        show_figure_heading(figure)
        job = figure.analysis.from_run(data.store(), source.record, source.split)
        offer_analysis(job, f"look-for-{figure.analysis.name}")


DOUBT, TWICE = "labels that are likely wrong", "texts that have another label elsewhere"
ROW = f"fig-{DOUBTED.name}"
DOUBLES = 8


def _show_label_errors(source: Source) -> Tables:
    try:
        found = DOUBTED.read_data(source)
    except NotAvailable:
        _offer_analysis(source, DOUBTED)
        return {}
    rows = found["rows"][:LABELS_SHOWN]
    more, take = "Choose a row to read its sentence." if rows else "", partial(_select_row, source, rows)
    show(DOUBTED, found, more=more, on_select=take, selection_mode="single-row")
    now = selection.get_selection(source.record)
    if now is not None and len(now) and state.get_value(state.SELECTOR, "") == ROW:
        with st.container(key="doubted-row", horizontal=True, vertical_alignment="center", gap="medium"):
            said = f"labelled {now.get_label(0)}" if now.get_label(0) else ""
            st.html(
                f'<div class="s-sel"><b>{escape(now.get_text(0))}</b> <span>{escape(said)}</span></div>',
                width="stretch",
            )
            if show_inside_button(source.record):
                selection.look_inside()
    _offer_selections(source, found)
    if twice := found["conflicts"]:
        named = "; ".join(
            f"{quote_text(each['text'], 80)} ({', '.join(f'{name} {n}' for name, n in each['labels'].items())})"
            for each in twice[:DOUBLES]
        )
        more = f" and {count(len(twice) - DOUBLES)} more" if len(twice) > DOUBLES else ""
        show_caption(f"The same text with several labels: {named}{more}.")
    return DOUBTED.build_tables(found) if found["rows"] else {}


def _select_row(source: Source, rows: Sequence[Mapping[str, Any]]) -> None:
    at = next(iter(state.get_clicked_rows(ROW)), None)
    if at is None or at >= len(rows):
        selection.clear(source.record)
        return
    row = rows[at]
    if row["split"] in data.list_splits(source.record.run):
        selection.choose_keys(source.record, row["split"], [row["key"]], DOUBT, at=0, by=ROW)
    elif source.record.config.data.texts:
        about = f"{DOUBT}, {row['split']}"
        selection.choose_sentences(source.record, [row["text"]], [row["true"]], about, at=0, by=ROW)


def _offer_selections(source: Source, found: Mapping[str, Any]) -> None:
    record, split = source.record, source.split
    likely = [row for row in found["rows"] if row["likely"]]
    here = [row["key"] for row in likely if row["split"] == split]
    training = [row for row in likely if row["split"] == TRAIN and split != TRAIN and record.config.data.texts]
    twice = [row["key"] for each in found["conflicts"] for row in each["rows"] if row["split"] == split]
    of_training = [row["text"] for row in training], [row["true"] for row in training]
    both = [each for each in found["conflicts"] if any(row["split"] == TRAIN for row in each["rows"])]
    both = both if split != TRAIN and record.config.data.texts else []
    of_both = [each["text"] for each in both], [" or ".join(each["labels"]) for each in both]
    rows, sentences = partial(selection.choose_keys, record, split), partial(selection.choose_sentences, record)
    offers: list[tuple[str, int, Callable[[], None]]] = [
        (f"in {split}", len(here), partial(rows, here, DOUBT)),
        (f"in {TRAIN}", len(training), partial(sentences, *of_training, f"{DOUBT}, {TRAIN}")),
        (f"in {split} with another label elsewhere", len(twice), partial(rows, twice, TWICE)),
        (f"in {TRAIN} with several labels", len(both), partial(sentences, *of_both, f"{TWICE}, {TRAIN}")),
    ]
    with st.container(key="doubted-selects", horizontal=True, gap="medium"):
        for place, (words, n, choose) in enumerate(offers):
            if n:
                label, key = f"Select the {count(n)} {words}", f"select-doubted-{place}"
                st.button(label, key=key, type="tertiary", on_click=choose)


def show_filter_bar(shown: RowSelection, splits: Sequence[str]) -> None:
    """Show the filter of the Errors page as a sentence whose words can be changed."""
    key = state.get_figure_key("filter")
    take = partial(_apply_words, key, shown, state.get_confirmed(key))
    show_drawing(filtering.draw_filter(shown, get_look(), splits), "filter", "", on_changes_change=take)


def pick_row(shown: RowSelection, figure: str, before: str) -> None:
    """Add the picked row of a statistics table to the filter rules (widget callback)."""
    rule = state.get_picked(figure)
    word = filtering.find_word(shown.facets, rule or before)
    value = rule or (before if word == filtering.FURTHER else "")
    select_rules(shown, filtering.update_clauses(shown.clauses, shown.facets, word, value))


def select_rules(shown: RowSelection, rules: Sequence[str]) -> None:
    """Select the rows of a split that match these filter rules, on all pages (widget callback)."""
    table = shown.table
    selection.select_rules(table.record, Selection(tuple(rules), table.split))


def _apply_words(key: str, shown: RowSelection, drawn: int) -> None:
    """Apply the user's changes of the filter sentence since it was drawn, one after the other (widget callback)."""
    before = clauses, split = shown.clauses, shown.table.split
    for change in state.receive_changes(key, drawn):
        word, value = (str(change.get(name, "")).strip() for name in ("word", "value"))
        if word == filtering.SPLIT:
            split = value
        elif word in (filtering.TEXT, filtering.ASKED):
            clauses = parse_rules(_apply_search(shown, clauses, word, value), shown.table)
        elif word:
            clauses = parse_rules(filtering.update_clauses(clauses, shown.facets, word, value), shown.table)
    if (clauses, split) != before:
        selection.select_rules(shown.table.record, Selection(tuple(map(str, clauses)), split))


def _apply_search(shown: RowSelection, clauses: Sequence[Clause], word: str, typed: str) -> list[str]:
    """Return the filter clauses with a typed text search or id search applied; an empty search is removed."""
    asked = shown.known.base_facets.asked
    if not typed:
        return filtering.update_clauses(clauses, shown.facets, word, "", asked)
    find = find_clause if word == filtering.ASKED else parse_search
    try:
        return filtering.apply_search(clauses, shown.facets, find(shown.table, asked, typed), asked)
    except InputError as error:
        state.set_value(state.SELECTION_PROBLEM, str(error).removeprefix("--where "))
        return list(map(str, clauses))
