"""How lambda moved in several training runs at once, with the validation loss below on the same axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.models.provides import provides
from core.papers.reported import Counterpart, counterpart, no_counterpart
from core.runs.record import RunRecord
from dashboard.figures.curves import Curves, Line, Place
from dashboard.figures.drawing import Table
from dashboard.figures.figure import Figure
from dashboard.figures.naming import escape_text
from dashboard.figures.numbers import count, number, signed, subscript
from dashboard.figures.panels import Panels
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look
from dashboard.figures.training import LIVE, SMALLEST_CHANGE, logged_lambdas

Scale = Literal["change", "value"]


@dataclass(frozen=True)
class Track:
    """One training on the figure."""

    run: str
    seed: int
    curves: Curves
    sibling: bool = False
    """Its settings are those of the run in focus, but for the seed."""
    heads: Mapping[Place, tuple[Line, ...]] = field(default_factory=dict)
    """A line for each head where heads have a lambda of their own; the curves then hold their mean."""


def has_lambda(record: RunRecord) -> bool:
    """Whether this kind of model has a lambda at all."""
    return record.status != "damaged" and "lambda" in provides(record.config.model)


def same_but_seed(one: RunRecord, other: RunRecord) -> bool:
    """Whether two runs differ in nothing but the training's seed and the machine."""

    def core(record: RunRecord) -> Any:
        return replace(record.config, training=replace(record.config.training, seed=0, threads=0, device="auto"))

    return one.preset == other.preset and bool(core(one) == core(other))


