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
from dashboard.figures.theme import SYMBOLS, Look


def draw_curves(shown: dict[str, Any], look: Look) -> go.Figure:
    """Draw a metric over a setting: per model the mean of its runs with its standard deviation, and TF-IDF dashed."""
    t, curves = look.tokens, shown["curves"]
    figure = Panels(look, [[""]], height=380)
    ends: list[tuple[str, float, str]] = []
    for place, curve in enumerate(curves):
        color = t.categories[place % len(t.categories)]
        points = curve["points"]
        x, mean, many = ([point[key] for point in points] for key in ("x", "mean", "n"))
        ranges = [[each["mean"] + sign * (each["deviation"] or 0.0) for each in points] for sign in (-1, 1)]
        figure.add_band(x, ranges, color)
        own: dict[str, Any] = {"stroke": (color, 2.4), "dots": (None, 8, SYMBOLS[place % len(SYMBOLS)])}
        own |= {"customdata": many, "hover": f"{escape_text(curve['label'])}: %{{y:.3f}}, n = %{{customdata}}"}
        figure.add_scatter(x=x, y=mean, **own)
        ends.append((escape_text(curve["label"]), mean[-1], color))
    if tfidf := shown["yardstick"]:
        x, y = ([each[key] for each in tfidf] for key in ("x", "mean"))
        figure.add_scatter(x=x, y=y, stroke=(t.ink, 1.6, "dash"), hover="TF-IDF %{y:.3f}")
        ends.append(("TF-IDF", tfidf[-1]["mean"], t.ink))
    every = [point["mean"] for curve in curves for point in curve["points"]] + [each["mean"] for each in tfidf]
    figure.add_end_labels(ends, 0.07 * (max(every) - min(every) or 1.0), x=1, xref="x domain", xshift=8)
    ticks = sorted({point["x"] for curve in curves for point in curve["points"]})
    kind = "log" if shown["logarithmic"] else "linear"
    names = [f"{x:,.6g}".replace(",", "\u202f") for x in ticks]
    figure.update_xaxes(title=escape_text(_name_setting(shown["setting"])), type=kind, tickvals=ticks, ticktext=names)
    figure.update_yaxes(title=escape_text(format_title(shown["metric"])), tickformat=".2f")
    figure.update_layout(margin={"t": 12, "r": look.scale_size(190)})
    return figure.build_figure()


def _name_setting(setting: str) -> str:
    return "training rows" if setting == ROWS else SETTINGS[setting].label


def describe_fits(shown: dict[str, Any]) -> str:
    """Describe the fitted error of each model as a formula; empty if the setting is not the number of rows."""
    fits = [(each["label"], each["error"]) for each in shown["curves"] if each["error"]]
    told = [f"{label} {number(fit['a'])} + {fit['b']:.2f}·n^−{fit['c']:.2f}" for label, fit in fits]
    return f"Fitted error over n rows: {'; '.join(told)}." if told else ""


CURVES = Figure("sweep-curves", "sweeps", draw=draw_curves).add_details(
    title=lambda shown: f"{format_title(shown['metric'])} by {_name_setting(shown['setting'])}",
    reading="Line: mean of runs. Band: ± standard deviation. Dashed: TF-IDF.",
    note=describe_fits,
    how="The fit is a + b·n^−c by least squares, with a and b at least 0. Few sizes leave a, the error of endless "
    "data, uncertain.",
)
