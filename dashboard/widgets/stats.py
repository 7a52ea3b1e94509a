"""Big numbers, none of them alone: value, half width of its interval, n, and where it lies between two ends."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core.numbers import MINUS
from dashboard.figures.numbers import count, number, plus_minus
from dashboard.figures.results import Stat


def stats(items: Sequence[Stat]) -> None:
    """All numbers in one row that wraps."""
    st.html(f'<dl class="s-stats">{"".join(_cell(item) for item in items)}</dl>')


def _cell(item: Stat) -> str:
    low = item.value if item.low is None else item.low
    high = item.value if item.high is None else item.high
    left, right, middle = (_place(x, item.ends) for x in (low, high, item.value))
    spread = (
        "" if item.low is None or item.high is None else plus_minus(item.value, low, high)[len(number(item.value)) :]
    )
    n = f"{count(item.n)} {item.unit}".strip()
    return (
        f"<div><dt>{escape(item.name)} <small>n = {n}</small></dt>"
        f"<dd>{number(item.value)}<small>{spread}</small></dd>"
        f'<dd><u style="--a:{left:.1f}%;--w:{max(right - left, 0.6):.1f}%;--m:{middle:.1f}%"></u>'
        f"<em><span>{_end(item.ends[0])}</span><span>{_end(item.ends[1])}</span></em></dd></div>"
    )


def _end(value: float) -> str:
    """One end of the axis, as short as it can be."""
    return f"{value:.2g}".replace("-", MINUS)


def _place(value: float, ends: tuple[float, float]) -> float:
    """Percent of the way from one end to the other."""
    return 100 * (min(max(value, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0])
