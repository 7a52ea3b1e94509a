"""Results of a sweep (many runs over a grid of settings): dots of runs and means, and a table."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.evaluation.significance import METHOD
from core.formatting import count, format_duration, number, signed
from core.runs.sweep import STATES, TOGETHER, Plan, State
from core.runs.sweep_drive import SweepState
from core.text.graphemes import clip_text
from dashboard.figures.drawing import DataTable, Panels, TableColumn, escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.theme import Look

LONGEST = 44  # most characters of a cell's name next to its row
WORDS: dict[State, str] = {"waiting": "not started", "running": "training"}


@dataclass(frozen=True)
class CellScores:
    """Scores of one setting in a sweep: the scores of its runs, and of TF-IDF on the same data."""

    label: str
    values: tuple[float, ...]
    runs: tuple[str, ...]  # names, one per value
    mean: float
    deviation: float | None
    yardstick: float | None


def describe_counts(found: SweepState, but: str = "") -> str:
    """Describe how many runs of a sweep are in each state, `3 done, 2 training, 7 not started`, `but` left out."""
    known = (each for each in STATES if found.counts[each] and each != but)
    present = sorted(known, key=lambda each: each != "done")
    return ", ".join(f"{count(found.counts[each])} {WORDS.get(each, each)}" for each in present)


def describe_time_left(found: SweepState) -> str:
    """Describe how long the runs of a sweep that are not finished will take."""
    known = f"about {format_duration(found.seconds_left)}" if found.seconds_left else ""
    unknown = f"{count(found.unknown)} runs without an estimate" if found.unknown else ""
    return ", and ".join(filter(None, (known, unknown)))


def write_command(plan: Plan, written: Callable[[str], str] = str) -> str:
    """Return the command line that starts a sweep; the function `written` converts data set names for display."""
    parts = ["sentiscope", "sweep", plan.name, f"--model={','.join(plan.models)}"]
    parts += [f"--data={written(name)}" for name in plan.data]
    quoted = {name: [f'"{value}"' if "," in value else value for value in values] for name, values in plan.grid.items()}
    parts += [f"--grid={name}={','.join(values)}" for name, values in quoted.items()]
    parts += [f"--set={name}={value}" for name, value in plan.settings.items()]
    seeds = plan.seeds == tuple(range(len(plan.seeds)))
    parts.append(f"--seeds={len(plan.seeds) if seeds else ','.join(map(str, plan.seeds)) + ','}")
    parts += [f"--folds={plan.folds}"] if plan.folds else []
    parts += [f"--recipe={plan.recipe}"] if plan.recipe else []
    return shlex.join(parts)


def build_table_frame(table: Mapping[str, Any]) -> pd.DataFrame:
    """Return the results of a sweep as a table: the first metric with comparisons of settings, then other metrics."""
    first, *others = table["metrics"]
    rows = []
    for row in table["rows"]:
        line = {"cell": row["label"], "runs": f"{row['n']} of {row['of']}"}
        line[first["title"]] = _format_summary(row["metrics"].get(first["name"]))
        if seeds := table["together"]:
            line[seeds["title"]] = _format_summary(row["together"].get(seeds["name"]))
        line["TF-IDF"] = _format_summary(row["yardstick"].get(first["name"]))
        line["difference"] = _format_difference(row["versus_yardstick"].get(first["name"]))
        if table["baseline"]:
            line["to baseline"] = _format_difference(row["versus_baseline"].get(first["name"]))
        line |= {each["title"]: _format_summary(row["metrics"].get(each["name"])) for each in others}
        line["parameters"] = "" if row["parameters"] is None else count(row["parameters"])
        line["time"] = "" if row["seconds"] is None else format_duration(row["seconds"]["mean"])
        rows.append(line)
    return pd.DataFrame(rows)


def list_chart_cells(table: Mapping[str, Any], metric: str) -> list[CellScores]:
    """Return the settings of a sweep that have a finished run, with their scores by one metric."""
    found = []
    for row in table["rows"]:
        if summary := row["metrics"].get(metric):
            done = [(each["metrics"].get(metric), each["run"]) for each in row["members"] if each["state"] == "done"]
            known = [(value, run) for value, run in done if value is not None]
            values, runs = (tuple(each[at] for each in known) for at in (0, 1))
            spread, beside = (summary["mean"], summary["deviation"]), row["yardstick"].get(metric)
            found.append(CellScores(row["label"], values, runs, *spread, beside and beside["mean"]))
    return found


def build_member_frame(table: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for every run of a sweep, for a table and for CSV."""
    names, first = [metric["name"] for metric in table["metrics"]], ("seed", "fold", "state")
    rows = [
        [each["run"], row["label"], *map(each.get, first), *map(each["metrics"].get, names), each["reason"]]
        for row in table["rows"]
        for each in row["members"]
    ]
    return pd.DataFrame(rows, columns=["run", "cell", "seed", "fold", "status", *names, "reason"])


def _format_summary(summary: Mapping[str, Any] | None) -> str:
    return "" if summary is None else _format_mean(summary["mean"], summary["deviation"] or None)


