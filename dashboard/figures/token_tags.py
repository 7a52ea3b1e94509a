"""Token tagging: sentences with their labelled and predicted spans, and span errors by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.data.conll import OUTSIDE
from core.evaluation.span_metrics import KINDS, SpanMatch, SpanScores, WordSpan, decode_spans
from core.exceptions import NotAvailable
from core.formatting import count, number, plural
from dashboard.figures.drawing import INSIDE, Component, DataTable, Panels, TableColumn, escape_text
from dashboard.figures.figure import FREE, Figure, Option, Source
from dashboard.figures.theme import Look, Tokens, blend_colors, build_template, choose_text_color, make_sequential_scale

if TYPE_CHECKING:
    from core.runs.word_tagging import TaggedText

SHOWN, BRIEFLY = 12, 6
"""Most sentences shown on a page and on a projector; the filter finds the others, and the table has all."""
WRONG = tuple(kind for kind in KINDS if kind != "right")
ANY_ERROR, ALL_RIGHT, EVERY = "any error", "all right", "all sentences"
ALL_TYPES = "all types"
NAMED = 24  # most words that are labelled below the heat map
TINT = 0.32  # share of its type's colour in the background of a span
_WORDS = {"wrong type": "with a wrong type", "wrong border": "with a wrong border", "missed": "missed"}
_MEASURE = "A span is right if its type and both borders are right."


@dataclass(frozen=True, eq=False)
class TaggedRows:
    """Sentences of a split with their true and predicted word tags."""

    table: pd.DataFrame

    @cached_property
    def scores(self) -> SpanScores:
        """Return the scores of a split's predicted spans against the labelled ones."""
        return SpanScores(self.table["label"].tolist(), self.table["predicted"].tolist())

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return the types of spans that occur in a split."""
        return self.scores.kinds

    @cached_property
    def outcomes(self) -> Counter[str]:
        """Return the number of spans of each outcome in a split, such as `right` or `spurious`."""
        return Counter(each.outcome for found in self.scores.found for each in found)

    @property
    def labeled(self) -> int:
        """Return the number of labelled spans in a split."""
        return sum(self.outcomes.values()) - self.outcomes["spurious"]


def read_tagged_rows(source: Source) -> TaggedRows:
    """Read the tagged sentences of a run's split; NotAvailable: not a tagging run, or the run is not evaluated."""
    return source.read_once(_read_rows)


def _read_rows(source: Source) -> TaggedRows:
    _refuse_texts(source)
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    return TaggedRows(source.reader.read_tags(source.record, source.split))


def _refuse_texts(source: Source) -> None:
    if source.record.task != "tokens":
        raise NotAvailable("the run gives a text a label, and no tags to its words")


def summarize_spans(rows: TaggedRows) -> tuple[str, str]:
    """Describe how many labelled spans are predicted correctly, and in a second text the errors."""
    ends = rows.outcomes
    head = f"{count(ends['right'])} of {count(rows.labeled)} spans are found with their type and both borders."
    wrong = [kind for kind in sorted(_WORDS, key=lambda kind: -ends[kind]) if ends[kind]]
    listed = ", ".join(f"{count(ends[kind])} {_WORDS[kind]}" for kind in wrong)
    rest = [f"The other {count(rows.labeled - ends['right'])}: {listed}."] if wrong else []
    if spurious := ends["spurious"]:
        rest.append(f"{plural(spurious, 'predicted span')} {'has' if spurious == 1 else 'have'} no label.")
    return head, " ".join(rest) or "No span is missed, and none is added."


OUTCOME = Option(
    "tag-outcome",
    "Sentences with",
    lambda source: [ANY_ERROR, *WRONG, ALL_RIGHT, EVERY],
    "any error: at least one span is wrong.",
    usual=lambda source: ANY_ERROR if sum(read_tagged_rows(source).outcomes[kind] for kind in WRONG) else EVERY,
)
TYPE = Option("tag-type", "Type of span", lambda source: [ALL_TYPES, *read_tagged_rows(source).kinds])
SEARCH = Option("tag-search", "Word", lambda source: FREE, "Sentences that contain this text.")


