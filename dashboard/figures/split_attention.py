"""Attention over a whole split: maps by layer and head, mass on kinds of tokens, distances, gates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, format_subscript, number
from core.interpret import attention_findings as findings
from core.models.capabilities import list_capabilities
from core.runs import attention_files
from core.runs.record import RunRecord
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import INSIDE, Panels, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Option, Source, make_interval_figure
from dashboard.figures.interval_table import ColumnSpec, IntervalTable, Mark, make_axis
from dashboard.figures.theme import Look, blend_colors

PAGE = "attention"
SHOWN = 20  # most rows of a table; the CSV has all
MEASURES = {
    "entropy share": "Entropy (share of uniform)",
    "effective keys": "Effective number of keys",
    "tokens": "Distance in tokens",
    "received entropy share": "Entropy received (share of uniform)",
}
"""Measures of maps → name in headings."""
IN_MENU = {"entropy": "entropy share", "effective keys": "effective keys", "distance": "tokens"}
IN_MENU |= {"entropy received": "received entropy share"}
"""Measures of maps by their name in the menu and in links; the kinds of tokens follow."""
RECEIVED = ("received entropy share", "mass on the first token")
"""Measures of received attention that are shares, which one axis can show."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class SplitAttention:
    """The stored measures of a run's attention over a split, and the measure that the grid shows."""

    found: Row
    run: str
    split: str
    measure: str = ""

    @property
    def n(self) -> str:
        """Describe how many texts of which split were read."""
        return f"{count(self.found['texts'])} texts of {self.split}"


def has_maps(record: RunRecord) -> bool:
    """Tell whether a run's kind of model has attention maps."""
    return "maps" in list_capabilities(record.config.model)


def read_measures(source: Source, analysis: type[attention_files.AttentionAnalysis]) -> SplitAttention:
    """Read what an analysis of a run's attention has stored; NotAvailable: not computed yet, or no attention."""
    record, split = source.record, source.split or "test"
    if not has_maps(record):
        raise NotAvailable(f"{record.preset} has no attention")
    found = None
    if analysis is attention_files.PartImportance:  # with each component in each head, if that was asked for
        found = source.reader.read_attention(analysis, record, split, each_map=True)
    found = found or source.reader.read_attention(analysis, record, split)
    if found is None:
        asked = f"sentiscope attend {record.run} --split {split} --only {analysis.name}"
        raise NotAvailable(f"this has not been measured yet; run `{asked}`")
    return SplitAttention(found, record.run, split)


def read_maps(source: Source) -> SplitAttention:
    """Read the measures of a run's maps; NotAvailable: not computed yet, or no attention."""
    return read_measures(source, attention_files.AttentionMaps)


def refuse_empty(shown: SplitAttention, name: str, lacking: str, source: Source) -> SplitAttention:
    """Return the same measures if they have a section; NotAvailable: the model lacks what it is about."""
    if not shown.found[name]:
        raise NotAvailable(f"{source.record.preset} has no {lacking}")
    return shown


def list_measures(source: Source) -> list[str]:
    """List what the grid can show: measures of maps, then the mass on each kind of token."""
    try:
        found = read_maps(source).found
    except NotAvailable:
        return list(IN_MENU)
    kinds = dict.fromkeys(row["measure"] for row in found["mass"] if row["head"])
    return [*IN_MENU, *(kind for kind in kinds if kind not in MEASURES)]


MEASURE = Option("measure", "Measure", list_measures, "What each cell shows, as a mean over texts")


def _name_measure(measure: str) -> str:
    return MEASURES.get(measure, f"Attention on {measure}" if not measure.endswith("token") else f"On the {measure}")


def select_rows(shown: SplitAttention) -> list[Row]:
    """Return the rows of the grid's measure that are defined, one for each layer, head and component."""
    rows = [*shown.found["entropy"], *shown.found["distance"], *shown.found["mass"]]
    return [row for row in rows if row["measure"] == shown.measure and row["head"] and row["value"] is not None]


