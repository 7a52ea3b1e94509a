"""Tables of the papers beside our results: differences with verdicts, bars, a confusion matrix, claims, and speed."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.api.papers import claims, count_verdicts, format_value, reproduce
from core.exceptions import NotAvailable
from core.formatting import MINUS, count, number, signed
from core.models.presets import PAPERS, find_paper
from core.papers import reproduction
from core.papers.claims import FINDERS, HOLDS, NOT
from core.papers.reported_results import read_speed
from core.papers.reproduction import AGREES, BASELINE, BETTER, DIFFERS, INCONCLUSIVE, NOT_RUN, ONE_SEED
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import Component, Panels, draw_bar_matrix, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Source
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import Axis, IntervalColumn, IntervalRow, IntervalTable, Mark, Marks, TextCell
from dashboard.figures.theme import SYMBOLS, Look, Tokens, blend_colors

Row = Mapping[str, Any]
NO_SHARES = ("lambda", "silhouette")
"""Metrics that are no shares, so their differences are not in points."""
COUNTED = {AGREES: ("agrees", "agree"), DIFFERS: ("differs", "differ"), BETTER: ("is " + BETTER, "are " + BETTER)}
COUNTED |= {INCONCLUSIVE: ("inconclusive",) * 2, ONE_SEED: ("has one seed", "have one seed")}
"""Verdict → what one result does, and several."""
BOXED = 5
"""Fewest results of a box."""
EMPTY = Axis(-1.0, 1.0, (0.0,), ("0",), 0.0)
METRICS = {"f1": "F1", "auc": "AUC", "lambda": "λ", "params": "parameters", "val_f1": "F1 on validation"}
METRICS |= {"delta_params_vs_vanilla": "parameters more than vanilla", "inference_time_per_batch": "time per batch"}
METRICS |= {"emb_dim": "embedding size", "ff_expansion_flag": "feed-forward expansion", "max_len": "longest text"}
METRICS |= {"confusion_tpr": "true-positive rate", "confusion_tnr": "true-negative rate"}
METRICS |= {"confusion_fpr": "false-positive rate", "wordcloud_text_fnr": "false-negative rate, from the text"}
METRICS |= {"wordcloud_text_fpr": "false-positive rate, from the text", "accuracy_delta": "gain in accuracy"}
METRICS |= {"delta_mean": "mean gain", "delta_sigma_as_printed": "σ of the gain, as printed"}
METRICS |= {"delta_sigma2_as_printed": "σ² of the gain, as printed", "n_texts": "texts", "n_classes": "classes"}
METRICS |= {"mean_token_length": "mean length in tokens", "cv10_mean": "mean of 10 folds", "cv10_std": "SD of 10 folds"}
METRICS |= {"wilcoxon_p": "p (Wilcoxon)"}
"""Metrics of reported results in words, where the name is none."""
SPEEDS = {"milliseconds": ("time, ms", 1.0), "memory": ("memory, MB", 1e6)}
CORNERS = ("confusion_tnr", "confusion_tpr")
"""Metrics of the confusion matrix on its diagonal, %."""


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper beside our results, and the metric of which rows are shown."""

    paper: str
    table: Mapping[str, Any]  # as `reproduce` returns it
    metric: str

    @property
    def rows(self) -> list[Row]:
        """Return the rows of the chosen metric."""
        return [row for row in self.table["rows"] if row["metric"] == self.metric]

    @property
    def title(self) -> str:
        """Return what the paper calls the table."""
        return str(self.table["table"]) if " " in self.table["table"] else f"Table {self.table['table']}"

    def describe(self) -> str:
        """Return the paper, and what the table is about."""
        return f"{PAPERS[self.paper]}, {self.table['title']}"