@dataclass(frozen=True, eq=False)
class FilteredSentences:
    """Tagged sentences that match the filter by span type and outcome."""

    rows: TaggedRows
    places: tuple[int, ...]
    what: str


def _filter_sentences(source: Source) -> FilteredSentences:
    rows = read_tagged_rows(source)
    outcome, kind, search = (str(source.get_choice(option)) for option in (OUTCOME, TYPE, SEARCH))
    has = rows.table["text"].str.casefold().str.contains(search.strip().casefold(), regex=False).tolist()
    wanted = [at for at, found in enumerate(rows.scores.found) if has[at] and _has_outcome(found, outcome, kind)]
    said = [outcome, *([kind] if kind != ALL_TYPES else []), *([f"“{search.strip()}”"] if search.strip() else [])]
    return FilteredSentences(rows, tuple(wanted), ", ".join(said))


def _has_outcome(found: Sequence[SpanMatch], outcome: str, kind: str) -> bool:
    """Tell whether a sentence has spans of a type and outcome, such as missed or wrongly predicted ones."""
    of_type = [each for each in found if kind == ALL_TYPES or kind in {s.kind for s in (each.label, each.said) if s}]
    if outcome in (EVERY, ALL_RIGHT):
        fine = outcome == EVERY or all(each.outcome == "right" for each in of_type)
        return fine and (kind == ALL_TYPES or bool(of_type))
    return any(each.outcome != "right" if outcome == ANY_ERROR else each.outcome == outcome for each in of_type)


def _color_types(tokens: Tokens, kinds: Sequence[str]) -> dict[str, str]:
    return {kind: tokens.categories[place % len(tokens.categories)] for place, kind in enumerate(kinds)}


def _draw_sentences(shown: FilteredSentences, look: Look) -> Component:
    rows = shown.rows
    first = shown.places[: BRIEFLY if look.projector else SHOWN]
    sentences = []
    for place in first:
        row, found = rows.table.iloc[place], rows.scores.found[place]
        words = row["text"].split(" ")
        of_label = {each.label: each.outcome for each in found if each.label}
        of_said = {each.said: each.outcome for each in found if each.said}
        lines = [_build_line("predicted", words, decode_spans(row["predicted"]), of_said, chances=row["probability"])]
        if any(each.outcome != "right" for each in found):
            lines.insert(0, _build_line("label", words, decode_spans(row["label"]), of_label))
        sentences.append({"row": int(row["row"]), "lines": lines})
    left = len(shown.places) - len(first)
    more = f"{count(left)} more: narrow the filter, or download the table" if left else ""
    return _build_component(sentences, rows.kinds, look, more)


def _build_component(sentences: list[dict[str, Any]], kinds: Sequence[str], look: Look, more: str = "") -> Component:
    t, types = look.tokens, {}
    for kind, color in _color_types(look.tokens, kinds).items():
        ground = blend_colors(t.paper, color, TINT)
        types[kind] = {"line": color, "ground": ground, "ink": choose_text_color(t, ground)}
    colors = t.select_colors("ink", "muted", "grid", "wrong", "paper")
    return Component("tagged", {"sentences": sentences, "more": more, "types": types, "colours": colors}, look)


def _build_line(
    who: str,
    words: Sequence[str],
    spans: Iterable[WordSpan],
    outcomes: Mapping[WordSpan, str],
    *,
    chances: Sequence[float | None] = (),
) -> dict[str, Any]:
    """Return a sentence as parts to draw: a part for each span, and a part for the words between two spans."""
    parts: list[dict[str, Any]] = []
    at = 0
    for span in spans:
        parts += [{"text": " ".join(words[at : span.first])}] if at < span.first else []
        outcome = outcomes.get(span, "")
        about = f"{span.kind}, {outcome}" if outcome else span.kind
        likely = [chance for chance in chances[span.first : span.end] if chance is not None]
        about += f", least certain word {number(min(likely))}" if likely else ""
        wrong = outcome if outcome not in ("", "right") else ""
        text = " ".join(words[span.first : span.end])
        parts.append({"text": text, "kind": span.kind, "wrong": wrong, "about": about})
        at = span.end
    parts += [{"text": " ".join(words[at:])}] if at < len(words) else []
    return {"who": who, "parts": parts}


