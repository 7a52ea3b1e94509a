"""Colours, line widths and the Plotly template of all charts; no other module styles charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x")
"""Marker shapes of several series, for readers who cannot distinguish their colours."""
SANS = "Source Sans, Helvetica, Arial, sans-serif"  # a valid CSS list: Plotly turns anything else into Arial
COLORS = ("paper", "panel", "ink", "muted", "accent", "plus", "minus", "wrong", "right")  # of pages without a chart
LEGIBLE = 4.5  # contrast of text that WCAG 2 (AA) requires


@dataclass(frozen=True)
class Tokens:
    """Colours of the light or dark theme as #RRGGBB, each named after its meaning."""

    paper: str  # background, and zero in every colour scale
    panel: str  # sidebar, hover label, selection bar
    ink: str  # text and important reference lines
    muted: str  # captions, tick labels
    grid: str  # gridlines, rules
    accent: str  # links, buttons and the main series
    plus: str  # positive class and effects towards it; never attention, which is ink
    minus: str  # negative class and effects towards it
    wrong: str  # an error
    right: str  # correct predictions, which should not stand out
    categories: tuple[str, ...]  # unordered series, in order of use; six at most
    ordinal: tuple[str, str, str, str]  # four ordered steps (layers, epochs) that all stay readable as lines
    plus_scale: tuple[str, ...]  # zero to strongest
    minus_scale: tuple[str, ...]

    def select_colors(self, *names: str) -> dict[str, str]:
        """Return the named colours as plain data for a browser component."""
        return {name: getattr(self, name) for name in names}

    @property
    def ink_scale(self) -> tuple[str, ...]:
        """Return the colours of attention weights, six steps from background colour to text colour."""
        return tuple(blend_colors(self.paper, self.ink, step / 5) for step in range(6))


LIGHT = Tokens(
    paper="#FDFCFA",
    panel="#F3F1EB",
    ink="#22262B",
    muted="#5C636B",
    grid="#E4E1D8",
    accent="#0A6460",
    plus="#0B63A5",
    minus="#BE4E08",
    wrong="#8E0F52",
    right="#7A828C",
    categories=("#3F9168", "#54397E", "#2A9BCB", "#704A00", "#0B63A5", "#BE4E08"),
    ordinal=("#8A8F96", "#5E8F8C", "#0A6460", "#062F2D"),
    plus_scale=("#FDFCFA", "#C8DCEB", "#9CC2DE", "#69A2CE", "#0B63A5", "#08345B"),
    minus_scale=("#FDFCFA", "#F5D9C5", "#E8AC84", "#D97B3C", "#BE4E08", "#6E2C03"),
)
DARK = Tokens(
    paper="#15181C",
    panel="#1E2328",
    ink="#E9E7E2",
    muted="#A3A9B0",
    grid="#2B3036",
    accent="#63C5BC",
    plus="#6FB3EC",
    minus="#F0914B",
    wrong="#FF8FC4",
    right="#747C85",
    categories=("#3FA083", "#9C78DA", "#9BE3FB", "#F4DE66", "#6FB3EC", "#F0914B"),
    ordinal=("#7B838C", "#4E918C", "#63C5BC", "#D5F3EF"),
    plus_scale=("#15181C", "#20405A", "#2B6797", "#4389C4", "#6FB3EC", "#CBE3F9"),
    minus_scale=("#15181C", "#4A3020", "#7D4620", "#C26E30", "#F0914B", "#FBD3B4"),
)


def write_colors() -> str:
    """Return the colours of the light and dark themes as CSS variables."""
    names = {**{name: name for name in COLORS}, "rule": "grid"}
    pairs = {name: (getattr(LIGHT, token), getattr(DARK, token)) for name, token in names.items()}
    return "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in pairs.items())


@dataclass(frozen=True)
class Look:
    """Style of a figure: light or dark, for a screen or for a projector."""

    dark: bool = False
    projector: bool = False

    @property
    def tokens(self) -> Tokens:
        """Return the colours of the light or dark theme."""
        return DARK if self.dark else LIGHT

    def scale_size(self, pixels: float) -> float:
        """Return a line width or font size, enlarged for a projector."""
        return pixels * (1.3 if self.projector else 1.0)

    def scale_height(self, pixels: int) -> int:
        """Return a figure height, enlarged for a projector."""
        return round(pixels * (1.2 if self.projector else 1.0))


def compute_luminance(color: str) -> float:
    """Compute the relative luminance of #RRGGBB (WCAG 2), 0 to 1."""
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def compute_contrast(first: str, second: str) -> float:
    """Compute the contrast ratio of two colours (WCAG 2), 1 to 21."""
    low, high = sorted((compute_luminance(first) + 0.05, compute_luminance(second) + 0.05))
    return high / low


def choose_text_color(tokens: Tokens, background: str) -> str:
    """Return a readable text colour for a background: a theme colour, or black or white if contrast is too low."""

    def measure_contrast(color: str) -> float:
        return compute_contrast(color, background)

    best = max((tokens.ink, tokens.paper), key=measure_contrast)
    return best if measure_contrast(best) >= LEGIBLE else max(("#000000", "#FFFFFF"), key=measure_contrast)