def list_metrics(table: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a table in its order."""
    return list(dict.fromkeys(row["metric"] for row in table["rows"]))


def name_metric(metric: str) -> str:
    """Return a metric of reported results in words."""
    return METRICS.get(metric, metric.replace("_", " "))


def choose_table(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the table of which most results were compared."""
    return max(tables, key=lambda each: sum(bool(row["n"]) and row["difference"] is not None for row in each["rows"]))


def find_paper_of(source: Source) -> str:
    """Return the key of the paper that a run's preset is from; NotAvailable: there is none."""
    paper = find_paper(source.record.preset)
    if paper not in FINDERS:
        raise NotAvailable(f"{source.record.preset} is not a model of a paper")
    return paper


def _read_table(source: Source) -> PaperTable:
    paper = find_paper_of(source)
    table = choose_table(reproduce(paper)["tables"])
    return PaperTable(paper, table, list_metrics(table)[0])


def describe_verdict(row: Row) -> str:
    """Return the verdict on a row in words, with the direction of a difference."""
    if row["verdict"] != DIFFERS or row["difference"] is None:
        return str(row["verdict"])
    return f"{DIFFERS}: {'lower' if row['difference'] < 0 else 'higher'}"


def _build_mark(row: Row, tokens: Tokens) -> Mark:
    if row["difference"] is None or row["verdict"] in (NOT_RUN, BASELINE):
        return Mark()
    low, high = row["interval"] or (None, None)
    ends = f", 95 % interval {' to '.join(map(signed, row['interval']))}" if row["interval"] else ""
    color = {AGREES: tokens.accent, BETTER: tokens.ink}.get(row["verdict"], tokens.wrong)
    said = f"{signed(row['difference'])}{ends}: {describe_verdict(row)}"
    return Mark(row["difference"], low, high, row["verdict"] in (INCONCLUSIVE, ONE_SEED), color, said=said)


def _make_axis(marks: Sequence[Mark]) -> Axis:
    return EMPTY if all(mark.value is None for mark in marks) else columns.make_axis(marks, zero=0.0, signed=True)


def _write_value(row: Row, name: str) -> str:
    return format_value(row[name], row["unit"]).replace("-", MINUS) or "–"


def _write_runs(row: Row) -> str:
    spread = "" if row["sd"] is None else f"± {format_value(row['sd'], row['unit'])} "
    return f"{spread}× {row['n']}" if row["n"] else ""


def _write_points(row: Row) -> str:
    return "" if row["difference"] is None else signed(row["difference"], 1 if row["n"] else 2)


def _write_verdict(row: Row) -> TextCell:
    return TextCell(describe_verdict(row), strong=row["verdict"] in (AGREES, DIFFERS, BETTER), title=row["reason"])


def _build_difference_table(shown: PaperTable, tokens: Tokens) -> IntervalTable:
    rows = [{**row, "id": str(at), "ends": row["interval"] or (None, None)} for at, row in enumerate(shown.rows)]
    several = len({row["dataset"] for row in rows}) > 1
    first = next((row["id"] for row in rows if row["verdict"] == BASELINE), "")

    def write_name(row: Row) -> TextCell:
        name, _, small = row["row"].partition(" (") if row["verdict"] == BASELINE else (row["row"], "", "")
        small = row["dataset"] if several and row["dataset"] != row["row"] else small.rstrip(")")
        return TextCell(re.sub(r"(?<=[\[(])-", MINUS, name), small=small)

    named = [write_name(row) for row in rows if row["verdict"] != BASELINE]
    width = f"{min(max(len(cell.text) + len(cell.small) for cell in named) / 2 + 2.5, 15):.0f}rem"
    csv: dict[str, Any] = {name: name for name in ("row", "dataset", "metric", "unit")}
    ends = {"difference": "difference", "low": "ends.0", "high": "ends.1"}
    last: dict[str, Any] = {name: name for name in ("baseline", "verdict", "reason")}
    listed = (
        columns.name("name", name_metric(shown.metric), write_name, width, wrap=True, **csv),
        columns.text("told", "reported", lambda row: _write_value(row, "reported"), "4.7rem", reported="reported"),
        columns.text("own", "ours", lambda row: _write_value(row, "ours"), "4rem", ours="ours"),
        columns.text("runs", "± sd × runs", _write_runs, "6.4rem", soft=True, opt=True, sd="sd", n="n"),
        columns.interval("interval", "", lambda row: _build_mark(row, tokens), _make_axis, **ends),
        columns.text("points", "diff. × 100" if shown.metric in NO_SHARES else "points", _write_points, "3.7rem"),
        columns.name("said", "verdict", _write_verdict, "7.6rem", wrap=True, **last),
    )
    about = f"{shown.title}, {shown.describe()}, beside our results"
    return IntervalTable(about, listed, rows, "id", apart=lambda row: row["id"] == first)


def summarize_results(rows: Sequence[Row]) -> str:
    """Return how many of the reported numbers were compared and with what result, as a sentence."""
    counts = Counter(row["verdict"] for row in rows if row["reported"] is not None)
    said = ", ".join(f"{n} {words[n > 1]}" for verdict, words in COUNTED.items() if (n := counts[verdict]))
    return f"{counts.total() - counts[NOT_RUN]} of {counts.total()} numbers compared{said and f': {said}'}."


def summarize_baselines(rows: Sequence[Row]) -> str:
    """Return how often TF-IDF scores above our means and above the reported numbers, as a sentence."""
    known = [row for row in rows if None not in (row["baseline"], row["ours"], row["reported"])]
    known = [row for row in known if not row["metric"].endswith(("fpr", "fnr"))]  # lower is better
    ours, reported = (sum(row["baseline"] > row[name] for row in known) for name in ("ours", "reported"))
    if not known:
        return "TF-IDF has no number to compare here."
    return f"TF-IDF beats {ours} of our {len(known)} mean scores and {reported} of {len(known)} reported ones."


DIFFERENCES = Figure("paper-table", "papers", lambda shown: shown.title).add_details(
    read=_read_table,
    draw=lambda shown, look: build_component(_build_difference_table(shown, look.tokens).marks, look),
    note=PaperTable.describe,
    reading="Pink: interval excludes 0. Teal: within ± 1.5. Ring: neither, or one seed.",
    finding=lambda shown: summarize_results(shown.rows),
    how="Bar: 95 % interval of ours − reported. It counts the test rows of both sides and our seeds. Verdicts in order "
    "of testing: *better than the paper allows* (one-sided, 5 %: look for a leak or an easier protocol), *differs* "
    "(the interval excludes 0), *agrees* (it lies within ± 1.5), *inconclusive*. Points are hundredths of a share, "
    "silhouette or λ.",
    tables=lambda shown: {"Table": _build_difference_table(shown, Look().tokens).frame},
)


def list_results(shown: PaperTable) -> list[Row]:
    """Return the rows with a result of ours; NotAvailable: there are none."""
    rows = [row for row in shown.rows if row["ours"] is not None and row["verdict"] != BASELINE]
    if not rows:
        raise NotAvailable(f"{shown.title} has no result of ours")
    if len({row["row"] for row in rows}) < len(rows):
        return [{**row, "row": f"{row['row']}, {row['dataset']}"} for row in rows]
    return rows


def _draw_results(shown: PaperTable, look: Look) -> go.Figure:
    t, rows, size = look.tokens, list_results(shown), look.scale_size
    boxed = [row for row in rows if len(row["values"]) >= BOXED]
    titles = ["ours (filled) and reported", *(["runs of ours, and reported (diamond)"] if boxed else [])]
    figure = Panels(look, [titles], height=max(220, 60 * len(rows) + 90), shared_yaxes=True, horizontal_spacing=0.04)
    ends = [(row["ours"] - (row["sd"] or 0), row["ours"] + (row["sd"] or 0)) for row in rows]
    hatched = {"shape": "/", "fgcolor": t.muted, "bgcolor": t.paper, "size": 7}
    whiskers = {"error_x": make_whiskers([row["ours"] for row in rows], ends, size(1.6), t.ink)}
    for name, marker in {"ours": {"color": t.accent}, "reported": {"color": t.muted, "pattern": hatched}}.items():
        bar = {"x": [row[name] for row in rows], "y": [escape_text(row["row"]) for row in rows], "orientation": "h"}
        bar |= {"text": [f"{name} {_write_value(row, name)}" for row in rows], "textposition": "none"}
        figure.add_bar(**bar, marker=marker, hover="%{y}: %{text}", **whiskers if name == "ours" else {})
    dots = {"boxpoints": "all", "jitter": 0.5, "pointpos": 0, "marker": {"color": t.ink, "size": size(5)}}
    dots |= {"line": {"color": t.accent, "width": size(1.6)}, "fillcolor": blend_colors(t.paper, t.accent, 0.2)}
    for row in boxed:
        y, hover = [escape_text(row["row"])] * len(row["values"]), f"reported {_write_value(row, 'reported')}"
        figure.add_box(col=2, orientation="h", x=row["values"], y=y, **dots)
        figure.add_scatter(col=2, x=[row["reported"]], y=y[:1], dots=(t.wrong, 11, SYMBOLS[1]), hover=hover)
    unit = rows[0]["unit"]
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont={"color": t.ink})
    figure.update_xaxes(title=f"{name_metric(shown.metric)}{unit and f', {unit}'}", showgrid=True)
    figure.update_layout(barmode="group", bargap=0.3, bargroupgap=0.06)
    return figure.build_figure()


