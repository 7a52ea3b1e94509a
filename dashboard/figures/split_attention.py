"""Attention over a whole split: maps by layer and head, mass on kinds of tokens, distances, gates, importance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import count, format_p, format_subscript, number, signed
from core.interpret import attention_findings as findings
from core.models.capabilities import list_capabilities
from core.runs import attention_files
from core.runs.record import RunRecord
from dashboard.figures import interval_table as columns
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure, Option, Source, make_interval_figure
from dashboard.figures.interval_table import IntervalTable, Mark, make_axis
from dashboard.figures.subplots import Panels, make_whiskers
from dashboard.figures.theme import Look, blend_colors

PAGE = "attention"
SHOWN = 20  # most rows of a table; the CSV has all
MEASURES = {
    "entropy share": "Entropy (share of uniform)",
    "effective keys": "Effective number of keys",
    "tokens": "Distance in tokens",
    "received entropy share": "Entropy received (share of uniform)",
}
"""Measures of maps → name in the menu; the kinds of tokens follow."""
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


def read_maps(source: Source) -> SplitAttention:
    """Read the measures of a run's maps; NotAvailable: not computed yet, or no attention."""
    return _read(source, attention_files.AttentionMaps)


def read_importance(source: Source) -> SplitAttention:
    """Read what silencing each part costs; NotAvailable: not computed yet, or no attention."""
    return _read(source, attention_files.PartImportance)


def _read(source: Source, analysis: type[attention_files.AttentionAnalysis]) -> SplitAttention:
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


def _read_section(name: str, lacking: str, source: Source) -> SplitAttention:
    """Read a section of the maps or of importance; NotAvailable: the model lacks what it is about."""
    shown = (read_importance if name == "lambdas" else read_maps)(source)
    if not shown.found[name]:
        raise NotAvailable(f"{source.record.preset} has no {lacking}")
    return shown


def list_measures(source: Source) -> list[str]:
    """List what the grid can show: measures of maps, then the mass on each kind of token."""
    try:
        found = read_maps(source).found
    except NotAvailable:
        return list(MEASURES)
    kinds = dict.fromkeys(row["measure"] for row in found["mass"] if row["head"])
    return [*MEASURES, *(kind for kind in kinds if kind not in MEASURES)]


MEASURE = Option("measure", "Measure", list_measures, "What each cell shows, as a mean over texts")


def _read_grid(source: Source) -> SplitAttention:
    shown = read_maps(source)
    return SplitAttention(shown.found, shown.run, shown.split, str(source.get_choice(MEASURE)))


def name_measure(measure: str) -> str:
    """Return the name of a measure in the menu and in headings."""
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
    ends = [dict(zip(("low", "high"), _find_ends(row), strict=True)) for row in rows]
    controls = [{name: control["value"] for name, control in row["control"].items()} for row in rows]
    parts = zip(rows, ends, controls, strict=True)
    return pd.DataFrame([{key: row[key] for key in keys} | low_high | control for row, low_high, control in parts])


def draw_grid(shown: SplitAttention, look: Look) -> go.Figure:
    """Draw a matrix of layers and heads for each component; a click returns layer, head and component."""
    t, rows = look.tokens, select_rows(shown)
    components = sorted({row["component"] or 0 for row in rows}) or [0]
    layers, heads = (max((row[key] for row in rows), default=1) for key in ("layer", "head"))
    values = [row["value"] for row in rows]
    low, wide = min(values, default=0), max(max(values, default=1) - min(values, default=0), 1e-9)
    titles = [f"A{format_subscript(each)}" if len(components) > 1 else "" for each in components]
    figure = Panels(look, [titles], height=54 * layers + 96, horizontal_spacing=0.06)
    style: dict[str, Any] = {"textposition": "inside", "insidetextanchor": "middle", "textangle": 0}
    style |= {
        "constraintext": "none",
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 0.5}},
    }
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
            **style,
            textfont={"size": look.scale_size(14), "color": t.ink},
            hovertext=[_describe_cell(row) for row in own],
            hovertemplate="%{hovertext}<extra></extra>",
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


HEADS: Figure[SplitAttention] = Figure(
    "attention-heads",
    PAGE,
    "Attention by layer and head",
    _read_grid,
    draw_grid,
    note=lambda shown: f"{name_measure(shown.measure).lower()}, {shown.n}",
    reading="A cell is a head; stronger colour = larger. Click one to read its sentences.",
    finding=lambda shown: findings.describe_entropy(shown.found),
    how="Each text is read once, in batches of equal length. A cell is the mean over texts; intervals resample texts. "
    "The control is a model of this shape with new random weights.",
    options=(MEASURE,),
    tables=lambda shown: {"Attention": build_grid_table(shown)},
)


