"""Several models on the same sentences: which are right, what they predict, where they attend, how alike layers are."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.evaluation.intervals import compute_wilson
from core.evaluation.metrics import join_class_names
from core.exceptions import NotAvailable
from core.formatting import count, number
from core.runs.comparison import match_runs
from core.runs.predictions import Answers
from core.runs.projections import LayerFiles, LayerSimilarity, compare_layers
from dashboard.figures.attention import MapRow, draw_map_grid, find_top_weight
from dashboard.figures.drawing import Panels, draw_bar_matrix, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Option, QuietOption, Source
from dashboard.figures.model_comparison import METRIC, PAIR, get_letter, get_model_color, get_pair
from dashboard.figures.theme import Look, blend_colors, build_template, choose_text_color, make_sequential_scale

LETTERS = ("A", "B", "C", "D", "E", "F")
RIGHTS = ("right", "wrong")
SHADE = {True: 0.32, False: 0.45}

WHO = QuietOption(
    "who",
    "Model",
    lambda source: [get_letter(source, side) for side in source.sides.sides],
    "The model whose map is shown",
    endings={letter: f"-{letter.lower()}" for letter in LETTERS},
)


@dataclass(frozen=True, eq=False)
class ModelMap:
    """Attention map of one sentence in one of several compared models, with the predicted label."""

    name: str
    answer: str
    tokens: tuple[str, ...]
    weights: NDArray[np.floating]  # (L, L) combined map of the last layer, mean over heads
    layers: int
    top: float  # the weight in the strongest colour, the same for all models


def _read_map(source: Source) -> ModelMap:
    letter = str(source.get_choice(WHO))
    if not source.text.strip():
        raise NotAvailable("a sentence is needed: --text")
    sides = {get_letter(source, side): side for side in source.sides.sides}
    views = {key: source.reader.inspect_text(side.model.records[0].run, source.text) for key, side in sides.items()}
    name, view = f"{letter} {source.reader.label_run(sides[letter].name)}", views[letter]
    said, chance = max(view.probabilities.items(), key=lambda known: known[1])
    if not view.layers:
        raise NotAvailable(f"{name} has no attention: it says {said} ({number(chance, 2)})")
    if not view.layers[-1].combined.size:
        raise NotAvailable(f"{name}: the sentence is too long for maps, or the model knows no word of it")
    last = {key: each.layers[-1].combined for key, each in views.items() if each.layers}
    means = {key: weights.mean(0) for key, weights in last.items() if weights.size}
    top = find_top_weight([MapRow("", each) for each in means.values()])
    return ModelMap(name, f"{said} {number(chance, 2)}", view.tokens, means[letter], len(view.layers), top)


MAPS = Figure("compare-map", "compare", lambda shape: shape.name).add_details(
    read=_read_map,
    draw=lambda shape, look: draw_map_grid(
        [MapRow("", shape.weights[None])], shape.tokens, look, top=shape.top, numbered=False, worded=True
    ),
    note=lambda shape: f"predicts {shape.answer}",
    reading=lambda shape: f"Layer {shape.layers} of {shape.layers}, mean over heads; one scale for all.",
    how="All components are added with their coefficients. Attention is not an explanation: it shows where a model "
    "looks, not why it gives its answer.",
    options=(WHO,),
    spread=(WHO,),
)


@dataclass(frozen=True, eq=False)
class AgreementMatrix:
    """Predictions of two models (one run each) for the same n sentences, as an agreement matrix."""

    names: tuple[str, str]
    letters: tuple[str, str]
    colors: tuple[int, int]  # positions of the two models in the comparison
    kinds: tuple[str, ...]  # rows and columns: right and wrong, or the classes
    first: NDArray[np.int64]  # (n,) index of each sentence's kind in `kinds`
    second: NDArray[np.int64]
    right: tuple[NDArray[np.bool_], NDArray[np.bool_]]  # (n,) each: whether the model is right
    answers: tuple[Answers, Answers]
    seed: str  # names the compared runs if a model has several; else empty

    @property
    def about_right(self) -> bool:
        """Tell whether the agreement matrix counts right and wrong predictions; else it counts predicted classes."""
        return self.kinds == RIGHTS

    @property
    def has_known_answers(self) -> bool:
        """Tell whether a sentence's matrix cell and its true label suffice to know what both models predicted."""
        return not self.about_right or (len(self.answers[0].record.classes) == 2 and self.answers[0].labels.ndim == 1)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return sentence counts of the agreement matrix (K, K): rows are the first model, columns the second."""
        size = len(self.kinds)
        return np.bincount(self.first * size + self.second, minlength=size**2).reshape(size, size)

    def find_rows(self, one: int, other: int) -> NDArray[np.int64]:
        """Return the row numbers of the sentences in one cell of the agreement matrix."""
        return np.flatnonzero((self.first == one) & (self.second == other))

    def describe_cell(self, one: int, other: int) -> str:
        """Describe a cell of the agreement matrix in words, such as `A right, B wrong`."""
        return f"{self.letters[0]} {self.kinds[one]}, {self.letters[1]} {self.kinds[other]}"

    def write_cell_note(self, one: int, other: int, named: bool = False) -> str:
        """Write the note below the count in a cell of the agreement matrix; `named`: in HTML, with names of runs."""
        a, b = self.letters
        if self.about_right:
            a, b = (f"<br>{escape_text(name)}<br>" for name in self.names) if named else (a, b)
            return (("both right", f"only {a} right"), (f"only {b} right", "both wrong"))[one][other]
        rows = self.find_rows(one, other)
        hits = [int(right[rows].sum()) for right in self.right]
        return f"{count(hits[0])} right" if one == other else f"{a} right {count(hits[0])}, {b} {count(hits[1])}"


CELLS = Option(
    "matrix",
    "Cells",
    lambda source: ("right and wrong", *(["answers"] if source.record.task == "single" else [])),
    "Right and wrong, or the answers of both models",
    endings={"right and wrong": "", "answers": "-answers"},
)


def read_matrix(source: Source) -> AgreementMatrix:
    """Read two chosen models' predictions as an agreement matrix; of a model with several seeds, one run is used."""
    sides = get_pair(source)
    run, one, other = next(iter(match_runs(*sides)))
    answers = sides[0].answers[one], sides[1].answers[other]
    scores = [each.to_scores(str(source.get_choice(METRIC))) for each in answers]
    right = scores[0].correct > 0, scores[1].correct > 0
    by_right = source.get_choice(CELLS) == "right and wrong"
    kinds = RIGHTS if by_right else tuple(answers[0].record.classes)
    places = [np.where(each, 0, 1) if by_right else score.answers for each, score in zip(right, scores, strict=True)]
    several = any(len(side.answers) > 1 for side in sides)
    numbers = [source.sides.sides.index(side) for side in sides]
    label = source.reader.label_run
    names = label(sides[0].name), label(sides[1].name)
    letters = get_letter(source, sides[0]), get_letter(source, sides[1])
    seed = f"seed {one[0]}{f', fold {run[1]}' if run[1] >= 0 else ''} of each model" if several else ""
    return AgreementMatrix(names, letters, (numbers[0], numbers[1]), kinds, places[0], places[1], right, answers, seed)