def _format_mean(mean: float, deviation: float | None) -> str:
    return number(mean) + ("" if deviation is None else f" ± {number(deviation)}")


def _format_difference(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    interval = f" ({signed(found['low'], 3)} to {signed(found['high'], 3)})" if found.get("low") is not None else ""
    return f"{signed(found['difference'], 3)}{interval}{' *' if found.get('significant') else ''}"


@dataclass(frozen=True)
class Members:
    """Settings of a sweep with the scores of their runs by one metric."""

    cells: Sequence[CellScores]
    metric: str


def draw_members(shown: Members, look: Look) -> go.Figure:
    """Draw one line for each setting of a sweep: dots are runs, a large dot is their mean, a ring is TF-IDF."""
    t, size, cells = look.tokens, look.scale_size, shown.cells
    figure = Panels(look, [[""]], height=64 + (20 if look.projector else 34) * len(cells))
    places = list(range(len(cells)))
    known = [(cell.yardstick, place) for place, cell in enumerate(cells) if cell.yardstick is not None]
    ring = {"dots": (t.ink, 13, "circle-open"), "marker": {"line": {"width": size(1.6)}}}
    x, y = ([each[at] for each in known] for at in (0, 1))
    figure.add_scatter(x=x, y=y, hover="TF-IDF %{x:.3f}", **ring)
    spread = {"array": [cell.deviation or 0 for cell in cells], "color": t.accent, "thickness": size(1.8), "width": 0}
    means: dict[str, Any] = {"x": [cell.mean for cell in cells], "y": places, "error_x": spread}
    means |= {"customdata": [[_format_mean(cell.mean, cell.deviation), len(cell.values)] for cell in cells]}
    figure.add_scatter(dots=(t.accent, 11), hover="mean %{customdata[0]}<br>n = %{customdata[1]}", **means)
    x, names = ([each for cell in cells for each in getattr(cell, of)] for of in ("values", "runs"))
    y = [place for place, cell in enumerate(cells) for _ in cell.values]
    single = {"dots": (t.muted, 6), "marker": {"line": {"width": 1, "color": t.paper}}}
    figure.add_scatter(x=x, y=y, customdata=[*map(escape_text, names)], hover="%{customdata}: %{x:.3f}", **single)
    names = [escape_text(clip_text(cell.label, LONGEST)) for cell in cells]
    figure.update_xaxes(title=escape_text(shown.metric), showgrid=True, tickformat=".3f", nticks=8)
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(cells) - 0.5, -0.5], tickfont={"color": t.ink})
    figure.update_layout(margin={"t": 8})
    return figure.build_figure()


def describe_best(shown: Members) -> str:
    """Describe in a sentence which settings of a sweep have the two highest means."""
    best, *others = sorted(shown.cells, key=lambda cell: -cell.mean)
    metric = shown.metric[:1].lower() + shown.metric[1:] if shown.metric[1:2].islower() else shown.metric
    if others and len({number(cell.mean) for cell in shown.cells}) == 1:
        return f"All {count(len(shown.cells))} settings have the same mean {metric}, {number(best.mean)}."
    told = f"{best.label} has the highest mean {metric}, {number(best.mean)}"
    return f"{told}; {others[0].label} follows with {number(others[0].mean)}." if others else f"{told}."


def describe_baseline(shown: Members) -> str:
    """Describe how many settings of a sweep have a mean below TF-IDF on the same data."""
    known = [cell for cell in shown.cells if cell.yardstick is not None]
    below = sum(cell.mean < cell.yardstick for cell in known if cell.yardstick is not None)
    return f"{count(below)} of {count(len(known))} settings stay below TF-IDF."


MEMBERS = Figure[Members]("sweep", "sweeps", lambda shown: shown.metric, None, draw_members).add_details(
    reading="Small dots: runs. Large dot: mean ± standard deviation. Ring: TF-IDF.",
    how="Measured on the test split of each run. The ring is TF-IDF with logistic regression on the same training "
    "texts. Runs that differ only in their seed share their test texts: their deviation says nothing about "
    "other texts.",
)

TITLES = {"cell": "Setting", "difference": "Difference from TF-IDF"}


def _draw_table(rows: pd.DataFrame, look: Look) -> DataTable:
    about = "Prediction from the mean probabilities of all seeds."
    columns = {}
    for name in map(str, rows):
        title = TITLES.get(name, name[:1].upper() + name[1:])
        help = about if TOGETHER in name else ""
        columns[name] = TableColumn(title, help, alignment="left" if name == "cell" else "right")
    return DataTable(rows, columns)


TABLE = Figure[pd.DataFrame]("sweep-table", "sweeps", "Table", None, _draw_table).add_details(
    note=lambda rows: f"{count(len(rows))} settings",
    reading=lambda rows: (
        "±: standard deviation."
        + " Brackets: 95 % interval." * any("(" in each for each in rows["difference"])
        + " Star: significant at 5 %."
    ),
    how=METHOD,
)
