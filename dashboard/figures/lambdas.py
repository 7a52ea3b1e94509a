"""Course of the learned weights λ of attention maps in several training runs, above their validation losses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.config import RunConfig
from core.exceptions import NotAvailable
from core.formatting import count, format_subscript, number, signed
from core.models.capabilities import list_capabilities
from core.papers.reported_results import Counterpart, explain_unmatched, find_counterpart
from core.runs.record import RunRecord
from dashboard.figures.drawing import DataTable, Panels, escape_text
from dashboard.figures.figure import Figure, QuietOption, Source
from dashboard.figures.theme import Look, blend_colors
from dashboard.figures.training_curves import CLICKABLE, LIVE, read_curves
from dashboard.figures.training_log import Curves, Line, Place

Scale = Literal["change", "value"]
Floats = Sequence[float] | NDArray[np.floating]
At = Mapping[str, int]  # row and column of a panel, as Plotly names them
HARDLY = 0.01  # largest change of λ that counts as hardly any: 1 % of the first map's weight before a row norm, 1
SMALLEST_CHANGE = 1e-3  # least range of the panels that show changes
ROOM = 1.3  # length of the epoch axis, relative to the training; labels of the last values need room
FAINT = 0.18  # opacity of a range over seeds
COURSE_READING = {"change": "Change since the first step.", "value": "λ itself."}
KEPT = "Values of the best epoch. No paper reports values for this run."
COMPARED = "Values of the best epoch. Difference: ours (mean over seeds) minus reported."


@dataclass(frozen=True)
class Track:
    """One of the training runs whose λ (attention map weights) are drawn over epochs, with its curves."""

    run: str
    seed: int
    curves: Curves
    sibling: bool = False  # differs from the main run only in the seed
    heads: Mapping[Place, tuple[Line, ...]] = field(default_factory=dict)
    """A line for each head if each head has its own λ; `curves` then has their mean."""
    label: str = ""  # the displayed name of the run; empty: its id
    normed: bool = False  # the weights of a layer's maps are divided by their sum

    @property
    def name(self) -> str:
        """Return the name of a drawn run."""
        return self.label or self.run

    @property
    def shares(self) -> dict[Place, Line]:
        """Return the share of each map, the first included, in the weights of its layer: (layer, map from 0) → line."""
        found: dict[Place, Line] = {}
        for layer in sorted({layer for layer, _ in self.curves.lambdas}):
            own = [line for (at, _), line in sorted(self.curves.lambdas.items()) if at == layer]
            weights = np.abs([[1.0] * len(own[0]), *own])
            found |= {(layer, i): tuple(row) for i, row in enumerate((weights / weights.sum(0)).tolist())}
        return found


def has_lambda(record: RunRecord) -> bool:
    """Tell whether a run's kind of model has λ, the learned weights of further attention maps."""
    return record.status != "damaged" and "lambda" in list_capabilities(record.config.model)


def find_other_seeds(record: RunRecord, others: Sequence[RunRecord]) -> list[str]:
    """Return the names of the runs that differ from a run only in the seed; of runs with one seed, only the first."""

    def get_settings(one: RunRecord) -> tuple[str, RunConfig]:
        return one.preset, replace(
            one.config, training=replace(one.config.training, seed=0, threads=0, keep=0, device="auto")
        )

    found: dict[int, str] = {record.config.training.seed: record.run}
    for one in others:
        if get_settings(one) == get_settings(record):
            found.setdefault(one.config.training.seed, one.run)
    return [run for run in found.values() if run != record.run]


def read_final_lambdas(record: RunRecord, track: Track) -> dict[Place, float]:
    """Return a run's final λ (attention map weights): saved ones, or while it is training the last logged ones."""
    last = {place: line[-1] for place, line in track.curves.lambdas.items() if line}
    return _map_places(record.results.get("lambda") or ()) or last