def _draw_matrix(shape: AgreementMatrix, look: Look) -> go.Figure:
    rows, columns = ([f"{letter} {escape_text(kind)}" for kind in shape.kinds] for letter in shape.letters)
    counts = [[count(n) for n in row] for row in shape.counts.tolist()]
    return draw_bar_matrix(
        look,
        rows,
        columns,
        color=lambda i, j: _color_cell(shape, i, j, look),
        words=lambda i, j: (
            f"<b style='font-size:1.5em'>{counts[i][j]}</b><br>{shape.write_cell_note(i, j, look.projector)}"
        ),
        hover=lambda i, j: f"{escape_text(shape.describe_cell(i, j))}: {counts[i][j]}",
        height=360,
    )


def _color_cell(shape: AgreementMatrix, one: int, other: int, look: Look) -> str:
    t, share = look.tokens, SHADE[look.dark]
    if shape.about_right:
        alone = [(get_model_color(look, place), share) for place in shape.colors]
        return blend_colors(t.paper, *(((t.right, 0.14), alone[0]), (alone[1], (t.wrong, 0.3)))[one][other])
    counts = shape.counts
    of = counts[one, other] / max(int(counts.max()), 1)
    if one == other:
        return blend_colors(t.paper, t.right, 0.08 + 0.3 * of)
    apart = counts[one, other] / max(int((counts - np.diag(np.diag(counts))).max()), 1)
    return blend_colors(t.paper, t.accent, 0.05 + 0.35 * apart) if counts[one, other] else t.paper