def _build_sentence_table(shown: FilteredSentences) -> pd.DataFrame:
    table = shown.rows.table.iloc[list(shown.places)]
    ends = [Counter(each.outcome for each in shown.rows.scores.found[place]) for place in shown.places]
    joined = {name: table[name].map(" ".join) for name in ("label", "predicted")}
    return table[["row", "text"]].assign(**joined, **{kind: [each[kind] for each in ends] for kind in KINDS})


def _build_type_table(rows: TaggedRows) -> pd.DataFrame:
    parts = ("precision", "recall", "f1")
    found = [
        {"type": kind, "spans": int(row["support"]), **{part: row[part] for part in parts}}
        | {name: int(row[name]) for name in KINDS}
        for kind, row in rows.scores.evaluate_types().items()
    ]
    return pd.DataFrame(found)


def _draw_errors(rows: TaggedRows, look: Look) -> go.Figure:
    t = look.tokens
    colors, table = _color_types(t, rows.kinds), rows.scores.evaluate_types()
    kinds = list(WRONG)[::-1]
    figure = Panels(look, [[""]], height=96 + 40 * len(kinds))
    for kind in rows.kinds:
        values, color = [table[kind][name] for name in kinds], colors[kind]
        figure.add_bar(
            x=values,
            y=kinds,
            orientation="h",
            name=escape_text(kind),
            marker={"color": color, "line": {"color": t.paper, "width": look.scale_size(1)}},
            text=[escape_text(kind) if value >= max(values) / 4 else "" for value in values],
            **INSIDE,
            insidetextfont={"color": choose_text_color(t, color)},
            hover=f"{escape_text(kind)}, %{{y}}: %{{x}}",
        )
    figure.update_layout(barmode="stack", bargap=0.3, margin={"t": look.scale_size(8)})
    figure.update_layout(showlegend=len(rows.kinds) > 1, legend={"traceorder": "normal"})
    most = max(sum(table[kind][name] for kind in rows.kinds) for name in kinds)
    figure.update_xaxes(title="spans", rangemode="tozero", tickformat=",d", showgrid=True)
    figure.update_xaxes(dtick=1 if most < 5 else None, range=None if most else [0, 1])  # no tick between whole numbers
    figure.update_yaxes(showgrid=False, tickfont={"color": t.ink})
    return figure.build_figure()


def _tag_typed_text(source: Source) -> TaggedText:
    _refuse_texts(source)
    if not source.text.strip():
        raise NotAvailable("a sentence is needed: --text")
    return source.reader.tag_words(source.record, source.text)


def _draw_typed(said: TaggedText, look: Look) -> Component:
    kinds = sorted({name[2:] for name in said.classes if name != OUTSIDE})
    line = _build_line("predicted", said.words, decode_spans(said.tags), {}, chances=said.tag_probabilities)
    return _build_component([{"row": -1, "lines": [line]}], kinds, look)