def map_reported(found: Counterpart | None) -> dict[Place, float]:
    """Return the λ (attention map weights) that a paper reports, as (layer from 0, map from 1) → value."""
    return _map_places(found.lambdas if found else ())


def _map_places(layers: Sequence[Sequence[float]]) -> dict[Place, float]:
    return {(i, j): value for i, layer in enumerate(layers) for j, value in enumerate(layer, start=1)}


def build_final_table(
    tracks: Sequence[Track], records: Mapping[str, RunRecord], paper: Mapping[Place, float]
) -> pd.DataFrame:
    """Return a table of λ (map weights) by layer: start, learned value, range over seeds, paper's value, difference."""
    focus, *others = tracks
    own, rows = read_final_lambdas(records[focus.run], focus), []
    seeds = [own, *(read_final_lambdas(records[track.run], track) for track in others if track.sibling)]
    for place, line in sorted(focus.curves.lambdas.items()):
        value = own.get(place, line[-1])
        row: dict[str, object] = {"Layer": place[0] + 1, "λ": f"λ{format_subscript(place[1])}"}
        row |= {"At the start": number(line[0], 4), "This run": number(value, 4)}
        if len(seeds) > 1:
            values = [part[place] for part in seeds if place in part]
            value = sum(values) / len(values)
            row |= {f"Mean over {len(seeds)} seeds": number(value, 4)}
            row |= {"Range": f"{number(min(values), 4)} to {number(max(values), 4)}"}
        if place in paper:
            row |= {"Reported": number(paper[place], 4), "Difference": signed(value - paper[place], 4)}
        rows.append(row)
    return pd.DataFrame(rows)


def describe_change(track: Track) -> str:
    """Return a sentence on the largest change of any λ (attention map weight) of a run since its first value."""
    changes = {place: max(abs(value - line[0]) for value in line) for place, line in track.curves.lambdas.items()}
    layer, component = max(changes, key=lambda place: changes[place])
    most, where = changes[layer, component], f"λ{format_subscript(component)} of layer {layer + 1}"
    if most < HARDLY:
        moved = f"hardly moved: by at most {number(most, 4)} ({where})" if most >= 5e-5 else "has not moved"
    else:
        moved = f"moved by up to {number(most, 3)} ({where})"
    if not track.normed:
        return f"λ {moved}. The first map has weight 1."
    shares = [f"{number(100 * line[-1], 0)} (layer {at + 1})" for (at, i), line in track.shares.items() if i == 0]
    return f"λ {moved}. Weights are shares of their sum: the first map has {', '.join(shares)} of 100."


def describe_start(record: RunRecord) -> str:
    """Return a sentence on how λ's start value was chosen, and whether the final value is evidence for the paper's."""
    part = record.config.model.attention
    if part.mixing != "additive":
        return ""
    if part.start is None:
        fitted = "Ours was fitted to its reported final λ, so a final λ near it is no evidence."
        return f"The paper gives no start value. {fitted}"
    return f"The paper gives no start value; here λ starts at {part.start:g}."


def build_course_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """Return a table with every drawn point of λ curves: run, seed, epoch, layer, attention map, head, λ, change."""
    names = ["run", "seed", "epoch", "layer", "component", "head", "lambda", "change"]
    rows = [
        (track.run, track.seed, epoch, layer + 1, component, head and str(head), value, value - values[0])
        for track in tracks
        for (layer, component), line in sorted(track.curves.lambdas.items())
        for head, values in [("", line), *enumerate(track.heads.get((layer, component), ()), start=1)]
        for epoch, value in zip(track.curves.lambda_step, values, strict=False)
    ]
    return pd.DataFrame(rows, columns=names)


def build_loss_table(tracks: Sequence[Track]) -> pd.DataFrame:
    """Return the validation losses of several training runs as a table: run, seed, epoch, loss."""
    rows = [
        (track.run, track.seed, epoch, loss)
        for track in tracks
        for epoch, loss in zip(track.curves.epoch, track.curves.validation_loss, strict=True)
    ]
    return pd.DataFrame(rows, columns=["run", "seed", "epoch", "validation_loss"])