def build_grid_table(shown: SplitAttention) -> pd.DataFrame:
    """Return all measures of maps and masses as a table, with intervals and controls."""
    rows = [*shown.found["entropy"], *shown.found["mass"], *shown.found["distance"]]
    return _build_frame([row for row in rows if "other" not in row], "layer", "head", "component", "measure", "value")


def _build_frame(rows: Sequence[Row], *keys: str) -> pd.DataFrame:
    made = []
    for row in rows:
        controls = {name: control["value"] for name, control in row["control"].items()}
        low, high = find_ends(row)
        made.append({key: row[key] for key in keys} | {"low": low, "high": high} | controls)
    return pd.DataFrame(made)


def draw_grid(shown: SplitAttention, look: Look) -> go.Figure:
    """Draw a matrix of layers and heads for each component; a click returns layer, head and component."""
    t, rows = look.tokens, select_rows(shown)
    components = sorted({row["component"] or 0 for row in rows}) or [0]
    layers, heads = (max((row[key] for row in rows), default=1) for key in ("layer", "head"))
    values = [row["value"] for row in rows]
    low, wide = min(values, default=0), max(max(values, default=1) - min(values, default=0), 1e-9)
    titles = [f"A{format_subscript(each)}" if len(components) > 1 else "" for each in components]
    figure = Panels(look, [titles], height=54 * layers + 96, horizontal_spacing=0.06)
    chosen = {f"{name}selected": {"marker": {"opacity": share}} for name, share in (("", 1), ("un", 0.5))}
    for col, component in enumerate(components, 1):
        own = [row for row in rows if (row["component"] or 0) == component]
        shades = [blend_colors(t.paper, t.ink, 0.06 + 0.3 * (row["value"] - low) / wide) for row in own]
        figure.add_bar(
            col=col,
            x=[row["head"] for row in own],
            y=[0.94] * len(own),
            base=[layers - row["layer"] + 0.03 for row in own],
            width=0.94,
            marker={"color": shades, "cornerradius": 4, "line": {"width": 0}},
            customdata=[[row["layer"], row["head"], component] for row in own],
            text=[number(row["value"], 2 if row["value"] < 10 else 1) for row in own],
            **INSIDE,
            **chosen,
            textfont={"size": look.scale_size(14), "color": t.ink},
            hovertext=[_describe_cell(row) for row in own],
            hover="%{hovertext}",
        )
        figure.update_xaxes(
            col=col, row=1, tickvals=list(range(1, heads + 1)), title="head", range=[0.5, heads + 0.5], showgrid=False
        )
        names = [f"layer {each}" if col == 1 else "" for each in range(1, layers + 1)]
        figure.update_yaxes(col=col, row=1, tickvals=[layers - each + 0.5 for each in range(1, layers + 1)])
        figure.update_yaxes(col=col, row=1, ticktext=names, range=[0, layers], showgrid=False)
    figure.update_layout(barmode="overlay", bargap=0, clickmode="event+select")
    return figure.build_figure()


def _describe_cell(row: Row) -> str:
    low, high = row["interval"] or (row["value"], row["value"])
    said = f"{findings.name_part(row)}: {number(row['value'])} ({number(low)} to {number(high)})"
    return "<br>".join([said, *(f"{name}: {number(each['value'])}" for name, each in row["control"].items())])


HEADS = Figure("attention-heads", PAGE, "Attention by layer and head").add_details(
    read=lambda source: replace(read_maps(source), measure=IN_MENU.get(said := str(source.get_choice(MEASURE)), said)),
    draw=draw_grid,
    note=lambda shown: f"{_name_measure(shown.measure).lower()}, {shown.n}",
    reading="A cell is a head; stronger colour = larger. Click one to read its sentences.",
    finding=lambda shown: findings.describe_entropy(shown.found),
    how="Each text is read once, in batches of equal length. A cell is the mean over texts; intervals resample texts. "
    "The control is a model of this shape with new random weights.",
    options=(MEASURE,),
    tables=lambda shown: {"Attention": build_grid_table(shown)},
)


