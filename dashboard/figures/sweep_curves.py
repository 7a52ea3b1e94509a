"""Figure of a sweep over a numeric setting: a line and a band per model, TF-IDF dashed, and the fitted error."""

from typing import Any

import plotly.graph_objects as go

from core.config import SETTINGS
from core.formatting import number
from core.metrics import format_title
from core.runs.sweep_curves import ROWS
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import SYMBOLS, Look, spread_labels


def draw_curves(shown: dict[str, Any], look: Look) -> go.Figure:
    """Draw a metric over a setting: per model the mean of its runs with its standard deviation, and TF-IDF dashed."""
    t, size, curves = look.tokens, look.scale_size, shown["curves"]
    figure = Panels(look, [[""]], height=380)
    ends: list[tuple[str, float, str]] = []
    for place, curve in enumerate(curves):
        color = t.categories[place % len(t.categories)]
        points = curve["points"]
        x, mean = ([point[key] for point in points] for key in ("x", "mean"))
        low, high = ([each["mean"] + sign * (each["deviation"] or 0.0) for each in points] for sign in (-1, 1))
        band: dict[str, Any] = {"fill": "toself", "fillcolor": color, "opacity": 0.16, "line": {"width": 0}}
        figure.add_scatter(x=[*x, *x[::-1]], y=[*high, *low[::-1]], mode="lines", hoverinfo="skip", **band)
        figure.add_scatter(
            x=x,
            y=mean,
            mode="lines+markers",
            line={"color": color, "width": size(2.4)},
            marker={"size": size(8), "symbol": SYMBOLS[place % len(SYMBOLS)]},
            customdata=[point["n"] for point in points],
            hovertemplate=f"{escape_text(curve['label'])}: %{{y:.3f}}, n = %{{customdata}}<extra></extra>",
        )
        ends.append((curve["label"], mean[-1], color))
    if tfidf := shown["yardstick"]:
        x, y = ([each[key] for each in tfidf] for key in ("x", "mean"))
        dashed = {"color": t.ink, "dash": "dash", "width": size(1.6)}
        figure.add_scatter(x=x, y=y, mode="lines", line=dashed, hovertemplate="TF-IDF %{y:.3f}<extra></extra>")
        ends.append(("TF-IDF", tfidf[-1]["mean"], t.ink))
    every = [point["mean"] for curve in curves for point in curve["points"]] + [each["mean"] for each in tfidf]
    gap = 0.07 * (max(every) - min(every) or 1.0)
    for (label, _, color), height in zip(ends, spread_labels([value for _, value, _ in ends], gap), strict=True):
        font = {"color": color, "size": size(14.5)}
        beside: dict[str, Any] = {"x": 1, "xref": "x domain", "xanchor": "left", "xshift": 8}
        figure.add_annotation(y=height, **beside, text=escape_text(label), font=font)
    ticks = sorted({point["x"] for curve in curves for point in curve["points"]})
    kind = "log" if shown["logarithmic"] else "linear"
    names = [f"{x:,.6g}".replace(",", "\u202f") for x in ticks]
    figure.update_xaxes(title=escape_text(name_setting(shown["setting"])), type=kind, tickvals=ticks, ticktext=names)
    figure.update_yaxes(title=escape_text(format_title(shown["metric"])), tickformat=".2f")
    figure.update_layout(margin={"t": 12, "r": size(190)})
    return figure.build_figure()


def name_setting(setting: str) -> str:
    """Return the words for a setting on an axis, such as `training rows` for `data.limit`."""
    return "training rows" if setting == ROWS else SETTINGS[setting].label


def describe_fits(shown: dict[str, Any]) -> str:
    """Describe the fitted error of each model as a formula; empty if the setting is not the number of rows."""
    fits = [(each["label"], each["error"]) for each in shown["curves"] if each["error"]]
    told = [f"{label} {number(fit['a'])} + {fit['b']:.2f}·n^−{fit['c']:.2f}" for label, fit in fits]
    return f"Fitted error over n rows: {'; '.join(told)}." if told else ""


CURVES = Figure[dict[str, Any]](
    "sweep-curves",
    "sweeps",
    lambda shown: f"{format_title(shown['metric'])} by {name_setting(shown['setting'])}",
    None,
    draw_curves,
    reading="Line: mean of runs. Band: ± standard deviation. Dashed: TF-IDF.",
    note=describe_fits,
    how="The fit is a + b·n^−c by least squares, with a and b at least 0. Few sizes leave a, the error of endless "
    "data, uncertain.",
)