def scale_line(line: Sequence[float], scale: Scale) -> Line:
    """Return the values of a λ curve, unchanged or as differences from the first value."""
    start = line[0] if scale == "change" and line else 0.0
    return tuple(value - start for value in line)


def summarize_seeds(tracks: Sequence[Track], place: Place, scale: Scale) -> tuple[Line, NDArray[np.floating]] | None:
    """Return the epochs, and min, mean and max (3, T) of one λ over seeds; None if only one run has this λ.

    Other runs are interpolated at the epochs of the main run, up to the last epoch that all runs have reached.
    """
    lines = [
        (track.curves.lambda_step, scale_line(track.curves.lambdas[place], scale))
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
    """Draw map weights λ over epochs, a panel for each layer (column) and map (row), and below them validation loss."""
    focus = tracks[0].curves
    layers = sorted({layer for layer, _ in focus.lambdas})
    components = sorted({component for _, component in focus.lambdas})
    titles = [[f"layer {layer + 1}, λ{format_subscript(c)}" for layer in layers] for c in components]
    rows = len(components) + 1
    height, gap = (350, 0.56) if look.projector else (60 + 170 * rows, 0.36)
    space = {"horizontal_spacing": 0.09, "vertical_spacing": gap / rows, "shared_xaxes": "columns"}
    below = ["validation loss", *[""] * (len(layers) - 1)]
    figure = Panels(look, [*titles, below], height=height, **space)
    marks = {} if scale == "change" or reported is None else dict(reported)
    limits = _choose_limits(tracks, scale, marks)
    for column, layer in enumerate(layers, start=1):
        for row, component in enumerate(components, start=1):
            place, at = (layer, component), {"row": row, "col": column}
            if place in focus.lambdas:
                _draw_panel(figure, tracks, place, scale, look, at)
                if (value := marks.get(place)) is not None:  # labelled on the side away from the curve's start
                    figure.add_hline(y=value, line={"color": look.tokens.ink, "width": 1, "dash": "dot"}, **at)
                    side: dict[str, Any] = {"x": 0, "y": value, "xanchor": "left", "xshift": 4}
                    side |= {"yanchor": "bottom" if value > focus.lambdas[place][0] else "top"}
                    text, font = f"reported {number(value, 4)}", {"color": look.tokens.muted}
                    figure.add_annotation(text=text, font=font, **side, **at)
                figure.update_yaxes(range=limits[place], **at)
        if column > 1:
            figure.update_xaxes(visible=False, row=rows, col=column)
            figure.update_yaxes(visible=False, row=rows, col=column)
    _draw_losses(figure, tracks, look, {"row": rows, "col": 1})
    figure.update_xaxes(domain=[0, 1], row=rows, col=1)
    _format_axes(figure, tracks, look, scale, rows)
    return figure.build_figure()


def _format_axes(figure: Panels, tracks: Sequence[Track], look: Look, scale: Scale, rows: int) -> None:
    epochs = max(track.curves.epochs for track in tracks)
    step = max(1, -(-epochs // 8))
    figure.update_xaxes(range=[0, epochs * ROOM], tickvals=list(range(0, epochs + 1, step)), showticklabels=False)
    figure.update_xaxes(showticklabels=True, row=rows - 1)
    figure.update_xaxes(showticklabels=True, title="epoch", row=rows)
    figure.update_yaxes(nticks=5, exponentformat="none")
    losses = [loss for track in tracks for loss in track.curves.validation_loss]
    if losses:
        pad = 0.1 * (max(losses) - min(losses) or max(losses) or 1.0)
        figure.update_yaxes(range=[min(losses) - pad, max(losses) + pad], row=rows)
    if scale == "change":
        for row in range(1, rows):
            figure.add_hline(y=0, line={"color": look.tokens.ink, "width": 1}, layer="below", row=row)
    figure.update_layout(uirevision=LIVE, margin={"r": look.scale_size(12)})


def _choose_limits(tracks: Sequence[Track], scale: Scale, marks: Mapping[Place, float]) -> dict[Place, list[float]]:
    """Return axis limits for each λ panel, all of equal length so that equal changes of λ look equally large."""
    ends = {}
    for place in tracks[0].curves.lambdas:
        lines = [track.curves.lambdas[place] for track in tracks if track.curves.lambdas.get(place)]
        values = [value for line in (*lines, *tracks[0].heads.get(place, ())) for value in scale_line(line, scale)]
        values += [marks[place]] if place in marks else []
        ends[place] = (min(values), max(values))
    if scale == "change":
        low, high = min([0.0, *(low for low, _ in ends.values())]), max([0.0, *(high for _, high in ends.values())])
        lack = max(0.0, 2 * SMALLEST_CHANGE - (high - low)) / 2
        pad = lack + 0.075 * (high - low + 2 * lack)
        return {place: [low - pad, high + pad] for place in ends}
    half = 0.62 * max([SMALLEST_CHANGE, *(high - low for low, high in ends.values())])
    return {place: [(low + high) / 2 - half, (low + high) / 2 + half] for place, (low, high) in ends.items()}


def _draw_panel(figure: Panels, tracks: Sequence[Track], place: Place, scale: Scale, look: Look, at: At) -> None:
    """Draw a panel of λ curves, back to front: other runs and heads, mean and range over seeds, the main run."""
    t, focus, size = look.tokens, tracks[0], look.scale_size

    def draw_line(x: Sequence[float], y: Floats, name: str, color: str, width: float, **more: Any) -> None:
        name, form = escape_text(name), "+.4f" if scale == "change" else ".4f"
        line = {"color": color, "width": width, "dash": more.pop("dash", None)}
        hover = f"{name}<br>epoch %{{x:.1f}}<br>%{{y:{form}}}"
        figure.add_scatter(x=x, y=y, mode=more.pop("mode", "lines"), line=line, name=name, hover=hover, **more, **at)

    for track in tracks[1:]:
        if line := track.curves.lambdas.get(place):
            draw_line(track.curves.lambda_step, scale_line(line, scale), track.name, t.right, size(1.2))
    x = focus.curves.lambda_step
    for head, line in enumerate(focus.heads.get(place, ()), start=1):
        draw_line(x, scale_line(line, scale), f"head {head}", t.accent, size(1), opacity=0.6)
    if seeds := summarize_seeds(tracks, place, scale):
        grid, (low, mean, high) = seeds
        clear = f"rgba({','.join(str(int(t.accent[i : i + 2], 16)) for i in (1, 3, 5))},{FAINT})"
        band: dict[str, Any] = {"fill": "toself", "fillcolor": clear, "line": {"width": 0}, **at}
        band |= {"x": [*grid, *grid[::-1]], "y": [*high, *low[::-1]], "hoverinfo": "skip"}
        figure.add_scatter(name="range over seeds", **band)
        draw_line(grid, mean, "mean over seeds", t.ink, size(1.4), dash="dash")
    values = scale_line(focus.curves.lambdas[place], scale)
    draw_line(x, values, focus.name, t.accent, size(3), **CLICKABLE)
    last = signed(values[-1], 4) if scale == "change" else number(values[-1], 4)
    _name_line(figure, x[-1], values[-1], last, look, at)


def _name_line(figure: Panels, x: float, y: float, text: str, look: Look, at: At) -> None:
    """Write a curve's last value next to its end, on a background that hides the zero line."""
    look_of: dict[str, Any] = {"font": {"color": look.tokens.accent}, "bgcolor": look.tokens.paper}
    figure.add_annotation(x=x, y=y, text=text, xanchor="left", xshift=6, **look_of, **at)


def _draw_losses(figure: Panels, tracks: Sequence[Track], look: Look, at: At) -> None:
    t, focus = look.tokens, tracks[0].curves
    for track in reversed(tracks):  # the main run last, in front
        first, name = track is tracks[0], escape_text(track.name)
        line = {"color": t.accent if first else t.right, "width": look.scale_size(3 if first else 1.2)}
        own: dict[str, Any] = {"mode": "lines+markers", "line": line, "name": name}
        own |= {"marker": {"size": look.scale_size(7 if first else 4)}}
        own |= {"hovertemplate": f"{name}<br>epoch %{{x:.0f}}<br>loss %{{y:.3f}}<extra></extra>"}
        figure.add_scatter(x=track.curves.epoch, y=track.curves.validation_loss, **own, **at)
    if focus.epoch:
        last = focus.validation_loss[-1]
        _name_line(figure, focus.epoch[-1], last, number(last), look, at)


@dataclass(frozen=True)
class Course:
    """Course of λ (attention map weights) in several training runs, with the values that a paper reports."""

    tracks: tuple[Track, ...]  # the main run first
    scale: Scale
    reported: Mapping[Place, float]  # final λ in the paper
    records: Mapping[str, RunRecord]  # by run name
    skipped: Mapping[str, int]  # run → number of damaged lines in its history, if any

    @property
    def final(self) -> pd.DataFrame:
        """Return the final value of each λ as a table."""
        return build_final_table(self.tracks, self.records, self.reported)


SCALE = QuietOption(
    "course",
    "Scale",
    lambda source: ("change", "value"),
    "Change since the first step, or λ itself",
    endings={"change": "", "value": "-value"},
)


def read_course(source: Source) -> Course:
    """Read the λ curves of a run and of the chosen ones, else those of other seeds; NotAvailable: no λ was logged."""
    record, reader = source.record, source.reader
    if not reader.read_curves(record)[0].lambdas:
        read_curves(source)
        raise NotAvailable(f"{record.preset} has no lambda")
    there = {one.run: one for one in reader.list_runs() if one.run != record.run and has_lambda(one)}
    chosen = source.choices.get("runs", find_other_seeds(record, [*there.values()]))
    others = [there[name] for name in chosen if name in there]
    siblings = find_other_seeds(record, others)
    tracks, skipped = [], {}
    for one in (record, *others):
        curves, lost = reader.read_curves(one)
        heads = reader.read_head_lambdas(one) if one is record else {}
        label = reader.label_run(one.run)
        normed = one.config.model.attention.row_norm
        tracks.append(Track(one.run, one.config.training.seed, curves, one.run in siblings, heads, label, normed))
        if lost:
            skipped[one.run] = lost
    reported = map_reported(find_counterpart(record.preset, record.config))
    scale: Scale = "value" if source.get_choice(SCALE) == "value" else "change"
    return Course(tuple(tracks), scale, reported, {one.run: one for one in (record, *others)}, skipped)


def write_course_caption(course: Course) -> str:
    """Return how far λ moved, what the curves show, and which line is which if there are several."""
    others = " Thick: this run; grey: others." * (len(course.tracks) > 1)
    dotted = " Dotted: reported final λ." * bool(course.scale == "value" and course.reported)
    return f"{describe_change(course.tracks[0])} {COURSE_READING[course.scale]}{others}{dotted}"


COURSE = Figure(
    "course",
    "attention",
    "λ during training",
    read_course,
    lambda course, look: draw_course(course.tracks, look, course.scale, course.reported),
    note=lambda course: course.scale + (f", {count(len(course.tracks))} runs" if len(course.tracks) > 1 else ""),
    reading=write_course_caption,
    finding=lambda course: describe_change(course.tracks[0]).partition(". ")[0].removesuffix(".") + ".",
    how="λ is logged with the training loss. All panels span the same amount, so movements can be compared. Band: "
    "smallest to largest value over runs that differ only in their seed; dashed: their mean.",
    options=(SCALE,),
    spread=(SCALE,),
    tables=lambda course: {
        "Course": build_course_table(course.tracks),
        "Losses": build_loss_table(course.tracks),
        "Final values": course.final,
    },
)


def build_share_table(track: Track) -> pd.DataFrame:
    """Return the shares of all maps as a table with a row for each drawn epoch."""
    lines = {f"layer {layer + 1}, A{i}": line for (layer, i), line in track.shares.items()}
    return pd.DataFrame({"epoch": track.curves.lambda_step, **lines})


def draw_shares(track: Track, look: Look) -> go.Figure:
    """Draw the shares of a layer's maps over epochs, stacked from the first map, a panel for each layer."""
    shares, t, x = track.shares, look.tokens, track.curves.lambda_step
    layers, maps = (max(place[of] for place in shares) + 1 for of in (0, 1))
    titles = [f"layer {layer + 1}" for layer in range(layers)]
    figure = Panels(look, [titles], height=270, horizontal_spacing=0.09)
    for (layer, i), line in shares.items():
        name, at, ink = f"A{format_subscript(i)}", {"row": 1, "col": layer + 1}, 0.08 + 0.3 * (i + 1) / maps
        style: dict[str, Any] = {"mode": "lines", "line": {"width": 1, "color": t.ink}, "stackgroup": "maps"}
        style |= {"fillcolor": blend_colors(t.paper, t.ink, ink), "hover": f"{name}<br>%{{y:.0f}}"}
        figure.add_scatter(x=x, y=[100 * each for each in line], name=name, **style, **at)
        middle = 100 * (sum(shares[layer, j][-1] for j in range(i)) + line[-1] / 2)
        _name_line(figure, x[-1], middle, f"{name} {number(100 * line[-1], 0)}", look, at)
    ticks = list(range(0, track.curves.epochs + 1, max(1, -(-track.curves.epochs // 8))))
    figure.update_xaxes(title="epoch", range=[0, track.curves.epochs * ROOM], tickvals=ticks)
    figure.update_yaxes(range=[0, 100], tickvals=[0, 50, 100])
    return figure.build_figure()


def _read_shares(source: Source) -> Track:
    if not source.record.config.model.attention.row_norm:
        raise NotAvailable("its weights are not divided by their sum, so λ itself says how much a map weighs")
    return read_course(source).tracks[0]


SHARES = Figure(
    "map-shares",
    "attention",
    "Share of each map",
    _read_shares,
    draw_shares,
    note="of 100, stacked",
    reading="All maps of a layer, the first at the bottom. Numbers: shares at the end.",
    finding=describe_change,
    how="This model divides the weights 1, λ₁, λ₂ … of a layer by the sum of their magnitudes, so a large λ takes "
    "weight from the other maps. Mean over heads if each has its own λ.",
    tables=lambda track: {"Shares": build_share_table(track)},
)


def _explain_final(course: Course) -> str:
    record = course.records[course.tracks[0].run]
    paper = find_counterpart(record.preset, record.config)
    if paper is None or not course.reported:
        reason = explain_unmatched(record.preset, record.config)
        return f"{reason or 'The paper gives no λ for this model.'} The curves may continue after the best epoch."
    source = f"Reported: NDT, arXiv 2603.20704, Table {paper.tables[-1]}, {paper.dataset}, one run without deviations."
    return f"{describe_start(record)} {source} {paper.note}".strip()


FINAL = Figure(
    "final-values",
    "attention",
    "Final λ",
    read_course,
    lambda course, look: DataTable(course.final, narrow=True),
    note=lambda course: (
        f"over {seeds} seeds" if (seeds := 1 + sum(track.sibling for track in course.tracks[1:])) > 1 else "one seed"
    ),
    reading=lambda course: COMPARED if course.reported else KEPT,
    how=_explain_final,
    tables=lambda course: {"Final values": course.final},
)
