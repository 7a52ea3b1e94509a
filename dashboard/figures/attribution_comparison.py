"""Word attributions compared: by several methods, with attention, and between two predictions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, number, signed
from core.interpret.attribution_math import compute_log_odds
from core.runs.record import RunRecord
from core.text.graphemes import quote_text
from dashboard.figures import word_attributions
from dashboard.figures.drawing import Component, DataTable, Panels, TableColumn, escape_text
from dashboard.figures.figure import FREE, Figure, Option, QuietOption, Source
from dashboard.figures.theme import Look, Tokens
from dashboard.figures.word_attributions import TOWARDS, Cell, Ramps, WordView, get_target_class

if TYPE_CHECKING:
    from core.interpret.attribution import Explanation, Methods
    from core.interpret.sentence_inspection import SentenceView

NAMES = {
    "deletion": "deletion",
    "shapley": "Shapley",
    "gradient": "gradient × input",
    "integrated": "integrated gradients",
    "attention": "attention",
    "collapse": "first-layer attention",
}
ABOUT = {
    "deletion": "log-odds with the word minus without it",
    "shapley": "what the word adds to the words before it, mean over orders of the words",
    "gradient": "gradient of the log-odds times the vector of the word",
    "integrated": "gradient × input, integrated from zero vectors to the text",
    "attention": "attention that the word receives in the last layer, mean over heads and tokens",
    "collapse": "attention that the word receives in the first layer",
}
PLACES = ("word", "start", "end")
READ = ("attention", "collapse")
QUICK, ALL = "quick", "all"
QUICK_METHODS = tuple(name for name in NAMES if name != "shapley")
SHADE = 4
LABELED = 6
SIDES = ("top center", "bottom center", "middle right", "middle left")
CONTRAST_COLUMNS = {
    "word": TableColumn("Word"),
    "push": TableColumn("Effect", decimals=2),
    "other word": TableColumn("Other word"),
    "other push": TableColumn("Other effect", decimals=2),
    "difference": TableColumn("Difference", "Effect minus other effect", decimals=2),
}
Pair = tuple[int | None, int | None]

EXTENT = QuietOption(
    "methods", "Methods", lambda source: (QUICK, ALL), "All adds Shapley values, which run the model up to 4 000 times."
)


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Attributions of a text's words by several methods."""

    record: RunRecord
    methods: Methods
    edited: bool

    @property
    def first(self) -> Explanation:
        """Return the word attributions by deletion, which every model has."""
        return self.methods.by["deletion"]

    @property
    def shown(self) -> list[int]:
        """Return the positions of the words in the figure; of a long text, those with the largest attributions."""
        return sorted(np.argsort(-np.abs(self.first.pushes), kind="stable")[: word_attributions.SHOWN].tolist())

    @property
    def agreed(self) -> str:
        """Describe whether word attributions by attention and by deletion agree; empty without attention."""
        test = self.first.tests.get("attention")
        said = "" if test is None else test.describe("attention", "deletion")
        return f"{said[:1].upper()}{said[1:]}. " * bool(said)


def list_methods(source: Source) -> tuple[str, ...]:
    """Return the names of the chosen attribution methods, including any that the model does not support."""
    return tuple(NAMES) if source.get_choice(EXTENT) == ALL else QUICK_METHODS


def compare_methods(source: Source) -> MethodComparison:
    """Compute word attributions of a text by the chosen methods; NotAvailable: the model knows no word of it."""
    assert source.view.tokens
    asked = source.record.run, source.text, get_target_class(source), source.edits, list_methods(source)
    return MethodComparison(source.record, source.reader.compare_methods(*asked), bool(source.edits))