def _read_results(source: Source) -> PaperTable:
    shown = _read_table(source)
    list_results(shown)
    return shown


RESULTS = Figure("paper-bars", "papers", "Ours and reported", _read_results, _draw_results).add_details(
    note=lambda shown: f"{shown.title}, {shown.describe()}",
    reading=lambda shown: (
        "Error bars: one standard deviation."
        + " Boxes: quartiles of seeds or folds." * any(len(row["values"]) >= BOXED for row in list_results(shown))
    ),
    tables=lambda shown: {"Runs": pd.DataFrame(list_results(shown))[["row", "reported", "ours", "sd", "values"]]},
)


def _draw_confusion(shown: PaperTable, look: Look) -> go.Figure:
    t, names = look.tokens, ("negative", "positive")
    rates = {row["metric"]: row for row in shown.table["rows"] if row["reported"] is not None}

    def get_share(i: int, j: int, name: str) -> float | None:
        value = rates[CORNERS[i]][name]
        return value if i == j or value is None else 100 - value

    def write_cell(i: int, j: int) -> str:
        told, ours = (get_share(i, j, name) for name in ("reported", "ours"))
        own = "–" if ours is None else number(ours, 1)
        return f"<b style='font-size:1.5em'>{number(told or 0, 1)}</b><br>ours {own}"

    return draw_bar_matrix(
        look,
        [f"true<br><b>{name}</b>" for name in names],
        [f"predicted <b>{name}</b>" for name in names],
        color=lambda i, j: blend_colors(
            t.paper, t.right if i == j else t.wrong, (get_share(i, j, "reported") or 0) / 250
        ),
        words=write_cell,
        hover=lambda i, j: f"label {names[i]}, predicted {names[j]}: {write_cell(i, j)}",
        height=330,
    )