def find_ends(row: Row) -> tuple[float | None, float | None]:
    """Return the ends of a row's interval; None where it has no interval."""
    low, high = row["interval"] or (None, None)
    return low, high


def _mark_row(row: Row, control: str) -> Mark:
    low, high = find_ends(row)
    other, said = row["control"][control]["value"], number(row["value"], 3)
    if low is not None and high is not None:
        said += f" ({number(low, 3)} to {number(high, 3)})"
    return Mark(row["value"], low, high, reference=other, said=f"{said}; {control}: {number(other, 3)}")


CSV = columns.make_csv_columns(value="value", low=lambda row: find_ends(row)[0], high=lambda row: find_ends(row)[1])
FROM_ZERO, SIGNED = partial(make_axis, zero=0.0), partial(make_axis, zero=0.0, signed=True)


def pick_ends(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the first and the last rows of a long table."""
    return [*rows[: SHOWN // 2], *rows[SHOWN // 2 :][-SHOWN // 2 :]]


def make_table_figure(
    name: str,
    title: Any,
    read: Callable[[Source], Any],
    label: str,
    select: Callable[[Any], Sequence[Row]],
    listed: Sequence[ColumnSpec] | Callable[[Any], Sequence[ColumnSpec]],
    key: Any,
    pick: Callable[[Sequence[Row]], Sequence[Row]] = lambda rows: rows[:SHOWN],
    **words: Any,
) -> Figure[Any]:
    """Build a figure of this page from rows with intervals, noting how many texts it is about.

    `select` returns all rows for the CSV, `listed` are their columns, `key` names a row, `pick` returns those shown.
    """

    def build_table(found: Any) -> IntervalTable:
        rows = select(found)
        return IntervalTable(label, listed(found) if callable(listed) else listed, rows, key, shown=pick(rows))

    words = {"note": lambda shown: shown.n, **words}
    return make_interval_figure(f"attention-{name}", PAGE, title, read, build_table, name.capitalize(), **words)


def _compute_ratio(row: Row) -> float:
    return float(row["value"] / max(row["control"]["uniform"]["value"], 1e-9))


def _select_masses(shown: SplitAttention) -> list[Row]:
    rows = [row for row in shown.found["mass"] if "uniform" in row["control"] and row["value"] is not None]
    return sorted(rows, key=findings.compute_least_preference, reverse=True)


def _describe_mass(shown: SplitAttention) -> str:
    neutral = findings.describe_neutral(shown.found) if shown.found["neutral"] else ""
    return f"{findings.describe_mass(shown.found)} {neutral}".strip()


MASS = make_table_figure(
    "mass",
    "Strongest preferences",
    read_maps,
    "Attention of heads on kinds of tokens",
    _select_masses,
    (
        columns.name("part", "Head", findings.name_part, "14rem", part=findings.name_part),
        columns.name("kind", "Kind", "measure", "9rem", kind="measure"),
        columns.interval("mass", "attention", partial(_mark_row, control="uniform"), FROM_ZERO),
        columns.text("ratio", "× uniform", lambda row: number(_compute_ratio(row), 1), "6rem", times=_compute_ratio),
        CSV,
        columns.make_csv_columns(uniform="control.uniform.value", untrained="control.untrained.value"),
    ),
    lambda row: f"{row['layer']}.{row['head']}.{row['component']}.{row['measure']}",
    reading="Bar: 95 % interval, sorted by its lower end; ring: uniform attention.",
    finding=_describe_mass,
    how="The share of a head's attention on tokens of a kind, over the texts that have one, by the lower end "
    "of its ratio to their share of the tokens. "
    "Parts of speech come from the tagger, polar words from the lexicon of the run or VADER.",
)


def _has_pairs(shown: SplitAttention) -> bool:
    return any("other" in row for row in shown.found["distance"])


def _select_distances(shown: SplitAttention) -> list[Row]:
    """Return the distances between component maps; if heads have one map, those between query and key."""
    rows = [row for row in shown.found["distance"] if row["value"] is not None]
    return sorted([row for row in rows if "other" in row] or rows, key=lambda row: -row["value"])


def _list_distance_columns(shown: SplitAttention) -> list[ColumnSpec]:
    pairs, more = _has_pairs(shown), [columns.make_csv_columns(untrained="control.untrained.value")]
    if pairs:
        more = [
            columns.text("untrained", "untrained", lambda row: number(row["control"]["untrained"]["value"], 2), "6rem"),
            columns.text("outside", "controls", lambda row: "above both" if row["outside"] else "not above", "7rem"),
            columns.make_csv_columns(
                "outside", exchanged="control.exchanged.value", untrained=more[0].csv["untrained"]
            ),
        ]
    mark = partial(_mark_row, control="exchanged" if pairs else "untrained")
    return [
        columns.name("part", "Maps" if pairs else "Head", findings.name_part, "16rem", part=findings.name_part),
        columns.interval("distance", "distance", mark, FROM_ZERO),
        *(CSV, *more),
    ]


DISTANCE = make_table_figure(
    "distance",
    lambda shown: "How far component maps differ" if _has_pairs(shown) else "How far heads look",
    read_maps,
    "Distances of attention",
    _select_distances,
    _list_distance_columns,
    lambda row: f"{row['layer']}.{row['head']}.{row['component']}.{row.get('other', '')}",
    reading=lambda shown: (
        "Jensen–Shannon distance, 0 to 1. Ring: the same maps, texts exchanged."
        if _has_pairs(shown)
        else "Mean distance of key and query in tokens. Ring: untrained."
    ),
    finding=lambda shown: findings.describe_distance(shown.found),
    how="An untrained model already has maps that differ, and so have maps of two texts of equal length. Components "
    "specialise only where their distance is above both controls.",
)


def list_compared(source: Source) -> list[str]:
    """List the runs whose stored maps of the same texts have a class token, for a comparison; the empty one first."""
    record, split, found = source.record, source.split or "test", [""]
    own = source.reader.read_attention(attention_files.AttentionMaps, record, split) or {"by_text": []}
    for other in source.reader.list_runs():
        same = other.run != record.run and other.config.data.name == record.config.data.name
        if same and other.status == "done" and other.task != "tokens" and has_maps(other):
            stored = source.reader.read_attention(attention_files.AttentionMaps, other, split) or {"by_text": []}
            found += [other.run] if stored["by_text"] and len(stored["by_text"]) == len(own["by_text"]) else []
    return found


OTHER_RUN = Option("deviation-of", "Compare with", list_compared, "Another run with stored maps of as many texts")


def _read_deviation(source: Source) -> SplitAttention:
    shown = refuse_empty(read_maps(source), "deviation", "class token", source)
    other = str(source.get_choice(OTHER_RUN))
    if not other:
        return shown
    record = next(each for each in source.reader.list_runs() if each.run == other)
    found = source.reader.read_attention(attention_files.AttentionMaps, record, shown.split)
    assert found is not None  # listed
    compared = attention_files.compare_deviation(shown.found, found)
    return replace(shown, found={**shown.found, "deviation": compared}, measure=other)


def _draw_deviation(shown: SplitAttention, look: Look) -> go.Figure:
    rows, names = shown.found["deviation"], list(dict.fromkeys(row["measure"] for row in shown.found["deviation"]))
    figure, t = Panels(look, [names], height=260, horizontal_spacing=0.1), look.tokens
    for col, name in enumerate(names, 1):
        own = [row for row in rows if row["measure"] == name and row["value"] is not None]
        x, values = ([row[key] for row in own] for key in ("layer", "value"))
        bars = make_whiskers(values, [row["interval"] or [row["value"]] * 2 for row in own], look.scale_size(1.4))
        lines = [("untrained", x, [row["control"]["untrained"]["value"] for row in own], (t.muted, "dash"))]
        if compared := [row for row in own if row.get("against", {}).get("value") is not None]:
            others = [row["value"] - row["against"]["value"] for row in compared]
            lines.append((escape_text(shown.measure), [row["layer"] for row in compared], others, (t.accent, "dot")))
        about: dict[str, Any] = {"col": col, "showlegend": col == 1}
        figure.add_scatter(**about, x=x, y=values, name="this run", line={"color": t.ink}, error_y=bars)
        for said, at, heights, (color, dash) in lines:
            line = {"color": color, "dash": dash}
            figure.add_scatter(**about, x=at, y=heights, name=said, mode="lines", line=line)
        figure.update_xaxes(col=col, row=1, tickvals=x, title="layer")
        figure.update_yaxes(col=col, row=1, rangemode="tozero")
    return figure.build_figure()


def _build_deviation_table(shown: SplitAttention) -> pd.DataFrame:
    rows = shown.found["deviation"]
    frame = _build_frame(rows, "layer", "measure", "value")
    if any("against" in row for row in rows):
        differences = [row.get("against") or {"value": None, "interval": None} for row in rows]
        frame["against"], frame["difference"] = shown.measure, [each["value"] for each in differences]
        frame["difference low"], frame["difference high"] = zip(*map(find_ends, differences), strict=True)
    return frame


DEVIATION = Figure("attention-deviation", PAGE, "How attention around the class token varies").add_details(
    read=_read_deviation,
    draw=_draw_deviation,
    note=lambda shown: shown.n,
    reading="Standard deviation over the other tokens. Dashed: untrained. Dotted: the compared run.",
    options=(OTHER_RUN,),
    finding=lambda shown: findings.describe_deviation(shown.found),
    how="Fig. 5 of the lexical attention paper: mean over heads, the class token itself left out. `sentiscope attend "
    "RUN --against OTHER` adds the difference from another run.",
    tables=lambda shown: {"Deviation": _build_deviation_table(shown)},
)


def _select_gates(shown: SplitAttention) -> list[Row]:
    return sorted((row for row in shown.found["gates"] if row["value"] is not None), key=lambda row: row["value"])


GATES = make_table_figure(
    "gates",
    "Gates by part of speech and polarity",
    lambda source: refuse_empty(read_maps(source), "gates", "gates", source),
    "Mean gate of each kind of token",
    _select_gates,
    (
        columns.name("kind", "Kind", "measure", "10rem", kind="measure"),
        columns.text("layer", "layer", lambda row: str(row["layer"]), "4rem", layer="layer"),
        columns.interval("gate", "gate", partial(_mark_row, control="all"), make_axis),
        *(columns.count("n", "tokens", "n", "6rem"), CSV),
    ),
    lambda row: f"{row['layer']}.{row['measure']}",
    pick_ends,
    note=lambda shown: f"lowest and highest, {shown.n}",
    reading="Bar: 95 % interval; ring: all words of the layer.",
    finding=lambda shown: findings.describe_gates(shown.found),
    how="SentiFormer claims that gates hold back determiners and auxiliary verbs. A gate multiplies the attention of "
    "all queries on a word.",
)

RECEIVED_IN_HEAD = make_table_figure(
    "received",
    "What tokens receive in the head",
    lambda source: refuse_empty(read_maps(source), "received", "attention in its head", source),
    "Attention received in the head",
    lambda shown: [row for row in shown.found["received"] if row["value"] is not None and row["measure"] in RECEIVED],
    (
        columns.name("head", "Map", lambda row: f"map {row['head']} of the head", "10rem", head="head"),
        columns.name("measure", "Measure", "measure", "14rem", measure="measure"),
        columns.interval("value", "share", partial(_mark_row, control="last layer"), FROM_ZERO),
        *(CSV, columns.make_csv_columns(last=lambda row: row["control"]["last layer"]["value"])),
    ),
    lambda row: f"{row['head']}.{row['measure']}",
    lambda rows: rows,
    reading="Bar: 95 % interval; ring: the last layer.",
    finding=lambda shown: findings.describe_received(shown.found),
    how="Inceptive models have attention of their own in the head. Their paper says that it is flatter than that of "
    "the last layer, which is skewed to the first token.",
)

SECTIONS = (MASS, DISTANCE, DEVIATION, GATES, RECEIVED_IN_HEAD)
