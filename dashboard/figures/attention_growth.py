"""Figure of time and memory over the length of a text, for sparse and full attention (SentiFormer, section V)."""

from typing import Any

import plotly.graph_objects as go

from core.formatting import count
from core.papers.reported_results import read_speed
from dashboard.figures.figure import Figure
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import Look

PANELS = {"milliseconds": ("time, ms", 1.0), "memory": ("memory, MB", 1e6)}


def _draw_growth(found: dict[str, Any], look: Look) -> go.Figure:
    t, rows = look.tokens, found["lengths"]
    titles = [*(title for title, _ in PANELS.values()), "times faster"]
    figure = Panels(look, [titles], height=340, horizontal_spacing=0.09)
    x = [row["tokens"] for row in rows]
    corner: dict[str, Any] = {"x": 1, "xref": "x domain", "yref": "y domain", "xanchor": "right", "yanchor": "bottom"}
    for column, (key, (_, unit)) in enumerate(PANELS.items(), start=1):
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