def build_cell_table(shape: AgreementMatrix, rows: NDArray[np.int64]) -> pd.DataFrame:
    """Return a table of sentences by row number: text, label, and each model's prediction with its probability."""
    first = shape.answers[0]
    classes, several = first.record.classes, first.labels.ndim == 2

    def name_labels(labels: np.ndarray) -> list[str]:
        return join_class_names(labels[rows], classes) if several else [classes[number] for number in labels[rows]]

    found = {"text": [first.texts[row] for row in rows], "label": name_labels(first.labels)}
    for letter, each in zip(shape.letters, shape.answers, strict=True):
        found[letter] = name_labels(each.to_scores("tuned.f1_macro" if several else "accuracy").answers)
        if not several:
            found[f"P({letter})"] = each.probabilities[rows].max(1)
    return pd.DataFrame(found, index=rows)


def _build_counts_table(shape: AgreementMatrix) -> pd.DataFrame:
    columns = {f"{shape.letters[1]} {name}": shape.counts[:, place] for place, name in enumerate(shape.kinds)}
    return pd.DataFrame({"": [f"{shape.letters[0]} {name}" for name in shape.kinds], **columns})


def describe_disagreement(shape: AgreementMatrix) -> str:
    """Describe in a sentence how many sentences each of two models alone predicts correctly."""
    alone = [int((shape.right[place] & ~shape.right[1 - place]).sum()) for place in (0, 1)]
    first = 0 if alone[0] >= alone[1] else 1
    if not any(alone):
        return f"{' and '.join(shape.names)} are right on the same sentences."
    (name, n), (other, m) = ((shape.names[place], count(alone[place])) for place in (first, 1 - first))
    return f"Only {name} is right on {n} sentences, only {other} on {m}."


def draw_disagreement(shape: AgreementMatrix, look: Look) -> go.Figure:
    """Draw all sentences as a bar, those that one model alone gets right as squares, and both accuracies."""
    t, n, (first, second) = look.tokens, len(shape.first), shape.right
    colors, names = [get_model_color(look, place) for place in shape.colors], [*map(escape_text, shape.names)]
    alone = [int((one & ~other).sum()) for one, other in ((first, second), (second, first))]
    both, neither = int((first & second).sum()), int((~first & ~second).sum())
    figure = Panels(look, [[""], [""]], height=480, row_heights=(0.74, 0.26), vertical_spacing=0.1)
    start, end = both / n, 1 - neither / n
    parts = ((0.0, start, blend_colors(t.paper, t.right, 0.25)), (start, end, t.ink))
    for left, right, color in (*parts, (end, 1.0, blend_colors(t.paper, t.wrong, 0.45))):
        figure.add_shape(type="rect", x0=left, x1=right, y0=0.8, y1=0.92, fillcolor=color, line={"width": 0})
    funnel: dict[str, Any] = {"fillcolor": blend_colors(t.paper, t.right, 0.12), "line": {"width": 0}}
    figure.add_shape(type="path", path=f"M {start} 0.79 L {end} 0.79 L 1 0.67 L 0 0.67 Z", **funnel)
    words: dict[str, Any] = {"yanchor": "bottom", "font": {"color": t.ink, "size": look.scale_size(16)}}
    figure.add_annotation(x=0, y=0.94, text=f"both right <b>{count(both)}</b>", xanchor="left", **words)
    figure.add_annotation(x=1, y=0.94, text=f"both wrong <b>{count(neither)}</b>", xanchor="right", **words)
    columns = max(12, math.ceil(math.sqrt(2.5 * max(alone))))  # the more squares, the smaller
    width, height = 0.47 / columns, 0.5 / max(3, math.ceil(max(alone) / columns))
    for left, each, name, color in zip((0.0, 0.53), alone, names, colors, strict=True):
        text = f"<b style='font-size:1.6em'>{count(each)}</b> only {name} is right"
        figure.add_annotation(x=left, y=0.51, text=text, xanchor="left", **words)
        places = [divmod(place, columns) for place in range(each)]
        figure.add_bar(
            x=[left + (column + 0.5) * width for _, column in places],
            y=[0.85 * height] * each,
            base=[0.5 - (row + 1) * height for row, _ in places],
            width=0.88 * width,
            marker={"color": color, "cornerradius": 3, "line": {"width": 0}},
            hoverinfo="skip",
        )
    shares, ends = [right.mean() for right in shape.right], [compute_wilson(int(r.sum()), n) for r in shape.right]
    for place, (share, spread, color) in enumerate(zip(shares, ends, colors, strict=True)):
        bar = make_whiskers([share], [spread], look.scale_size(6), blend_colors(t.paper, color, 0.6))
        figure.add_scatter(row=2, x=[share], y=[1 - place], error_x=bar, dots=(color, 12), hover="%{x:.3f}")
    figure.update_xaxes(row=1, visible=False, range=[0, 1])
    figure.update_yaxes(row=1, visible=False, range=[0, 1.02])
    figure.update_xaxes(row=2, title="share right, 95 % interval", nticks=6, showgrid=True)
    ticks = {"size": look.scale_size(16), "color": t.ink}
    labels = [f"{name} <b>{number(share)}</b>" for name, share in zip(names, shares, strict=True)]
    figure.update_yaxes(row=2, tickvals=[1, 0], ticktext=labels, range=[-0.6, 1.6], showgrid=False, tickfont=ticks)
    figure.update_layout(barmode="overlay")
    return figure.build_figure()