def list_checks(shown: MethodComparison) -> list[str]:
    """Return sentences on known errors of the attribution methods, and on why some methods are not shown."""
    lines = [
        f"{NAMES[name].capitalize()}: completeness error {signed(whole.error, 3)} after {count(whole.steps)} "
        f"{'orders' if name == 'shapley' else 'steps'}, baseline: {whole.reference}."
        for name, found in shown.methods.by.items()
        if (whole := found.completeness)
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in shown.methods.left_out.items():
        reasons.setdefault(reason, []).append(NAMES[name])
    lines += [f"No {' and no '.join(names)}: {reason}." for reason, names in reasons.items()]
    return [*lines, shown.methods.note] if shown.methods.note else lines


def _draw_methods(shown: MethodComparison, look: Look) -> Component:
    t, by = look.tokens, shown.methods.by
    ramps = word_attributions.make_ramps(shown.record, shown.first.target, t)
    columns = [list(_draw_cells(name, found, ramps, t)) for name, found in by.items()]
    rows = [{"name": shown.first.words[at].word, "cells": [cells[at] for cells in columns]} for at in shown.shown]
    hidden = len(shown.first.words) - len(rows)
    lines = [f"… {count(hidden)} more words with smaller effects."] * bool(hidden) + list_checks(shown)
    heads = [{"name": NAMES[name], "about": ABOUT[name]} for name in by]
    return word_attributions.draw_heatmap(
        heads, rows, f"words by method, effect towards {shown.first.target}", lines, look
    )


def _draw_cells(method: str, found: Explanation, ramps: Ramps, t: Tokens) -> Iterator[Cell]:
    ink = float(np.abs(found.pushes).max(initial=0)) or 1.0
    color = word_attributions.find_full_color(found.pushes)
    for word in found.words:
        about = f"{word.word}, {NAMES[found.method]}: "
        if method in READ:
            yield word_attributions.make_ink_cell(word.push, ink, f"{about}{number(word.push, 3)}", t)
        else:
            error = "" if word.error is None else f" ± {number(word.error, 3)}"
            yield word_attributions.make_push_cell(word.push, color, ramps, f"{about}{signed(word.push, 3)}{error}", t)


def build_methods_table(shown: MethodComparison) -> pd.DataFrame:
    """Return a row for each word of a text: its position in the typed text, and its attribution by each method."""
    words = shown.first.words
    columns: dict[str, Any] = {name: [getattr(word, name) for word in words] for name in PLACES}
    columns["towards"] = shown.first.target
    for name, found in shown.methods.by.items():
        columns[name] = found.pushes
        if found.words and found.words[0].error is not None:
            columns[f"{name}, standard error"] = [word.error for word in found.words]
    return pd.DataFrame(columns)


METHODS = Figure("methods", "sentence", "Attribution methods", compare_methods, _draw_methods).add_details(
    note=lambda shown: f"towards {shown.first.target}" + (", after your changes" if shown.edited else ""),
    reading="Each column has its own scale. Grey columns (attention) have no sign.",
    how="Deletion and Shapley values read the text again without some words. Gradient × input and integrated gradients "
    "(captum) use gradients at the word vectors; completeness error: the sum of the effects minus its expected value. "
    "Attention: received in the last layer, mean over heads and tokens; first-layer attention: the same in the "
    "first (7ess-Xin, figures 6 and 7).",
    options=(EXTENT, TOWARDS),
    tables=lambda shown: {"Methods": build_methods_table(shown)},
)


def compare_attention(source: Source) -> MethodComparison:
    """Compute attributions to compare attention with deletion; NotAvailable: no attention, or only one word."""
    found = compare_methods(source)
    if len(found.first.words) < 2:
        raise NotAvailable("the text has one word: there is nothing to compare")
    if found.methods.most is None:
        raise NotAvailable(f"{source.record.preset} has no attention here")
    return found


def describe_top_words(shown: MethodComparison) -> str:
    """Describe which word has the most attention and which has the largest effect when deleted."""
    most, words = shown.methods.most, shown.first.words
    if most is None:
        return ""
    read, needed = quote_text(words[most.read].word), quote_text(words[most.needed].word)
    if most.same:
        return f"{read} gets most attention and has the largest effect (by chance: 1 in {count(len(words))})."
    return f"{read} gets most attention; {needed} has the largest effect."


def _place_labels(x: np.ndarray, y: np.ndarray, told: Collection[int]) -> list[str]:
    """Return the side of each point's label: the first side that no label of a close point before it has."""
    sides, wide, high = ["top center"] * len(x), 0.12 * x.max(initial=1e-9), 0.09 * y.max(initial=1e-9)
    for at, place in enumerate(order := sorted(told, key=lambda place: x[place])):
        close = [one for one in order[:at] if abs(x[one] - x[place]) < wide and abs(y[one] - y[place]) < high]
        taken = {sides[one] for one in close}
        sides[place] = next((side for side in SIDES if side not in taken), SIDES[0])
    return sides


def _draw_scatter(shown: MethodComparison, look: Look) -> go.Figure:
    t, words, most = look.tokens, shown.first.words, shown.methods.most
    assert most is not None
    read, push = np.abs(shown.methods.by["attention"].pushes), shown.first.pushes
    needed = np.abs(push)
    told = {most.read, most.needed, *np.argsort(-needed, kind="stable")[:LABELED].tolist()}
    towards, away = word_attributions.make_ramps(shown.record, shown.first.target, t)
    colors = [(towards if each >= 0 else away or towards)[SHADE] for each in push]
    symbols = ["circle" if each >= 0 else "diamond" for each in push]
    rim = {"width": [3 if place in (most.read, most.needed) else 1 for place in range(len(words))], "color": t.ink}
    panel = Panels(look, [[""]], height=330)
    panel.add_scatter(
        x=read,
        y=needed,
        mode="markers+text",
        dots=(colors, 11, symbols),
        marker={"line": rim},
        text=[escape_text(word.word) if place in told else "" for place, word in enumerate(words)],
        textposition=_place_labels(read, needed, told),
        textfont={"size": look.scale_size(14), "color": t.ink},
        cliponaxis=False,
        hovertext=[
            f"{escape_text(word.word)}<br>attention {number(float(read[place]), 3)}<br>effect {signed(word.push, 3)}"
            for place, word in enumerate(words)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    panel.update_xaxes(title="attention (last layer, mean)", rangemode="tozero")
    panel.update_yaxes(title="size of the effect", rangemode="tozero")
    panel.update_layout(margin={"t": 22})
    return panel.build_figure()


READ_NEEDED = Figure("read-needed", "sentence", "Attention against effect").add_details(
    read=compare_attention,
    draw=_draw_scatter,
    note=lambda shown: f"{count(len(shown.first.words))} words" + (", after your changes" if shown.edited else ""),
    reading=lambda shown: f"{shown.agreed}{describe_top_words(shown)} Diamonds: effect away from {shown.first.target}.",
    how="If attention explained the answer, words would lie on a rising line. Horizontal: attention that the word "
    "receives in the last layer, mean over heads and tokens. Vertical: change in log-odds without the word.",
    needs="maps",
    options=(TOWARDS,),
    tables=lambda shown: {"Read and needed": build_methods_table(shown)[[*PLACES, "attention", "deletion"]]},
)

OTHER_TEXT = Option(
    "pinned",
    "Pinned sentence",
    lambda source: FREE,
    "The sentence to compare with, read by the same run or another one.",
    words=lambda source, text: f"against “{text}”" if text else "",
)


def read_sentence(source: Source) -> SentenceView:
    """Return the forward pass of the chosen text in a run's model, even of an empty text."""
    return source.reader.inspect_text(source.record.run, source.text, source.edits)


def describe_difference(now: Source, other: Source, name: str = "") -> str:
    """Describe how the probability and log-odds of the explained class differ between two predictions."""
    about, mine, theirs = get_target_class(now), read_sentence(now), read_sentence(other)
    if about not in theirs.probabilities:
        return f"The other run has no class {about}, so there is no difference."
    p, before = mine.probabilities[about], theirs.probabilities[about]
    odds = []
    for view, source in ((mine, now), (theirs, other)):
        chances = np.array([*view.probabilities.values()])
        odds.append(float(compute_log_odds(chances, [*view.probabilities].index(about), source.record.task)))
    said = (
        f"P({about}) {number(p)} against {number(before)}{f' {name}' if name else ''}: {signed(p - before, 3)}; "
        f"log-odds {signed(odds[0])} against {signed(odds[1])}: {signed(odds[0] - odds[1])}."
    )
    return said if mine.label == theirs.label else f"{said} The answer is {mine.label} instead of {theirs.label}."


@dataclass(frozen=True, eq=False)
class Contrast:
    """Aligned words of two texts, or of one text read by two runs, with their attributions."""

    now: WordView
    other: WordView
    pairs: Sequence[Pair]  # positions of the words; None: no counterpart


def align_words(now: Sequence[str], other: Sequence[str]) -> list[Pair]:
    """Align the words of two texts: equal words become pairs; the words between them are paired in order."""
    pairs: list[Pair] = []
    matcher = SequenceMatcher(None, [each.lower() for each in now], [each.lower() for each in other], autojunk=False)
    for _, start, end, from_, to in matcher.get_opcodes():
        pairs += zip_longest(range(start, end), range(from_, to))
    return pairs


def match_class(now: Source, other: Source) -> Source:
    """Return the second prediction's data source with the first's class to explain; NotAvailable: no word or class."""
    about = get_target_class(now)
    if about not in other.record.classes:
        raise NotAvailable(f"run '{other.record.run}' has no class '{about}'")
    if not (read_sentence(now).tokens and read_sentence(other).tokens):
        raise NotAvailable("there is no word in one of the texts")
    same = other.copy_with_choices(**{TOWARDS.name: about}) if TOWARDS.has_choices(other) else other
    if (its := get_target_class(same)) != about:
        raise NotAvailable(f"the effect is counted towards {about} in one run and towards {its} in the other")
    return same


def align_readings(now: Source, other: Source) -> Contrast:
    """Align words and attributions of two texts or runs for one class; NotAvailable: no common class or known word."""
    same = match_class(now, other)
    mine, theirs = word_attributions.WORDS.read_data(now), word_attributions.WORDS.read_data(same)
    words = ([word.word for word in each.pushed.found.words] for each in (mine, theirs))
    return Contrast(mine, theirs, align_words(*words))


def read_other(source: Source) -> Source:
    """Return the data source to compare with (other text, other run or both); NotAvailable: none is chosen."""
    if not source.text:
        raise NotAvailable("it is of a text: name one with --text")
    text = str(source.get_choice(OTHER_TEXT))
    if not (source.others or text):
        raise NotAvailable("it is of two readings: name another run with --against, or a sentence with --with pinned=…")
    return Source(source.others[0] if source.others else source.record, source.reader, text=text or source.text)


def build_contrast_table(shape: Contrast) -> pd.DataFrame:
    """Return a row for each pair of aligned words: both words, their attributions, and the difference."""
    rows = []
    for mine, theirs in shape.pairs:
        word, push = _get_word(shape.now, mine)
        other, its = _get_word(shape.other, theirs)
        gap = None if push is None or its is None else push - its
        rows.append((word, push, other, its, gap))
    return pd.DataFrame(rows, columns=[*CONTRAST_COLUMNS])


def _get_word(shown: WordView, place: int | None) -> tuple[str | None, float | None]:
    return (None, None) if place is None else (shown.pushed.found.words[place].word, float(shown.pushes[place]))


DIFFERENCE = Figure("difference", "sentence", "Difference of each effect").add_details(
    read=lambda source: align_readings(source, read_other(source)),
    draw=lambda shape, look: DataTable(build_contrast_table(shape), CONTRAST_COLUMNS, narrow=True),
    note=lambda shape: f"towards {shape.now.target}",
    reading="Words of both readings, aligned; unmatched words have an empty cell.",
    options=(TOWARDS, OTHER_TEXT),
    tables=lambda shape: {"Difference": build_contrast_table(shape)},
)