def check_confusion(shown: PaperTable) -> PaperTable:
    """Return the same table if it has a confusion matrix; NotAvailable: it has none."""
    if not set(CORNERS) <= set(list_metrics(shown.table)):
        raise NotAvailable("the table has no confusion matrix")
    return shown


def _read_confusion(source: Source) -> PaperTable:
    paper = find_paper_of(source)
    table = reproduce(paper)["tables"][-1]
    return check_confusion(PaperTable(paper, table, list_metrics(table)[0]))


CONFUSION = Figure("paper-confusion", "papers", "Confusion matrix, reported and ours").add_details(
    read=_read_confusion,
    draw=_draw_confusion,
    note=PaperTable.describe,
    reading="% of each true class. Large: reported.",
)


def _read_effect(source: Source) -> dict[str, Any]:
    if find_paper_of(source) != "lexical":
        raise NotAvailable("only models with a sentiment lexicon have its effect")
    return reproduction.measure_lexicon_effect()


def _draw_effect(found: dict[str, Any], look: Look) -> go.Figure:
    t, ways = look.tokens, found["ways"]
    figure, means = Panels(look, [[""]], height=100 + 60 * len(ways)), [way["mean"] for way in ways]
    whiskers = make_whiskers(means, [way["interval"] for way in ways], look.scale_size(1.8), t.accent)
    dots = [(value, at + 0.22) for at, way in enumerate(ways) for value in way["values"]]
    x, y = zip(*dots, strict=True)
    figure.add_scatter(x=means, y=[0, 1, 2], error_x=whiskers, dots=(t.accent, 11), hover="%{x:.2f} %")
    figure.add_scatter(x=x, y=y, dots=(t.muted, 6), hover="%{x:.2f} %")
    figure.update_xaxes(title="accuracy, %", showgrid=True)
    figure.update_yaxes(tickvals=[0, 1, 2], ticktext=[way["way"] for way in ways], range=[2.5, -0.5])
    return figure.build_figure()


def summarize_effect(found: Mapping[str, Any]) -> str:
    """Return what σ does to answers when a model reads, and to accuracy when it learns, as two sentences."""
    effect, few = found["ways"][-1]["effect"], f"{count(found['changed'])} of {count(found['answers'])}"
    clear = "changes accuracy" if effect["verdict"] == DIFFERS else "makes no clear difference"
    told = f"{clear}: {signed(effect['difference'])} points ({' to '.join(map(signed, effect['interval']))})."
    return f"Reading without σ changes {few} answers. Learning without it {told}"