MATRIX = Figure("compare-matrix", "compare", lambda shape: f"{shape.names[0]} against {shape.names[1]}").add_details(
    read=read_matrix,
    draw=_draw_matrix,
    note=lambda shape: ", ".join(filter(None, (f"n = {count(len(shape.first))}", shape.seed))),
    reading=lambda shape: (
        "McNemar's test counts only sentences that one model alone gets right."
        if shape.about_right
        else "Rows: answers of the first model. Columns: answers of the second."
    ),
    finding=describe_disagreement,
    exhibit=draw_disagreement,
    options=(METRIC, PAIR, CELLS),
    spread=(CELLS,),
    tables=lambda shape: {
        "Matrix": _build_counts_table(shape),
        "Differing sentences": build_cell_table(shape, find_one_right(shape)),
    },
)


def find_one_right(shape: AgreementMatrix) -> NDArray[np.int64]:
    """Return the row numbers of the sentences that exactly one of two models predicts correctly."""
    return np.flatnonzero(shape.right[0] != shape.right[1])


@dataclass(frozen=True, eq=False)
class SimilarLayers:
    """The similarity of the layers of two runs, with the runs' names."""

    names: tuple[str, str]
    found: LayerSimilarity


def _read_similarity(source: Source) -> SimilarLayers:
    if not source.others:
        raise NotAvailable("it is of two runs: name another with --against")
    runs = source.record.run, source.others[0].run
    here, other = (LayerFiles.from_run(source.reader.store(), run, source.evaluated) for run in runs)
    first, second = map(source.reader.label_run, runs)
    return SimilarLayers((first, second), compare_layers(here, other))


def _draw_similarity(shown: SimilarLayers, look: Look) -> go.Figure:
    t, found, size = look.tokens, shown.found, look.scale_size
    figure = go.Figure(layout={"template": build_template(look)})
    style: dict[str, Any] = {"zmin": 0, "zmax": 1, "colorscale": make_sequential_scale(t), "showscale": False}
    style |= {"xgap": 3, "ygap": 3, "hovertemplate": "%{y}, %{x}: CKA %{z:.3f}<extra></extra>"}
    figure.add_heatmap(x=list(found.second), y=list(found.first), z=found.values, **style)
    for row, own in enumerate(found.first):
        for column, other in enumerate(found.second):
            value = float(found.values[row, column])
            if np.isnan(value):
                continue
            color = choose_text_color(t, blend_colors(t.paper, t.ink, value))
            figure.add_annotation(
                x=other, y=own, text=number(value, 2), showarrow=False, font={"color": color, "size": size(15)}
            )
    first, second = map(escape_text, shown.names)
    figure.update_xaxes(title=second, showgrid=False, type="category")
    figure.update_yaxes(title=first, autorange="reversed", showgrid=False, type="category")
    return figure.update_layout(height=look.scale_height(90 + 56 * len(found.first)))


def describe_similarity(shown: SimilarLayers) -> str:
    """Return how alike the last layers of both runs are, as a sentence."""
    value = float(shown.found.values[-1, -1])
    return f"Last layers: {'all vectors are equal' if np.isnan(value) else f'CKA {number(value, 2)}'}."


CKA = Figure("cka", "compare", "Similar layers", _read_similarity, _draw_similarity).add_details(
    note=lambda shown: f"linear CKA, n = {count(shown.found.rows)}",
    reading=lambda shown: f"1: the same up to rotation and scale. {describe_similarity(shown)}",
    finding=describe_similarity,
    how="Each text is the mean of its token vectors after a layer. CKA compares which texts are near each other, not "
    "single numbers, so that widths may differ. `sentiscope layers RUN --against RUN` reads the layers.",
    needs="hidden",
    tables=lambda shown: {
        "CKA": pd.DataFrame(shown.found.values, columns=[*shown.found.second]).assign(layer=shown.found.first)
    },
)
