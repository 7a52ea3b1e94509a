"""Comparison of a model's predictions, words and maps for a text with another run's, or with a pinned text's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import NotAvailable
from core.interpret.model_edits import Edits
from core.interpret.trace_summary import warn_unknown
from core.runs.record import RunRecord
from core.text.graphemes import clip_text, wrap_bidi
from dashboard import state
from dashboard.data import data
from dashboard.figures import attribution_comparison
from dashboard.figures.attention import MapRow, build_combined_rows, compare_views, find_top_weight, has_subtraction
from dashboard.figures.attention_heads import COMBINED, CombinedMaps
from dashboard.figures.attribution_comparison import DIFFERENCE, describe_difference, read_sentence
from dashboard.figures.figure import Source
from dashboard.figures.results import get_data_name
from dashboard.figures.word_attributions import TOWARDS
from dashboard.screens.sentence_bench import compute_words, show_words
from dashboard.widgets.bars import show_prediction
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show, show_caption, show_heading
from dashboard.widgets.messages import show_finding, show_problem
from dashboard.widgets.options import parse_edits
from dashboard.widgets.runs import choose_runs
from dashboard.widgets.style import get_look, split_page

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

HELP = "Any other run with weights. It reads the text without your changes."


def list_other_runs(record: RunRecord) -> dict[str, RunRecord]:
    """Return all other runs that have weights, as name → run record, newest first."""
    return {each.run: each for each in data.list_loadable_runs() if each.run != record.run}


@dataclass
class ReadingComparison:
    """The results of comparing two runs or texts: predictions by name, and tables for the export."""

    views: dict[str, SentenceView] = field(default_factory=dict)
    """By what it is called in the table of answers."""
    tables: Tables = field(default_factory=dict)


def show_second_run(source: Source, others: Mapping[str, RunRecord]) -> ReadingComparison:
    """Show a menu of runs and compare the chosen run with the current one on a text; return predictions and tables."""
    asked = state.read_link(state.BESIDE)
    show_heading("Two models", "beside", note="the same text in another model")
    if asked and asked not in others:
        gone = "It was renamed or removed, or has no weights yet."
        where = "It is the run above." if asked == source.record.run else gone
        show_problem(f"There is no run “{asked}” to compare with", where)
    state.follow_link(state.BESIDE)
    state.drop_stale(state.BESIDE, list(others))
    empty = "Choose a second run" if others else "There is no other run with weights"
    name = choose_runs("Second run", list(others), state.BESIDE, empty, HELP, disabled=not others, width=360)
    if name is None:
        return ReadingComparison()
    second = Source(others[name], data, text=source.text, choices=get_shared_target(source, others[name]))
    return show_readings(source, second, "second", data.label_run(name))


def get_shared_target(source: Source, record: RunRecord) -> dict[str, str]:
    """Return the class to explain as an option for a second run; empty if that run does not have the class."""
    chosen = str(source.choices.get(TOWARDS.name, ""))
    return {TOWARDS.name: chosen} if chosen in record.classes else {}


def show_readings(first: Source, second: Source, place: str, called: str) -> ReadingComparison:
    """Show predictions, words and attention maps of two runs or texts side by side; return predictions and tables."""
    found = ReadingComparison({called: read_sentence(second)})
    if first.text == second.text and first.record.run != second.record.run:
        title, said = compare_views(*map(read_sentence, (first, second)))
        (show_finding(title, said) if title else show_caption(said))
    show_caption(describe_difference(first, second))
    if read_sentence(second).tokens and not compute_words(second, place):
        return found
    mine, theirs = (_make_rows(read_sentence(each), each.record, each.edits) for each in (first, second))
    top = find_top_weight([*mine, *theirs])
    left, right = split_page(f"beside-{place}", 2)
    with left:
        _show_reading(first, mine, top, f"{place}-first")
    with right:
        _show_reading(second, theirs, top, place)
    try:
        shape = attribution_comparison.align_readings(first, second)
    except NotAvailable as error:
        show_caption(f"The effects cannot be compared: {error}.")
        return found
    show(DIFFERENCE, shape, name=f"difference-{place}")
    shapes = [[row.weights.shape for row in rows] for rows in (mine, theirs)]
    if mine and read_sentence(first).tokens == read_sentence(second).tokens and shapes[0] == shapes[1]:
        gaps = [replace(row, weights=row.weights - other.weights) for row, other in zip(mine, theirs, strict=True)]
        shown = CombinedMaps(read_sentence(first), gaps, find_top_weight(gaps), "the first minus the second")
        show(COMBINED, shown, name=f"combined-{place}-difference", more="This figure has its own scale.")
    found.tables[f"Difference {place}"] = attribution_comparison.build_contrast_table(shape)
    return found


def _make_rows(view: SentenceView, record: RunRecord, edits: Edits) -> list[MapRow]:
    return build_combined_rows(view, has_subtraction(record), edits) if view.layers and view.tokens else []


def _show_reading(source: Source, rows: list[MapRow], top: float, place: str) -> None:
    record, changed = source.record, source.edits.describe_changes()
    view = read_sentence(source)
    about = f"on {get_data_name(record.config.data.name)}" + (f"; {changed}" if changed else "")
    st.html(f'<p class="s-who"><b>{escape(data.label_run(record.run))}</b> {escape(about)}</p>')
    if place.startswith("pinned"):
        st.html(f'<p class="s-flip">{escape(source.text)}</p>')
    if note := warn_unknown(view.unknown_words):
        show_caption(note)
    show_prediction(record, view, get_look(), small=True)
    if view.tokens:
        show_words(source, f"words-{place}")
    if not rows:
        show_caption("This model has no attention. Compare its prediction and words.")
        return
    combined = CombinedMaps(view, rows, top, data.label_run(record.run))
    show(COMBINED, combined, name=f"combined-{place}", more="Both runs share one scale.")


KEYS = (state.PINNED_RUN, state.PINNED, state.PINNED_EDIT)
SECTION = "Pinned"  # opens when something is pinned
QUOTED = 90


def get_pinned() -> tuple[str, str, str] | None:
    """Return the run, text and model edits that the URL pins for comparison; None if nothing is pinned."""
    run, text, edit = map(state.get_param, KEYS)
    return (run, text, edit) if run else None


def show_pin_button(source: Source) -> None:
    """Show the button that pins the current run, text and model edits for comparison, or unpins the pinned ones."""
    word, icon, now = "Pin", ":material/keep:", (source.record.run, source.text, source.edits.encode_line())
    about = "Keep this result for comparison, then change the sentence, run or parts"
    if get_pinned() is not None:
        word, icon, now, about = "Unpin", ":material/keep_off:", ("", "", ""), "Remove the pinned sentence"
    with st.container(key="pin", width="content"):
        st.button(word, icon=icon, key="pin-button", on_click=_pin_reading, args=now, help=about)


def _pin_reading(*values: str) -> None:
    for key, value in zip(KEYS, values, strict=True):
        state.set_param(key, value)
    opened = [name for name in state.get_value(state.MORE, None) or () if name != SECTION]
    state.set_value(state.MORE, [*opened, *([SECTION] if values[0] else [])])


def _make_source(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    run, text, edit = get_pinned() or ("", "", "")
    record = source.record if run == source.record.run else others.get(run)
    if record is None:
        return None
    edits, _, _ = parse_edits(record, data.inspect_text(run, text), edit)
    return Source(record, data, text=text, edits=edits, choices=get_shared_target(source, record))


def show_pinned(source: Source, others: Mapping[str, RunRecord]) -> Source | None:
    """Show the text pinned for comparison and how its prediction differs; return its run and text."""
    pin = _make_source(source, others)
    if pin is None:
        return None
    quoted = wrap_bidi(clip_text(pin.text, QUOTED))
    other = data.label_run(pin.record.run) if pin.record.run != source.record.run else ""
    who = ", ".join(filter(None, (other, pin.edits.describe_changes())))
    about = f" ({who})" if who else ""
    said = "" if _is_same(source, pin) else f" · {describe_difference(source, pin, 'pinned')}"
    st.html(f'<p class="s-pin">Pinned: <b>“{escape(quoted)}”</b>{escape(about)}{escape(said)}</p>')
    return pin


def _is_same(source: Source, pin: Source) -> bool:
    return (source.record.run, source.text, source.edits) == (pin.record.run, pin.text, pin.edits)


def compare_pinned(source: Source, pin: Source | None) -> ReadingComparison:
    """Compare the current text and run with the pinned ones, in a page section; return predictions and tables."""
    asked = get_pinned()
    if asked is None:
        return ReadingComparison()
    show_heading("Compared with the pinned sentence", "pinned")
    if pin is None:
        show_problem(f"There is no run “{asked[0]}” to compare with", "It was renamed or removed. Unpin it.")
        return ReadingComparison()
    if _is_same(source, pin):
        show_caption("This sentence is pinned. Change the sentence, run or a part.")
        return ReadingComparison()
    return show_readings(source, pin, "pinned", "pinned")
