"""Figure of time and memory over the length of a text, for sparse and full attention (SentiFormer, section V)."""

from typing import Any

import plotly.graph_objects as go

from core.formatting import count
from core.papers.reported_results import read_speed
from dashboard.figures.figure import Figure
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import Look

PANELS = {"milliseconds": ("time, ms", 1.0), "memory": ("memory, MB", 1e6)}


def draw_growth(found: dict[str, Any], look: Look) -> go.Figure:
    """Draw measured time and memory over length on logarithmic axes, and how many times faster sparse attention is."""
    t, size, rows = look.tokens, look.scale_size, found["lengths"]
    titles = [*(title for title, _ in PANELS.values()), "times faster"]
    figure = Panels(look, [titles], height=340, horizontal_spacing=0.09)
    x = [row["tokens"] for row in rows]
    corner: dict[str, Any] = {"x": 1, "xref": "x domain", "yref": "y domain", "xanchor": "right", "yanchor": "bottom"}
    for column, (key, (_, unit)) in enumerate(PANELS.items(), start=1):
        for way, color in (("sparse", t.accent), ("full", t.muted)):
            y = [row[way][key] / unit for row in rows]
            line = {"color": color, "width": size(2.4)}
            hover = f"{way}: %{{y:.3g}}<extra></extra>"
            figure.add_scatter(col=column, x=x, y=y, mode="lines+markers", line=line, hovertemplate=hover)
            if slope := found["slopes"][way][key]:
                font, height = {"color": color, "size": size(14.5)}, 0.02 + 0.11 * (way == "full")
                text = f"{way}: length<sup>{slope:.2f}</sup>"
                figure.add_annotation(col=column, **corner, y=height, text=text, font=font)
    for key, words, dash in (("faster", "measured", "solid"), ("theory", "n/(k + s)", "dash")):
        line = {"color": t.accent if key == "faster" else t.ink, "dash": dash, "width": size(2)}
        y = [row[key] for row in rows]
        hover = f"{words}: %{{y:.1f}}<extra></extra>"
        figure.add_scatter(col=3, x=x, y=y, mode="lines", line=line, hovertemplate=hover)
        font, height = {"color": line["color"], "size": size(14.5)}, 0.02 + 0.11 * (key == "theory")
        figure.add_annotation(col=3, **corner, y=height, text=words, font=font)
    ticks = x[::2]
    figure.update_xaxes(type="log", title="tokens", tickvals=ticks, ticktext=[count(each) for each in ticks])
    figure.update_yaxes(type="log", dtick=1)
    return figure.build_figure()


GROWTH = Figure[dict[str, Any]](
    "attention-growth",
    "papers",
    "Speed by length",
    lambda source: read_speed(),
    draw_growth,
    note=lambda found: f"{found['processor']}, {found['threads']} threads; slopes from 1\u202f024 tokens",
    reading="One text through SentiFormer, sparse or full attention. Dashed: pairs saved.",
    how="Random weights and tokens, median of passes: `sentiscope efficiency`. PyTorch's fused attention keeps no map "
    "of all pairs, so that its memory grows linearly too.",
)