def _mark_row(row: Row, control: str, digits: int = 3) -> Mark:
    low, high = _find_ends(row)
    other, said = row["control"][control]["value"], number(row["value"], digits)
    if low is not None and high is not None:
        said += f" ({number(low, digits)} to {number(high, digits)})"
    return Mark(row["value"], low, high, reference=other, said=f"{said}; {control}: {number(other, digits)}")


def _find_ends(row: Row) -> tuple[float | None, float | None]:
    low, high = row["interval"] or (None, None)
    return low, high


def _make_figure(
    name: str, title: Any, read: Callable[[Source], Any], table: Callable[[Any], IntervalTable], **words: Any
) -> Figure[Any]:
    """Build a figure of this page from a table with intervals, noting how many texts it is about."""
    words = {"note": lambda shown: shown.n, **words}
    return make_interval_figure(f"attention-{name}", PAGE, title, read, table, name.capitalize(), **words)


CSV = columns.make_csv_columns(value="value", low=lambda row: _find_ends(row)[0], high=lambda row: _find_ends(row)[1])


def build_mass_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of the strongest preferences of heads for a kind of token, by their least ratio to uniform."""
    rows = [row for row in shown.found["mass"] if "uniform" in row["control"] and row["value"] is not None]

    def divide(row: Row) -> float:
        return float(row["value"] / max(row["control"]["uniform"]["value"], 1e-9))

    rows.sort(key=findings.compute_least_preference, reverse=True)
    return IntervalTable(
        "Attention of heads on kinds of tokens",
        (
            columns.name("part", "Head", findings.name_part, "14rem", part=findings.name_part),
            columns.name("kind", "Kind", "measure", "9rem", kind="measure"),
            columns.interval("mass", "attention", partial(_mark_row, control="uniform"), partial(make_axis, zero=0.0)),
            columns.text("ratio", "× uniform", lambda row: number(divide(row), 1), "6rem", times=divide),
            CSV,
            columns.make_csv_columns(uniform="control.uniform.value", untrained="control.untrained.value"),
        ),
        rows,
        lambda row: f"{row['layer']}.{row['head']}.{row['component']}.{row['measure']}",
        shown=rows[:SHOWN],
    )


MASS = _make_figure(
    "mass",
    "Strongest preferences",
    read_maps,
    build_mass_table,
    reading="Bar: 95 % interval, sorted by its lower end; ring: uniform attention.",
    finding=lambda shown: (
        findings.describe_mass(shown.found)
        + (f" {findings.describe_neutral(shown.found)}" if shown.found["neutral"] else "")
    ),
    how="The share of a head's attention on tokens of a kind, over the texts that have one, by the lower end "
    "of its ratio to their share of the tokens. "
    "Parts of speech come from the tagger, polar words from the lexicon of the run or VADER.",
)


def select_distances(shown: SplitAttention) -> list[Row]:
    """Return the distances between component maps; if heads have one map, those between query and key."""
    rows = [row for row in shown.found["distance"] if row["value"] is not None]
    pairs = [row for row in rows if "other" in row]
    return sorted(pairs or rows, key=lambda row: -row["value"])


def _has_pairs(shown: SplitAttention) -> bool:
    return any("other" in row for row in shown.found["distance"])


def build_distance_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of distances between component maps, or between query and key, with their controls."""
    rows = select_distances(shown)
    pairs = _has_pairs(shown)
    control = "exchanged" if pairs else "untrained"
    more = [columns.make_csv_columns(untrained="control.untrained.value")]
    if pairs:
        more = [
            columns.text("untrained", "untrained", lambda row: number(row["control"]["untrained"]["value"], 2), "6rem"),
            columns.text("outside", "controls", lambda row: "above both" if row["outside"] else "not above", "7rem"),
            columns.make_csv_columns(
                "outside", exchanged="control.exchanged.value", untrained="control.untrained.value"
            ),
        ]
    return IntervalTable(
        "Distances of attention",
        (
            columns.name("part", "Maps" if pairs else "Head", findings.name_part, "16rem", part=findings.name_part),
            columns.interval("distance", "distance", partial(_mark_row, control=control), partial(make_axis, zero=0.0)),
            CSV,
            *more,
        ),
        rows,
        lambda row: f"{row['layer']}.{row['head']}.{row['component']}.{row.get('other', '')}",
        shown=rows[:SHOWN],
    )


