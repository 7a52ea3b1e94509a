"""Figures of SentiFormer's theory: attention as a kernel, labels learned by heart, accuracy over length, two maps."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.api.papers import tabulate_kernel, tabulate_markov
from core.formatting import whole_percent
from dashboard.figures.drawing import Panels, escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.theme import SYMBOLS, Look

Found = dict[str, Any]
SHOWN = 14
"""Most tokens of a text that are drawn."""


def _draw_kernel(found: Found, look: Look) -> go.Figure:
    t = look.tokens
    tokens = [f"{place}. {token}" for place, token in enumerate(map(escape_text, found["tokens"][:SHOWN]), 1)]
    kernel, weights, maps = (np.array(found[key])[:, 0, :SHOWN] for key in ("kernel", "weights", "maps"))
    titles = ["gate", *(f"head {head}" for head in range(1, len(maps) + 1))]
    figure = Panels(look, [titles], height=30 * len(tokens) + 90, shared_yaxes=True, horizontal_spacing=0.02)
    bar: dict[str, Any] = {"y": tokens, "orientation": "h"}
    figure.add_bar(x=found["gates"][:SHOWN], marker={"color": t.muted}, hover="%{y}: %{x:.3f}", **bar)
    bar |= {"marker": {"color": t.accent}, "hover": "%{y}: kernel %{customdata:.3f}, share %{x:.6f}"}
    ring: dict[str, Any] = {"y": tokens, "cliponaxis": False, "dots": (t.ink, 10, "circle-open")}
    for column, (own, share, read) in enumerate(zip(kernel, weights, maps, strict=True), 2):
        figure.add_bar(col=column, x=share, customdata=own, **bar)
        figure.add_scatter(col=column, x=read, hover="%{y}: attention %{x:.6f}", **ring)
    figure.update_yaxes(autorange="reversed", showgrid=False, tickfont={"color": t.ink})
    figure.update_xaxes(range=[0, 1.06], tickvals=[0, 0.5, 1], showgrid=True)
    return figure.build_figure()


def _draw_memory(found: Found, look: Look) -> go.Figure:
    t, size = look.tokens, look.scale_size
    figure = Panels(look, [[""]], height=340)
    for place, row in enumerate(found["rows"]):
        x, y = ([point[key] for point in row["course"]] for key in ("step", "accuracy"))
        color, name = t.categories[place], f"seed {row['seed']}"
        figure.add_scatter(x=x, y=y, stroke=(color, 2.4), hover=f"{name}, step %{{x}}: %{{y:.3f}}")
        figure.add_end_labels([(name, y[-1], color)], 0, x=x[-1], xshift=6, bgcolor=t.paper)
    best = max(row["counts"] for row in found["rows"])
    figure.add_hline(best, line={"color": t.ink, "dash": "dash", "width": size(1.6)})
    told: dict[str, Any] = {"x": 1, "xref": "x domain", "xanchor": "right", "yanchor": "top", "yshift": -3}
    figure.add_annotation(y=best, **told, text=f"most that word counts allow: {whole_percent(best)}")
    figure.update_xaxes(title="training step")
    figure.update_yaxes(title="share of labels learned", tickformat=".1f", range=[0.4, 1.03])
    figure.update_layout(margin={"r": size(60)})
    return figure.build_figure()


def _draw_markov(found: Found, look: Look) -> go.Figure:
    t, lengths = look.tokens, found["lengths"]
    figure = Panels(look, [[""]], height=380)
    for place, (name, y) in enumerate(found["means"].items()):
        dash = "dash" if name == "transformer" else "solid"  # the LSTM is below it
        stroke, dots = (t.categories[place], 3 if min(y) > 0.9 else 2, dash), (None, 9, SYMBOLS[place])
        figure.add_scatter(x=lengths, y=y, stroke=stroke, dots=dots, hover=f"{name}, %{{x}} words: %{{y:.3f}}")
    figure.add_hline(0.5, line={"color": t.ink, "dash": "dash", "width": look.scale_size(1.4)})
    ends = [(name, y[-1], t.categories[place]) for place, (name, y) in enumerate(found["means"].items())]
    figure.add_end_labels(ends, 0.045, x=1, xref="x domain", xshift=8)
    figure.update_xaxes(title="words of a text, n", type="log", tickvals=lengths, ticktext=list(map(str, lengths)))
    figure.update_yaxes(title="accuracy on the hard texts", tickformat=".2f", range=[0.36, 1.03])
    figure.update_layout(margin={"t": 12, "r": look.scale_size(120)})
    return figure.build_figure()


def _draw_maps(found: Found, look: Look) -> go.Figure:
    rows, t = found["maps"]["rows"], look.tokens
    words = [f"{place}. {row['word']}" for place, row in enumerate(rows, 1)]
    figure = Panels(look, [["head 1: first word", "head 2: last word"]], height=260, horizontal_spacing=0.05)
    for column in (1, 2):
        y = [row[f"head_{column}"] for row in rows]
        figure.add_bar(col=column, x=words, y=y, marker={"color": t.ink}, hover="%{x}: %{y:.4f}")
    figure.update_yaxes(range=[0, 1.05], tickvals=[0, 0.5, 1])
    figure.update_xaxes(tickangle=-45, tickfont={"color": t.ink})
    return figure.build_figure()


FINDING: dict[str, Any] = {"finding": lambda found: str(found["finding"])}
KERNEL = Figure("theory-kernel", "theory", "Kernel smoother and attention", draw=_draw_kernel).add_details(
    **FINDING,
    note=lambda found: f"layer {found['layer']}, from “{found['tokens'][0]}”",
    reading="Bar: kernel × gate, as a share of its row. Ring: attention of the model.",
    how="$K(x_i,x_j)=\\exp(q_i\\cdot k_j/\\sqrt e)$ is computed by numpy in float64 from the model's queries "
    "and keys (section III.B, Definition 1). The gate of eq. 4 multiplies the kernel of its key. Outputs are "
    "means of the values with these shares, so they stay inside their hull.",
    tables=lambda found: {"Kernel": pd.DataFrame(tabulate_kernel(found))},
)
MEMORISE = Figure("theory-memorise", "theory", "Random labels learned by heart", draw=_draw_memory).add_details(
    **FINDING,
    note=lambda found: f"{found['sequences']} sequences, {found['seconds']:.0f} s on one core",
    reading="All sequences of 1 to 4 symbols from 4. Each has a random label.",
    how="A transformer of one layer and two heads, width 32, feed-forward 512 (section III.C, Proposition 1). "
    "It shows capacity on a finite domain, not that anything is learned about new sequences.",
    tables=lambda found: {
        "Course": pd.DataFrame([{"seed": row["seed"], **at} for row in found["rows"] for at in row["course"]])
    },
)
MARKOV = Figure("theory-markov", "theory", "Accuracy by length", draw=_draw_markov).add_details(
    **FINDING,
    note=lambda found: f"mean of {len(found['seeds'])} seeds, {found['seconds']:.0f} s on one core",
    reading="Texts that end with “good”: positive if the first word is “not”. Dashed: guessing.",
    how="A text is positive if its first word is *not* and its last is *good* (section III.C, Proposition 2). "
    "The four cases are equally frequent; *not* and *good* also occur in between, where they mean nothing. A "
    "window of k words is a Markov model of that order. Each point is a training on fresh texts.",
    tables=lambda found: {"Accuracy": pd.DataFrame(tabulate_markov(found)), "Trainings": pd.DataFrame(found["rows"])},
)
MAPS = Figure("theory-maps", "theory", "Weights set by hand", draw=_draw_maps).add_details(
    note=lambda found: f"{len(found['maps']['rows'])} words, P(positive) = {found['maps']['positive']:.3f}",
    reading="Attention of the class token to each word.",
    how="The weights are set, not learned: exact for every length up to 64. Head 1 looks for the largest "
    "cosine of the recency in eq. 3, head 2 for the smallest. Their contrast shrinks with n², so scores are "
    "multiplied by 20 000.",
    tables=lambda found: {"Maps": pd.DataFrame(found["maps"]["rows"])},
)
FIGURES = {"kernel": (KERNEL,), "memorise": (MEMORISE,), "markov": (MARKOV, MAPS)}
"""By experiment."""
