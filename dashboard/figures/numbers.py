"""How numbers are written: true minus signs, narrow spaces, never a bare float."""

from __future__ import annotations

from core.numbers import count, number, percent, signed, subscript

__all__ = ["count", "duration", "number", "percent", "plus_minus", "signed", "subscript"]


def plus_minus(value: float, low: float, high: float) -> str:
    """`0.843 ± 0.024`, half of the interval; with both ends where it is lopsided by more than a fifth."""
    below, above = value - low, high - value
    if abs(below - above) > 0.2 * max(below, above, 0.005):
        return f"{number(value)} ({number(low)} to {number(high)})"
    return f"{number(value)} ± {number((high - low) / 2)}"


def duration(seconds: float) -> str:
    """`9 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