DISTANCE = _make_figure(
    "distance",
    lambda shown: "How far component maps differ" if _has_pairs(shown) else "How far heads look",
    read_maps,
    build_distance_table,
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


def read_deviation(source: Source) -> SplitAttention:
    """Read the deviation around the class token, with the difference from a chosen run; NotAvailable: no such token."""
    shown, other = _read_section("deviation", "class token", source), str(source.get_choice(OTHER_RUN))
    if not other:
        return shown
    record = next(each for each in source.reader.list_runs() if each.run == other)
    found = source.reader.read_attention(attention_files.AttentionMaps, record, shown.split)
    assert found is not None  # listed
    return replace(
        shown, found={**shown.found, "deviation": attention_files.compare_deviation(shown.found, found)}, measure=other
    )


def draw_deviation(shown: SplitAttention, look: Look) -> go.Figure:
    """Draw the deviation of attention from and to the class token by layer; untrained dashed, another run dotted."""
    rows, names = shown.found["deviation"], list(dict.fromkeys(row["measure"] for row in shown.found["deviation"]))
    figure, t = Panels(look, [names], height=260, horizontal_spacing=0.1), look.tokens
    for col, name in enumerate(names, 1):
        own = [row for row in rows if row["measure"] == name and row["value"] is not None]
        x = [row["layer"] for row in own]
        values = [row["value"] for row in own]
        bars = make_whiskers(values, [row["interval"] or [row["value"]] * 2 for row in own], look.scale_size(1.4))
        controls = [row["control"]["untrained"]["value"] for row in own]
        line, dashed = {"color": t.ink}, {"color": t.muted, "dash": "dash"}
        about: dict[str, Any] = {"x": x, "col": col, "showlegend": col == 1}
        figure.add_scatter(**about, y=values, name="this run", line=line, error_y=bars)
        figure.add_scatter(**about, y=controls, name="untrained", mode="lines", line=dashed)
        if compared := [row for row in own if row.get("against", {}).get("value") is not None]:
            about["x"], dotted = [row["layer"] for row in compared], {"color": t.accent, "dash": "dot"}
            others = [row["value"] - row["against"]["value"] for row in compared]
            figure.add_scatter(**about, y=others, name=escape_text(shown.measure), mode="lines", line=dotted)
        figure.update_xaxes(col=col, row=1, tickvals=x, title="layer")
        figure.update_yaxes(col=col, row=1, rangemode="tozero")
    return figure.build_figure()


def build_deviation_table(shown: SplitAttention) -> pd.DataFrame:
    """Build the table of deviations, with the differences from the compared run."""
    rows = shown.found["deviation"]
    frame = _build_frame(rows, "layer", "measure", "value")
    if any("against" in row for row in rows):
        differences = [row.get("against") or {"value": None, "interval": None} for row in rows]
        frame["against"], frame["difference"] = shown.measure, [each["value"] for each in differences]
        frame["difference low"], frame["difference high"] = zip(*map(_find_ends, differences), strict=True)
    return frame


DEVIATION: Figure[SplitAttention] = Figure(
    "attention-deviation",
    PAGE,
    "How attention around the class token varies",
    read_deviation,
    draw_deviation,
    note=lambda shown: shown.n,
    reading="Standard deviation over the other tokens. Dashed: untrained. Dotted: the compared run.",
    options=(OTHER_RUN,),
    finding=lambda shown: findings.describe_deviation(shown.found),
    how="Fig. 5 of the lexical attention paper: mean over heads, the class token itself left out. `sentiscope attend "
    "RUN --against OTHER` adds the difference from another run.",
    tables=lambda shown: {"Deviation": build_deviation_table(shown)},
)


def build_gates_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of mean gates by kind of token in each layer, lowest first."""
    rows = sorted((row for row in shown.found["gates"] if row["value"] is not None), key=lambda row: row["value"])
    return IntervalTable(
        "Mean gate of each kind of token",
        (
            columns.name("kind", "Kind", "measure", "10rem", kind="measure"),
            columns.text("layer", "layer", lambda row: str(row["layer"]), "4rem", layer="layer"),
            columns.interval("gate", "gate", partial(_mark_row, control="all"), make_axis),
            columns.count("n", "tokens", "n", "6rem"),
            CSV,
        ),
        rows,
        lambda row: f"{row['layer']}.{row['measure']}",
        shown=[*rows[: SHOWN // 2], *rows[SHOWN // 2 :][-SHOWN // 2 :]],
    )


GATES = _make_figure(
    "gates",
    "Gates by part of speech and polarity",
    partial(_read_section, "gates", "gates"),
    build_gates_table,
    note=lambda shown: f"lowest and highest, {shown.n}",
    reading="Bar: 95 % interval; ring: all words of the layer.",
    finding=lambda shown: findings.describe_gates(shown.found),
    how="SentiFormer claims that gates hold back determiners and auxiliary verbs. A gate multiplies the attention of "
    "all queries on a word.",
)


def build_received_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of what tokens receive in each map of the model's own head, and in the last layer."""
    rows = [row for row in shown.found["received"] if row["value"] is not None and row["measure"] in RECEIVED]
    return IntervalTable(
        "Attention received in the head",
        (
            columns.name("head", "Map", lambda row: f"map {row['head']} of the head", "10rem", head="head"),
            columns.name("measure", "Measure", "measure", "14rem", measure="measure"),
            columns.interval("value", "share", partial(_mark_row, control="last layer"), partial(make_axis, zero=0.0)),
            CSV,
            columns.make_csv_columns(last=lambda row: row["control"]["last layer"]["value"]),
        ),
        rows,
        lambda row: f"{row['head']}.{row['measure']}",
    )


RECEIVED = ("received entropy share", "mass on the first token")
"""Measures of received attention that are shares, which one axis can show."""


RECEIVED_IN_HEAD = _make_figure(
    "received",
    "What tokens receive in the head",
    partial(_read_section, "received", "attention in its head"),
    build_received_table,
    reading="Bar: 95 % interval; ring: the last layer.",
    finding=lambda shown: findings.describe_received(shown.found),
    how="Inceptive models have attention of their own in the head. Their paper says that it is flatter than that of "
    "the last layer, which is skewed to the first token.",
)


def _mark_difference(row: Row, is_clear: Callable[[Row], bool]) -> Mark:
    low, high = row["interval"]
    label = f"{signed(100 * row['value'], 1)} points ({signed(100 * low, 1)} to {signed(100 * high, 1)})"
    return Mark(row["value"], low, high, tie=not is_clear(row), said=label)


def build_importance_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of what silencing each part changes, most costly first."""
    rows = sorted(shown.found["parts"], key=lambda row: (row["value"], -row["loss"]))
    mark = partial(_mark_difference, is_clear=lambda row: row["p_holm"] < findings.ALPHA)
    return IntervalTable(
        "Accuracy lost when a part is silenced",
        (
            columns.name("part", "Switched off", findings.name_silenced, "16rem", part="part", how="how"),
            columns.interval("accuracy", "accuracy difference", mark, partial(make_axis, zero=0.0, signed=True)),
            columns.text("loss", "log-loss", lambda row: signed(row["loss"], 3), "6rem", log_loss="loss"),
            columns.text("p", "p (Holm)", lambda row: format_p(row["p_holm"]), "6rem", p_holm="p_holm"),
            columns.count("changed", "changed", "changed", "5rem"),
            CSV,
        ),
        rows,
        lambda row: f"{row['part']}:{row['how']}",
        shown=rows[:SHOWN],
    )


IMPORTANCE_OF_PARTS = _make_figure(
    "importance",
    "What the model needs",
    read_importance,
    build_importance_table,
    note=lambda shown: f"{shown.n}, accuracy {number(shown.found['accuracy'])}",
    reading="Switched off minus trained. Ring: no significant difference (Holm).",
    finding=lambda shown: findings.describe_importance({"importance": shown.found}),
    how="All texts are predicted again with one part at zero, or at its mean. Intervals resample texts, paired; p is "
    "McNemar's exact test after Holm over all silencings.",
)


def draw_lambda_course(shown: SplitAttention, look: Look) -> go.Figure:
    """Draw accuracy over a factor on all λ (thick) and on each λ alone (thin)."""
    figure, t = Panels(look, [[""]], height=280), look.tokens
    rows: Sequence[Row] = shown.found["lambdas"]
    for layer, component in dict.fromkeys((row["layer"], row["component"]) for row in rows):
        own = [row for row in rows if (row["layer"], row["component"]) == (layer, component)]
        name = "all λ" if layer is None else f"λ{format_subscript(component)} of layer {layer}"
        figure.add_scatter(
            x=[row["factor"] for row in own],
            y=[row["accuracy"] for row in own],
            name=name,
            mode="lines+markers",
            line={"width": 3 if layer is None else 1, "color": t.ink if layer is None else t.muted},
        )
    figure.update_xaxes(title="factor on the learned λ")
    figure.update_yaxes(title="accuracy")
    return figure.build_figure()


LAMBDA_COURSE: Figure[SplitAttention] = Figure(
    "attention-lambda",
    PAGE,
    "Accuracy against λ",
    partial(_read_section, "lambdas", "λ"),
    draw_lambda_course,
    note=lambda shown: shown.n,
    reading="Thick: all λ together; thin: one λ alone. 1 is as trained.",
    how="Each point predicts all texts with λ multiplied by the factor; no training.",
    tables=lambda shown: {"Accuracy against λ": pd.DataFrame(shown.found["lambdas"]).drop(columns="interval")},
)
WORD_CLASS = Option(
    "effect-on", "Class", lambda source: list(source.record.classes), "The class whose log-odds the words change"
)


@dataclass(frozen=True)
class RankedWords:
    """The words of a split by their mean effect on one class, from the largest to the smallest."""

    rows: Sequence[Row]
    shown: SplitAttention
    picked: str = ""  # the word whose sentences are selected


def read_words(source: Source) -> RankedWords:
    """Read the words of a split by their effect on the chosen class; NotAvailable: not computed yet, or none."""
    shown = _read(source, attention_files.WordEffects)
    rows = [row for row in shown.found["rows"] if row["class"] == source.get_choice(WORD_CLASS)]
    if not rows:
        raise NotAvailable("no word is in enough texts")
    return RankedWords(rows, shown)


def build_words_table(shown: RankedWords) -> IntervalTable:
    """Build the table of words with the largest and the smallest effect on a class."""
    ends = [*shown.rows[: SHOWN // 2], *shown.rows[SHOWN // 2 :][-SHOWN // 2 :]]

    def mark(row: Row) -> Mark:
        low, high = _find_ends(row)
        return Mark(row["value"], low, high, tie=low is None or high is None or low <= 0 <= high)

    return IntervalTable(
        "Mean effect of words",
        (
            columns.name("word", "Word", "word", "10rem", word="word", of_class="class"),
            columns.interval("effect", "effect (log-odds)", mark, partial(make_axis, zero=0.0, signed=True)),
            columns.text("mean", "mean", lambda row: signed(row["value"], 2), "5rem"),
            columns.count("texts", "texts", "texts", "5rem"),
            CSV,
        ),
        shown.rows,
        "word",
        shown=ends,
    )


WORDS = _make_figure(
    "words",
    lambda shown: f"Words that speak for and against {shown.rows[0]['class']}",
    read_words,
    build_words_table,
    note=lambda shown: f"{shown.shown.n}, {count(len(shown.rows))} words",
    reading="Bar: 95 % interval; ring: it contains 0. Choose a word for its sentences.",
    finding=lambda shown: findings.describe_words({"words": shown.shown.found}),
    how="The mean loss of log-odds when the word is deleted, over the texts that have it. Words of fewer than five "
    "texts are left out. The table shows both ends, the CSV all words.",
    options=(WORD_CLASS,),
)


def build_effects_table(shown: SplitAttention) -> IntervalTable:
    """Build the table of what all parts of a kind together matter, such as every λ at 0."""
    mark = partial(_mark_difference, is_clear=lambda row: not row["interval"][0] <= 0 <= row["interval"][1])
    return IntervalTable(
        "Accuracy lost with all parts of a kind changed",
        (
            columns.name("what", "Changed", "what", "16rem", what="what", edit="edit"),
            columns.interval(
                "accuracy", "accuracy difference", mark, partial(make_axis, zero=0.0, signed=True), accuracy="accuracy"
            ),
            columns.count("changed", "answers changed", "changed", "9rem"),
            CSV,
        ),
        shown.found["effects"],
        "what",
    )


EFFECTS_OF_PARTS = _make_figure(
    "effects",
    "Does it matter?",
    lambda source: _read(source, attention_files.PartEffects),
    build_effects_table,
    note=lambda shown: f"{shown.n}, accuracy {number(shown.found['accuracy'])}",
    reading="Changed minus trained. Ring: no clear difference.",
    finding=lambda shown: findings.describe_effects({"effects": shown.found}),
    how="All texts are predicted again with all parts of a kind changed at once. Intervals resample texts, paired.",
)
SECTIONS = (MASS, DISTANCE, DEVIATION, GATES, RECEIVED_IN_HEAD)
IMPORTANCE_FIGURES = (IMPORTANCE_OF_PARTS, LAMBDA_COURSE)
ALL = (HEADS, *SECTIONS, *IMPORTANCE_FIGURES, WORDS, EFFECTS_OF_PARTS)