def blend_colors(first: str, second: str, share: float) -> str:
    """Return the colour that lies `share` (0 to 1) of the way from `first` to `second`."""
    share = min(max(share, 0.0), 1.0)
    mixed = (round(int(first[i : i + 2], 16) * (1 - share) + int(second[i : i + 2], 16) * share) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02X}" for part in mixed)


def make_sequential_scale(tokens: Tokens) -> list[list[Any]]:
    """Return Plotly's colour scale for counts and attention weights, from background colour to text colour."""
    return _make_stops(tokens.ink_scale)


def _make_stops(colors: Sequence[str]) -> list[list[Any]]:
    return [[i / (len(colors) - 1), color] for i, color in enumerate(colors)]


def make_two_sided_scale(tokens: Tokens) -> list[list[Any]]:
    """Return Plotly's scale for signed attention, where w and −w differ only in the hatching; set zmin = -zmax."""
    return _make_stops([*reversed(tokens.ink_scale[1:]), *tokens.ink_scale])


def make_diverging_scale(tokens: Tokens) -> list[list[Any]]:
    """Return Plotly's colour scale for signed attributions; with zmin = -zmax, zero has the background colour."""
    return _make_stops([*reversed(tokens.minus_scale[1:]), *tokens.plus_scale])


def shade_signed(tokens: Tokens, value: float, top: float) -> str:
    """Return the colour of a signed attribution on the two-sided scale; size `top` gets the strongest colour."""
    return _pick_step(tokens.plus_scale if value >= 0 else tokens.minus_scale, value, top)


def shade_ink(tokens: Tokens, weight: float, top: float) -> str:
    """Return the colour of an attention weight: the larger its absolute value, the stronger; strongest at `top`."""
    return _pick_step(tokens.ink_scale, weight, top)


def _pick_step(scale: Sequence[str], value: float, top: float) -> str:
    return scale[min(5, round(5 * abs(value) / top)) if top > 0 else 0]


def color_layer(tokens: Tokens, layer: int, layers: int) -> str:
    """Return the line colour of a layer (from 0): layers closer to the output are stronger."""
    return tokens.ordinal[3 - round(3 * (layers - 1 - layer) / max(layers - 1, 1))] if layers > 1 else tokens.accent


def color_classes(tokens: Tokens, classes: Sequence[str], *, ordered: bool = False) -> list[str]:
    """Return a colour per class: by order if ordered, by sign if named positive or negative, else from a palette."""
    if ordered:
        half = len(classes) // 2
        steps = [max(2, 5 - place) for place in range(half)] if half > 1 else [4]
        middle = [tokens.right] if len(classes) % 2 else []
        return [*(tokens.minus_scale[i] for i in steps), *middle, *(tokens.plus_scale[i] for i in reversed(steps))]
    names = [name.lower() for name in classes]
    if not all(any(sign in name for name in names) for sign in ("neg", "pos")):
        return [tokens.categories[i % len(tokens.categories)] for i in range(len(names))]

    def color_by_sign(name: str) -> str:
        scale = tokens.minus_scale if "neg" in name else tokens.plus_scale if "pos" in name else None
        return scale[5 if name.startswith(("very", "strong")) else 4] if scale else tokens.right

    return [color_by_sign(name) for name in names]


@cache
def build_template(look: Look) -> go.layout.Template:
    """Return the Plotly template of all charts; draw with `theme=None`, since Streamlit's theme overrides it."""
    t, size = look.tokens, look.scale_size
    axis = {
        **{"gridcolor": t.grid, "gridwidth": 1, "zeroline": False, "showline": False, "ticks": ""},
        **{"ticklabelstandoff": 6, "automargin": True, "tickfont": {"size": size(14), "color": t.muted}},
        "title": {"font": {"size": size(14.5), "color": t.muted}, "standoff": 8},
    }
    font = {"family": SANS, "size": size(15), "color": t.ink}
    return go.layout.Template(
        layout={
            "font": font,
            "paper_bgcolor": t.paper,  # an exported picture has the page's background
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": t.categories,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "hovermode": "closest",
            "dragmode": False,
            "showlegend": False,
            "hoverlabel": {"bgcolor": t.panel, "bordercolor": t.grid, "font": font},
            "xaxis": {**axis, "showgrid": False},
            "yaxis": {**axis, "showgrid": True},
            "colorscale": {"sequential": make_sequential_scale(t), "diverging": make_diverging_scale(t)},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": t.muted, "activecolor": t.accent},
            "annotationdefaults": {"font": {"size": size(14.5), "color": t.muted}, "showarrow": False},
        }
    )


def spread_labels(values: Sequence[float], gap: float) -> list[float]:
    """Return positions for labels next to values in a chart, moved apart so that labels do not overlap."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    placed = list(values)
    for _ in range(20):
        for below, above in pairwise(order):
            lack = gap - (placed[above] - placed[below])
            if lack > 0:
                placed[below] -= lack / 2
                placed[above] += lack / 2
    return placed


def make_config(name: str, tools: Sequence[str] = ()) -> dict[str, Any]:
    """Return the settings of Plotly's buttons: an SVG download, shown on hover, and the tools named in `tools`."""
    return {
        "displaylogo": False,
        "displayModeBar": bool(tools) or "hover",
        "scrollZoom": False,
        "modeBarButtons": [[*tools, "toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": f"sentiscope-{name}", "scale": 2},
    }