EFFECT = Figure("lexicon-effect", "papers", "Effect of the lexicon", _read_effect, _draw_effect).add_details(
    note=f"SST-2, {count(2000)} training rows, encoder from scratch",
    reading="Large: mean of seeds, 95 % interval. Small: one seed.",
    finding=summarize_effect,
    how="Direct effect: `lexical-last` reads with σ off (`--edit s:0`). Indirect: `lexical-none` learns without it.",
    tables=lambda found: {"Effect": pd.json_normalize(found["ways"])},
)


@dataclass(frozen=True)
class ClaimList:
    """The claims of a paper as plain data."""

    paper: str
    rows: Sequence[Row]


def read_claims(paper: str) -> ClaimList:
    """Read the claims of a paper, given by its key."""
    return ClaimList(paper, claims(paper)["claims"])


def _draw_claims(shown: ClaimList, look: Look) -> Component:
    t, rows = look.tokens, []
    for at, row in enumerate(shown.rows):
        color = {HOLDS: t.accent, NOT: t.wrong}.get(row["verdict"], t.right)
        said = {"verdict": TextCell(row["verdict"], strong=row["verdict"] == NOT, dot=color)}
        texts = {name: row[name].replace(" %", "\u00a0%") for name in ("claim", "count", "sentence")}
        more = {"claim": TextCell(texts["sentence"], small=row["source"])}
        head = {"claim": TextCell(texts["claim"], small=f"recomputed: {texts['count']}")}
        rows.append(IntervalRow(str(at), head | said, (IntervalRow(f"{at}+", more),)))
    heads = IntervalColumn("claim", "Claim", wrap=True), IntervalColumn("verdict", "verdict", "9.2rem", wrap=True)
    return build_component(Marks(f"Claims of the {PAPERS[shown.paper]} paper", heads, tuple(rows), height=2.2), look)


CLAIMS = Figure("paper-claims", "papers", "Claims").add_details(
    read=lambda source: read_claims(find_paper_of(source)),
    draw=_draw_claims,
    note="from reported numbers",
    reading="Unfold a claim to see what the paper's own numbers give.",
    finding=lambda shown: count_verdicts(shown.rows),
    tables=lambda shown: {"Claims": pd.DataFrame(shown.rows)},
)


def _draw_growth(found: dict[str, Any], look: Look) -> go.Figure:
    t, rows = look.tokens, found["lengths"]
    titles = [*(title for title, _ in SPEEDS.values()), "times faster"]
    figure = Panels(look, [titles], height=340, horizontal_spacing=0.09)
    x = [row["tokens"] for row in rows]
    corner: dict[str, Any] = {"x": 1, "xref": "x domain", "yref": "y domain", "xanchor": "right", "yanchor": "bottom"}
    for column, (key, (_, unit)) in enumerate(SPEEDS.items(), start=1):
        for way, color in (("sparse", t.accent), ("full", t.muted)):
            way_of: dict[str, Any] = {"mode": "lines+markers", "stroke": (color, 2.4), "hover": f"{way}: %{{y:.3g}}"}
            figure.add_scatter(col=column, x=x, y=[row[way][key] / unit for row in rows], **way_of)
            if slope := found["slopes"][way][key]:
                text, height = f"{way}: length<sup>{slope:.2f}</sup>", 0.02 + 0.11 * (way == "full")
                figure.add_annotation(col=column, **corner, y=height, text=text, font={"color": color})
    lines = ("faster", "measured", (t.accent, 2, "solid"), 0.02), ("theory", "n/(k + s)", (t.ink, 2, "dash"), 0.13)
    for key, words, stroke, height in lines:
        figure.add_scatter(col=3, x=x, y=[row[key] for row in rows], stroke=stroke, hover=f"{words}: %{{y:.1f}}")
        figure.add_annotation(col=3, **corner, y=height, text=words, font={"color": stroke[0]})
    ticks = x[::2]
    figure.update_xaxes(type="log", title="tokens", tickvals=ticks, ticktext=[count(each) for each in ticks])
    figure.update_yaxes(type="log", dtick=1)
    return figure.build_figure()


GROWTH = Figure("attention-growth", "papers", "Speed by length").add_details(
    read=lambda source: read_speed(),
    draw=_draw_growth,
    note=lambda found: f"{found['processor']}, {found['threads']} threads; slopes from 1\u202f024 tokens",
    reading="One text through SentiFormer, sparse or full attention. Dashed: pairs saved.",
    how="Random weights and tokens, median of passes: `sentiscope efficiency`. PyTorch's fused attention keeps no map "
    "of all pairs, so that its memory grows linearly too.",
)