def _draw_chances(said: TaggedText, look: Look) -> go.Figure:
    t = look.tokens
    order = sorted(range(len(said.classes)), key=lambda at: (said.classes[at] == OUTSIDE, said.classes[at][2:]))
    z = np.nan_to_num(said.chances[:, order]).T
    words = [escape_text(word) for word in said.words]
    few = len(words) <= NAMED
    cells = {"z": z, "x": list(range(len(words))), "y": [escape_text(said.classes[place]) for place in order]}
    scale = {"zmin": 0, "zmax": 1, "colorscale": make_sequential_scale(t), "showscale": False, "xgap": 2, "ygap": 2}
    hover = "%{customdata}<br>%{y} %{z:.3f}<extra></extra>"
    figure = go.Figure(go.Heatmap(**cells, **scale, customdata=[words] * len(order), hovertemplate=hover))
    ticks: dict[str, Any] = {"tickvals": list(range(len(words))), "ticktext": words} if few else {"visible": False}
    size = {"height": look.scale_height(90 + 32 * len(order)), "margin": {"t": look.scale_size(8)}}
    figure.update_layout(template=build_template(look), **size)
    figure.update_xaxes(showgrid=False, tickfont={"color": t.ink}, tickangle=-40 if len(words) > 8 else 0, **ticks)
    figure.update_yaxes(showgrid=False, autorange="reversed", tickfont={"color": t.ink})
    for y, x in np.argwhere(z >= 0.005).tolist() if few else ():
        ground = blend_colors(t.paper, t.ink, float(z[y, x]))
        font = {"size": look.scale_size(13), "color": choose_text_color(t, ground)}
        figure.add_annotation(x=x, y=y, text=number(float(z[y, x]), 2), showarrow=False, font=font)
    return figure


def _build_chance_table(said: TaggedText) -> pd.DataFrame:
    return pd.DataFrame({"word": said.words, "tag": said.tags, **dict(zip(said.classes, said.chances.T, strict=True))})


TAG_SENTENCES = Figure("tag-sentences", "tokens", "Sentences", _filter_sentences, _draw_sentences).add_details(
    note=lambda shown: f"{count(len(shown.places))} of {count(len(shown.rows.table))}, {shown.what}",
    reading="Labels above predictions; one line if both agree. Dashed frame: error.",
    how=f"{_MEASURE} Of the others, spans of the same words are *wrong type*, and spans with a word in common *wrong "
    "border*; a label without a prediction is *missed*, a prediction without a label *spurious*.",
    options=(OUTCOME, TYPE, SEARCH),
    tables=lambda shown: {"Sentences": _build_sentence_table(shown)},
)
TYPE_COLUMNS: dict[str, TableColumn] = {
    "type": TableColumn("Type"),
    "spans": TableColumn("Spans", "Labelled spans"),
    "precision": TableColumn("Precision", "Share of predicted spans that are right", 3),
    "recall": TableColumn("Recall", "Share of labelled spans that are found", 3),
    "f1": TableColumn("F1", decimals=3),
    **{kind: TableColumn(kind.capitalize()) for kind in KINDS},
}
TAG_TYPES = Figure("tag-types", "tokens", "Per type").add_details(
    read=read_tagged_rows,
    draw=lambda rows, look: DataTable(_build_type_table(rows), TYPE_COLUMNS),
    note=lambda rows: f"{count(rows.labeled)} spans in {count(len(rows.table))} sentences",
    reading="A span with a wrong type counts for its label's type.",
    how=f"{_MEASURE} Precision, recall and F1 are as in conlleval and seqeval.",
    tables=lambda rows: {"Types": _build_type_table(rows)},
    sizes=lambda rows: {kind: int(row["support"]) for kind, row in rows.scores.evaluate_types().items()},
)
TAG_ERRORS = Figure("tag-errors", "tokens", "Error types", read_tagged_rows, _draw_errors).add_details(
    note=lambda rows: f"{count(sum(rows.outcomes[kind] for kind in WRONG))} spans",
    reading="Each colour is a type of span.",
    tables=lambda rows: {"Errors by kind": _build_type_table(rows)[["type", *WRONG]]},
)
TAG_TYPED = Figure("tag-typed", "tokens", "Predicted tags", _tag_typed_text, _draw_typed).add_details(
    reading="Coloured words form a span; its type follows."
)
TAG_CHANCES = Figure("tag-chances", "tokens", "Tag probabilities", _tag_typed_text, _draw_chances).add_details(
    note=lambda typed: f"{count(len(typed.words))} words",
    reading="Stronger colour: more likely. Empty column: the model did not read the word.",
    how="Softmax over the tags at the first token of each word; words are separated by blanks.",
    tables=lambda typed: {"Probabilities": _build_chance_table(typed)},
)