def other_seeds(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Runs with the same settings and a seed of their own; of several with one seed, the first."""
    found: dict[int, str] = {record.config.training.seed: record.run}
    for one in others:
        if same_but_seed(record, one):
            found.setdefault(one.config.training.seed, one.run)
    return [run for run in found.values() if run != record.run]


def kept(record: RunRecord, track: Track) -> dict[Place, float]:
    """A run's lambdas: those of the weights it kept once it is done, before that the last logged."""
    if saved := record.results.get("lambda"):
        return {(i, j + 1): value for i, layer in enumerate(saved) for j, value in enumerate(layer)}
    return {place: line[-1] for place, line in track.curves.lambdas.items() if line}


def reported_places(found: Counterpart | None) -> dict[Place, float]:
    """A paper's lambdas by layer (from 0) and component (from 1)."""
    table = found.lambdas if found else ()
    return {(i, j + 1): value for i, layer in enumerate(table) for j, value in enumerate(layer)}


def final_table(
    tracks: Sequence[Track], records: Mapping[str, RunRecord], paper: Mapping[Place, float]
) -> pd.DataFrame:
    """One row for each layer and component: start, ours, over seeds, reported, difference."""
    focus, *others = tracks
    own = kept(records[focus.run], focus)
    seeds = [own, *(kept(records[track.run], track) for track in others if track.sibling)]
    rows = []
    for place, line in sorted(focus.curves.lambdas.items()):
        value = own.get(place, line[-1])
        row: dict[str, object] = {
            "Layer": place[0] + 1,
            "λ": f"λ{subscript(place[1])}",
            "At the start": number(line[0], 4),
            "This run": number(value, 4),
        }
        if len(seeds) > 1:
            values = [part[place] for part in seeds if place in part]
            row[f"Mean over {len(seeds)} seeds"] = number(sum(values) / len(values), 4)
            row["Range"] = f"{number(min(values), 4)} to {number(max(values), 4)}"
            value = sum(values) / len(values)
        if place in paper:
            row |= {"Reported": number(paper[place], 4), "Difference": signed(value - paper[place], 4)}
        rows.append(row)
    return pd.DataFrame(rows)


HARDLY = 0.01
"""A change of lambda below this is called hardly any: a hundredth of what the first map weighs, which is 1."""


def moved(track: Track) -> str:
    """How far any lambda of a run came from its first value; that it hardly moved, where that is the finding."""
    changes = {place: max(abs(value - line[0]) for value in line) for place, line in track.curves.lambdas.items()}
    layer, component = max(changes, key=lambda place: changes[place])
    most, where = changes[layer, component], f"λ{subscript(component)} of layer {layer + 1}"
    if most < HARDLY:
        return f"λ hardly moved: by {number(most, 4)} at most ({where}), less than {HARDLY:g} of the first map's 1."
    return f"λ moved by up to {number(most, 3)} ({where}); the first map weighs 1."


def where_it_starts(record: RunRecord) -> str:
    """What the start of lambda rests on, and so what its end can say next to a reported one."""
    part = record.config.model.attention
    if part.mixing != "additive":
        return ""
    if part.start is None:
        return (
            "The paper prints no start: ours was fitted to the λ that it reports after training, so an end near the "
            "reported one is no evidence."
        )
    return f"The paper prints no start; here λ starts at {part.start:g}."


def course_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """Every drawn point: run, seed, epoch, layer, component, head (empty: mean or shared), lambda, change."""
    rows = []
    for track in tracks:
        for (layer, component), line in sorted(track.curves.lambdas.items()):
            lines = [("", line), *((str(h), own) for h, own in enumerate(track.heads.get((layer, component), ()), 1))]
            rows += [
                (track.run, track.seed, epoch, layer + 1, component, head, value, value - values[0])
                for head, values in lines
                for epoch, value in zip(track.curves.lambda_step, values, strict=False)
            ]
    names = ["run", "seed", "epoch", "layer", "component", "head", "lambda", "change"]
    return pd.DataFrame(rows, columns=names)


def loss_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """The validation losses below: run, seed, epoch, loss."""
    rows = [
        (track.run, track.seed, epoch, loss)
        for track in tracks
        for epoch, loss in zip(track.curves.epoch, track.curves.validation_loss, strict=True)
    ]
    return pd.DataFrame(rows, columns=["run", "seed", "epoch", "validation_loss"])


ROOM = 1.3
"""The axis is longer than the training by this: the last values stand there."""
FAINT = 0.18
"""Opacity of a range over seeds."""


def shown(line: Sequence[float], scale: Scale) -> Line:
    """The values, or how far each has moved from the first."""
    start = line[0] if scale == "change" and line else 0.0
    return tuple(value - start for value in line)


def over_seeds(tracks: Sequence[Track], place: Place, scale: Scale) -> tuple[Line, NDArray[np.floating]] | None:
    """Epochs, and minimum, mean and maximum (3, T) over the focus and its siblings; None with fewer than two.

    The others are read at the epochs of the focus, as far as all of them have come.
    """
    lines = [
        (track.curves.lambda_step, shown(track.curves.lambdas[place], scale))
        for index, track in enumerate(tracks)
        if (index == 0 or track.sibling) and track.curves.lambdas.get(place)
    ]
    if len(lines) < 2:
        return None
    end = min(x[-1] for x, _ in lines)
    grid = tuple(x for x in lines[0][0] if x <= end)
    values = np.array([np.interp(grid, x, y) for x, y in lines])
    return grid, np.array([values.min(0), values.mean(0), values.max(0)])


def draw_course(
    tracks: Sequence[Track], look: Look, scale: Scale = "change", reported: Mapping[Place, float] | None = None
) -> go.Figure:
    """A column for each layer, a row for each component, and the validation loss in the last row."""
    focus = tracks[0].curves
    layers = sorted({layer for layer, _ in focus.lambdas})
    components = sorted({component for _, component in focus.lambdas})
    titles = [[f"layer {layer + 1}, λ{subscript(c)}" for layer in layers] for c in components]
    rows = len(components) + 1
    figure = Panels(
        look,
        [*titles, ["validation loss"] * len(layers)],
        height=60 + 200 * rows,
        shared_xaxes="columns",
        horizontal_spacing=0.09,
        vertical_spacing=0.24 / rows,
    )
    marks = {} if scale == "change" or reported is None else dict(reported)
    limits = _limits(tracks, scale, marks)
    for column, layer in enumerate(layers, start=1):
        for row, component in enumerate(components, start=1):
            place = (layer, component)
            if place in focus.lambdas:
                _panel(figure, tracks, place, scale, look, (row, column))
                _reported(figure, marks.get(place), focus.lambdas[place][0], look, (row, column))
                figure.update_yaxes(range=limits[place], row=row, col=column)
        _losses(figure, tracks, look, (rows, column))
    _axes(figure, tracks, look, scale, rows)
    return figure.drawn()


def _axes(figure: Panels, tracks: Sequence[Track], look: Look, scale: Scale, rows: int) -> None:
    epochs = max(track.curves.epochs for track in tracks)
    step = max(1, -(-epochs // 8))
    figure.update_xaxes(range=[0, epochs * ROOM], tickvals=list(range(0, epochs + 1, step)), showticklabels=False)
    figure.update_xaxes(showticklabels=True, title="epoch", row=rows)
    figure.update_yaxes(nticks=5, exponentformat="none")
    losses = [loss for track in tracks for loss in track.curves.validation_loss]
    if losses:
        pad = 0.1 * (max(losses) - min(losses) or max(losses) or 1.0)
        figure.update_yaxes(range=[min(losses) - pad, max(losses) + pad], row=rows)
    if scale == "change":
        for row in range(1, rows):
            figure.add_hline(y=0, line={"color": look.tokens.ink, "width": 1}, layer="below", row=row)
    figure.update_layout(uirevision=LIVE, margin={"r": look.size(12)})


def _limits(tracks: Sequence[Track], scale: Scale, marks: Mapping[Place, float]) -> dict[Place, list[float]]:
    """The same span in every panel, so that a movement looks as large wherever it is; for changes the same range."""
    ends = {}
    for place in tracks[0].curves.lambdas:
        lines = [track.curves.lambdas[place] for track in tracks if track.curves.lambdas.get(place)]
        lines += [line for track in tracks[:1] for line in track.heads.get(place, ())]
        values = [value for line in lines for value in shown(line, scale)]
        values += [marks[place]] if place in marks else []
        ends[place] = (min(values), max(values))
    if scale == "change":
        low, high = min([0.0, *(low for low, _ in ends.values())]), max([0.0, *(high for _, high in ends.values())])
        lack = max(0.0, 2 * SMALLEST_CHANGE - (high - low)) / 2
        pad = lack + 0.075 * (high - low + 2 * lack)
        return {place: [low - pad, high + pad] for place in ends}
    half = 0.62 * max([SMALLEST_CHANGE, *(high - low for low, high in ends.values())])
    return {place: [(low + high) / 2 - half, (low + high) / 2 + half] for place, (low, high) in ends.items()}


def _panel(
    figure: Panels, tracks: Sequence[Track], place: Place, scale: Scale, look: Look, at: tuple[int, int]
) -> None:
    """Behind: other runs and heads; then mean and range over seeds; in front the run in focus."""
    t, (row, column) = look.tokens, at
    form = "+.4f" if scale == "change" else ".4f"
    for track in tracks[1:]:
        if line := track.curves.lambdas.get(place):
            _line(figure, track.curves.lambda_step, shown(line, scale), t.right, look.size(1.2), track.run, form, at)
    for head, line in enumerate(tracks[0].heads.get(place, ()), start=1):
        x = tracks[0].curves.lambda_step
        _line(figure, x, shown(line, scale), t.accent, look.size(1), f"head {head}", form, at, opacity=0.6)
    if seeds := over_seeds(tracks, place, scale):
        grid, (low, mean, high) = seeds
        figure.add_scatter(
            x=[*grid, *reversed(grid)],
            y=[*high, *low[::-1]],
            fill="toself",
            fillcolor=_clear(t.accent),
            line={"width": 0},
            hoverinfo="skip",
            name="range over seeds",
            row=row,
            col=column,
        )
        _line(figure, grid, mean, t.ink, look.size(1.4), "mean over seeds", form, at, dash="dash")
    focus = tracks[0]
    values = shown(focus.curves.lambdas[place], scale)
    _line(figure, focus.curves.lambda_step, values, t.accent, look.size(3), focus.run, form, at)
    text = signed(values[-1], 4) if scale == "change" else number(values[-1], 4)
    _name_line(figure, focus.curves.lambda_step[-1], values[-1], text, look, at)


def _line(
    figure: Panels,
    x: Sequence[float],
    y: Sequence[float] | NDArray[np.floating],
    colour: str,
    width: float,
    name: str,
    form: str,
    at: tuple[int, int],
    *,
    opacity: float | None = None,
    dash: str | None = None,
) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colour, "width": width, "dash": dash},
        opacity=opacity,
        name=escape_text(name),
        hovertemplate=f"{escape_text(name)}<br>epoch %{{x:.1f}}<br>%{{y:{form}}}<extra></extra>",
        row=at[0],
        col=at[1],
    )


def _name_line(figure: Panels, x: float, y: float, text: str, look: Look, at: tuple[int, int]) -> None:
    """On the page's colour, so that the line of zero does not strike it through."""
    look_of = {"font": {"color": look.tokens.accent}, "bgcolor": look.tokens.paper}
    figure.add_annotation(x=x, y=y, text=text, xanchor="left", xshift=6, **look_of, row=at[0], col=at[1])


def _reported(figure: Panels, value: float | None, start: float, look: Look, at: tuple[int, int]) -> None:
    """Named on the side where the curve does not start."""
    if value is None:
        return
    colour = look.tokens.ink
    figure.add_hline(y=value, line={"color": colour, "width": 1, "dash": "dot"}, row=at[0], col=at[1])
    figure.add_annotation(
        x=0, y=value, text=f"reported {number(value, 4)}", xanchor="left", xshift=4, font={"color": look.tokens.muted},
        yanchor="bottom" if value > start else "top", row=at[0], col=at[1],
    )  # fmt: skip


def _losses(figure: Panels, tracks: Sequence[Track], look: Look, at: tuple[int, int]) -> None:
    t = look.tokens
    for index in reversed(range(len(tracks))):  # the focus last, in front
        track, first = tracks[index], index == 0
        figure.add_scatter(
            x=track.curves.epoch,
            y=track.curves.validation_loss,
            mode="lines+markers",
            line={"color": t.accent if first else t.right, "width": look.size(3 if first else 1.2)},
            marker={"size": look.size(7 if first else 4)},
            name=escape_text(track.run),
            hovertemplate=f"{escape_text(track.run)}<br>epoch %{{x:.0f}}<br>loss %{{y:.3f}}<extra></extra>",
            row=at[0],
            col=at[1],
        )
    if tracks[0].curves.epoch:
        last = tracks[0].curves.validation_loss[-1]
        _name_line(figure, tracks[0].curves.epoch[-1], last, number(last), look, at)


def _clear(colour: str) -> str:
    """The same colour, hardly covering."""
    parts = ",".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({parts},{FAINT})"


@dataclass(frozen=True)
class Course:
    """How the lambdas of several training runs moved."""

    tracks: tuple[Track, ...]
    """The run in focus first."""
    scale: Scale
    reported: Mapping[Place, float]
    """Where the paper's ended."""
    records: Mapping[str, RunRecord]
    """Of the tracks, by name."""
    skipped: Mapping[str, int]
    """Damaged lines of each history that has some."""


COURSE_READING = {
    "change": (
        "Upwards: how far lambda has moved since the first step, on one scale for all panels, as it is often "
        "thousandths. Thick: this run; grey: the others; band and dashes: range and mean over seeds."
    ),
    "value": (
        "Upwards: lambda itself; every panel spans the same amount around its own values, so a movement looks as "
        "large wherever it is. Thick: this run; grey: the others; band and dashes: range and mean over seeds; dotted:"
        " the reported end."
    ),
}
SCALE = Option(
    "course",
    "Scale",
    lambda source: ("change", "value"),
    "Change since the first step, or lambda itself",
    words=lambda source, scale: "",
    endings={"change": "", "value": "-value"},
)


def compared(source: Source) -> list[str]:
    """The runs that stand behind the one in focus: those that were chosen, or those that differ in their seed only."""
    there = [one for one in source.reader.runs() if one.run != source.record.run and has_lambda(one)]
    if "runs" not in source.choices:
        return other_seeds(source.record, there)
    names = {one.run for one in there}
    return [name for name in source.choices["runs"] if name in names]


def course(source: Source) -> Course:
    """The course of a run's lambdas, with those of the runs it is compared with.

    Raises:
        NotAvailable: it has logged none.
    """
    logged_lambdas(source)
    record, reader = source.record, source.reader
    records = {one.run: one for one in (record, *reader.runs()) if one.run == record.run or has_lambda(one)}
    others = [records[name] for name in compared(source)]
    siblings = other_seeds(record, others)
    tracks, skipped = [], {}
    for one in (record, *others):
        curves, lost = reader.curves(one)
        heads = reader.lambda_heads(one) if one is record else {}
        tracks.append(Track(one.run, one.config.training.seed, curves, one.run in siblings, heads))
        if lost:
            skipped[one.run] = lost
    reported = reported_places(counterpart(record.preset, record.config))
    scale: Scale = "value" if source.chosen(SCALE) == "value" else "change"
    return Course(tuple(tracks), scale, reported, {track.run: records[track.run] for track in tracks}, skipped)


def _note(course: Course) -> str:
    return f"{course.scale}, {count(len(course.tracks))} runs" if len(course.tracks) > 1 else course.scale


def course_tables(course: Course) -> dict[str, pd.DataFrame]:
    """Every drawn point, and where each lambda ended."""
    return {
        "Course": course_table(course.tracks),
        "Losses": loss_table(course.tracks),
        "Final values": _final(course),
    }


COURSE = Figure(
    "course",
    "lambdas",
    "Course of lambda",
    course,
    lambda course, look: draw_course(course.tracks, look, course.scale, course.reported),
    note=_note,
    reading=lambda course: f"{moved(course.tracks[0])} {COURSE_READING[course.scale]}",
    how=(
        "Lambda is logged with the training loss. The band spans the smallest and largest value over runs that differ"
        " only in their seed, the dashed line is their mean. The validation loss below has the same axis."
    ),
    options=(SCALE,),
    spread=(SCALE,),
    tables=course_tables,
)


def _rests_on(course: Course) -> str:
    seeds = 1 + sum(track.sibling for track in course.tracks[1:])
    return f"over {seeds} seeds" if seeds > 1 else "one seed"


KEPT = "Values of the weights that a run kept, those of its best epoch: the curves may go on behind it."
COMPARED = (
    "Values of the weights that a run kept (its best epoch); the difference is ours, over seeds where there are "
    "several, less the reported value. The paper prints one run and no deviations."
)


def _final_reading(course: Course) -> str:
    record = course.records[course.tracks[0].run]
    paper = counterpart(record.preset, record.config)
    if paper is None or not course.reported:
        reason = no_counterpart(record.preset, record.config)
        none = f"No reported values to compare them with. {reason or 'The paper prints no lambda of this model.'}"
        return f"{KEPT} {none}"
    reported = f"Reported: NDT, arXiv 2603.20704, Table {paper.tables[-1]}, {paper.dataset}. {paper.note}"
    return f"{COMPARED} {where_it_starts(record)} {reported}"


def _final(course: Course) -> pd.DataFrame:
    return final_table(course.tracks, course.records, course.reported)


FINAL = Figure(
    "final-values",
    "lambdas",
    "Final values",
    course,
    lambda course, look: Table(_final(course), narrow=True),
    note=_rests_on,
    reading=_final_reading,
    tables=lambda course: {"Final values": _final(course)},
)
