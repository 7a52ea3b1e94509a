"""What a click on Performance selects: a cell, a bar, a phenomenon, or all that is wrong at the threshold."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from core.failures.selection import Selection
from dashboard import selection, state
from dashboard.figures.confusion import CONFIDENCE
from dashboard.figures.decisions import BARS, Decision
from dashboard.figures.metrics import PHENOMENA
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number
from dashboard.figures.panels import cell_of
from dashboard.figures.points import PHENOMENON
from dashboard.figures.saved import CLASS, SAVED, Saved
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.selected import selected_here

BAR = f"fig-{CONFIDENCE.name}"
KINDS = f"fig-{PHENOMENA.name}"
SLICES = f"fig-{SAVED.name}"
ELSEWHERE = (BAR, KINDS, SLICES)
"""What can be clicked besides the cells; its sentences stand there and not beside the matrix."""


def take_cell(source: Source, decision: Decision, by: str) -> None:
    """The clicked cell of the matrix, in its figure or in its table (`by`)."""
    cell = state.selected_cell(decision.classes)
    rows = np.empty(0, np.int64)
    said: tuple[str, ...] = ()
    about = ""
    if cell is not None:
        true, predicted = cell
        rows = decision.rows[(decision.labels == true) & (decision.predicted == predicted)]
        names = decision.classes[true], decision.classes[predicted]
        said = tuple(_rule(source, decision, name, place) for name, place in zip(("truth", "said"), cell, strict=True))
        about = f"true {names[0]}, predicted {names[1]}{_at(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, rules=said, by=by, by_outcome=True)


def marked_cell(decision: Decision, chosen: Chosen | None) -> tuple[int, int] | None:
    """The cell of the matrix that is selected, however it came to be: after a reload too."""
    if chosen is None or chosen.places.max(initial=-1) >= decision.total:
        return None
    true, predicted = np.full((2, decision.total), -1)
    true[decision.rows], predicted[decision.rows] = decision.labels, decision.predicted
    return cell_of(true, predicted, chosen.places)


def take_bar(source: Source, decision: Decision) -> None:
    """The clicked bar of the right or wrong answers at one probability."""
    points = state.points_of(BAR)
    rows, about = np.empty(0, np.int64), ""
    if points:
        place = min(int(float(points[0]["x"]) * BARS), BARS - 1)
        wrong = bool(points[0]["curve_number"])
        inside = np.minimum((decision.score * BARS).astype(int), BARS - 1) == place
        rows = decision.rows[inside & (decision.correct != wrong)]
        ends = f"{number(place / BARS, 2)} to {number((place + 1) / BARS, 2)}"
        about = f"{'wrong' if wrong else 'right'}, {decision.score_name} {ends}{_at(decision)}"
    selection.choose_rows(source.record, source.split, rows, about, by=BAR, by_outcome=True)


def take_phenomenon(source: Source) -> None:
    """The sentences of the clicked phenomenon, right and wrong ones."""
    points, names = state.points_of(KINDS), source.report.examples[PHENOMENON].astype(str).to_numpy()
    name = next((name for name in names if points and escape_text(name) == str(points[0]["y"])), "")
    rows = np.flatnonzero(names == name) if points else np.empty(0, np.int64)
    selection.choose_rows(source.record, source.split, rows, name, rules=(f"{PHENOMENON}={name}",), by=KINDS)


def take_slice(source: Source, shown: Saved) -> None:
    """The sentences of the picked slice, or of one class of it."""
    name, _, label = state.picked(SAVED.name).partition(CLASS)
    if any(each["name"] == name for each in shown.slices):
        more = [f"truth={label}"] if label else []
        selection.choose_slice(source.record, source.split, name, more=more, by=SLICES)
    elif label:
        selection.choose(source.record, Selection((f"truth={label}",), source.split), by=SLICES)
    else:
        selection.clear(source.record)


def beside(source: Source, now: Chosen | None, *clicked: str) -> bool:
    """The selected sentences, if it was one of these figures and tables that was clicked; whether it was."""
    if now is None or state.draft(state.SELECTOR, "") not in clicked:
        return False
    selected_here(source.record, now, clicked)
    return True


def pick_outcome(source: Source, decision: Decision) -> None:
    """All that is wrong at the threshold, and what gets no answer there."""
    wrong = decision.rows[~decision.correct]
    silent = np.setdiff1d(np.arange(decision.total), decision.rows)
    take = partial(selection.choose_rows, source.record, source.split)
    with st.container(horizontal=True, gap="small"):
        if len(wrong):
            about, rules = f"wrong{_at(decision)}", ("wrong",) if source.record.task == "single" else ()
            st.button(
                f"Select the {count(len(wrong))} wrong",
                type="tertiary",
                key="select-wrong",
                on_click=take,
                args=(wrong, about),
                kwargs={"rules": rules, "by_outcome": True},
            )
        if len(silent):
            st.button(
                f"Select the {count(len(silent))} without an answer",
                type="tertiary",
                key="select-silent",
                on_click=take,
                args=(silent, f"no answer{_at(decision)}"),
            )


def _rule(source: Source, decision: Decision, column: str, place: int) -> str:
    """The rule that says the same where the threshold is that of the run: a class, or one class against the rest."""
    if decision.classes == source.record.classes:
        return f"{column}={decision.classes[place]}"
    return f"{column}{'=' if place else '!='}{decision.classes[1]}"


def _at(decision: Decision) -> str:
    return f" at {number(decision.threshold, 2)}"
