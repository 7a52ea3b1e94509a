"""Formatting of numbers for people: on pages, the command line, in messages and notebooks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MINUS = "\u2212"
NARROW = "\u202f"
"""A narrow no-break space between thousands; a comma would be a decimal point for many readers."""


def count(value: int) -> str:
    """Format a whole number with a narrow space between thousands: `6 920`."""
    return f"{value:,}".replace(",", NARROW)


def whole_percent(share: float) -> str:
    """Format a share (0 to 1) in whole percent: `12 %`."""
    return f"{100 * share:.0f} %"


def percent(share: float) -> str:
    """Format a share (0 to 1) in percent with one decimal place: `17.5 %`."""
    return f"{number(100 * share, 1)} %"


def format_exact(value: float) -> str:
    """Format a number in the shortest form that reads back as the same number: `12`, `0.1`."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def signed(value: float, digits: int = 2) -> str:
    """Format a difference with its sign, `+0.12`; a value that is rounded to zero has no minus."""
    return f"{value:+z.{digits}f}".replace("-", MINUS)


def number(value: float, digits: int = 3) -> str:
    """Format a number with a fixed number of decimal places and a typographic minus: `−0.843`."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)  # + 0.0: no negative zero


def join_names(names: Sequence[str]) -> str:
    """Join names to a phrase such as `A, B and C`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def shorten_text(text: str, longest: int) -> str:
    """Cut a text to at most `longest` characters; a text that is cut ends in an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` with the known name that is most similar to a wrong one; empty if none is."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def format_subscript(index: int) -> str:
    """Format an index in subscript digits: `₁₂`."""
    return "".join(chr(0x2080 + int(digit)) for digit in str(index))


def format_plus_minus(value: float, low: float | None, high: float | None) -> str:
    """Format a value and half its interval, `0.843 ± 0.024`; an asymmetric interval is given by both ends."""
    if low is None or high is None:
        return number(value)
    below, above = value - low, high - value
    if abs(below - above) > 0.2 * max(below, above, 0.005):
        return f"{number(value)} ({number(low)} to {number(high)})"
    return f"{number(value)} ± {number((high - low) / 2)}"


def format_p(p: float) -> str:
    """Format a p-value: `0.078`, `< 0.001`."""
    return "< 0.001" if p < 0.001 else number(p)


def format_duration(seconds: float) -> str:
    """Format a duration, given in seconds, as `9 s`, `3 min 20 s` or `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
