"""Formatting of numbers for people: on pages, the command line, in messages and notebooks."""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from core.exceptions import try_call

if TYPE_CHECKING:
    import pandas as pd

MINUS = "\u2212"
NARROW = "\u202f"  # a narrow no-break space between thousands; a comma would be a decimal point for many readers


def count(value: int) -> str:
    """Format a whole number with a narrow space between thousands: `6 920`."""
    return f"{value:,}".replace(",", NARROW)


def plural(number: int, noun: str) -> str:
    """Format a number of things with their noun: `1 row`, `1 200 rows`, `3 classes`."""
    return f"1 {noun}" if number == 1 else f"{count(number)} {noun}{'es' if noun.endswith('s') else 's'}"


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
    """Format a difference with its sign, `+0.12`; a value that is rounded to zero has no sign."""
    text = f"{value:+z.{digits}f}".replace("-", MINUS)
    return text if text.strip("+0.") else text[1:]


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
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


T = TypeVar("T")
BOM = "\ufeff"  # begins every exported CSV; without it Excel reads UTF-8 as the code page of the machine
_FORMULA = re.compile(r"[\s\x00-\x20\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def parse_number(text: Any) -> float | None:
    """Return the finite number that a text holds; None if it holds none."""
    found = try_call((TypeError, ValueError), math.nan, float, text)
    return found if math.isfinite(found) else None


def escape_formula(cell: T) -> T | str:
    """Put an apostrophe before a table cell that a spreadsheet would compute; return any other cell unchanged.

    Spreadsheets skip blanks and line breaks before the sign, and some compute the wide signs of East Asian text too.
    A text that already has the apostrophe gets another one, so that `strip_apostrophe` restores every text.
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell.lstrip("'")) else cell


def strip_apostrophe(cell: str) -> str:
    """Remove the apostrophe that `escape_formula` put before the text of a table cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell.lstrip("'")) else cell


def format_decimals(value: float | None) -> str:
    """Format a number with three decimal places; None gives an empty text."""
    return "" if value is None else f"{value:.3f}"


def format_cell(value: float | list[float] | str | None) -> str:
    """Format a table cell: a number with three decimal places, an interval by its ends, a text unchanged."""
    if isinstance(value, list):
        return " to ".join(map(format_decimals, value))
    return value if isinstance(value, str) else format_decimals(value)


def format_csv(frame: pd.DataFrame) -> str:
    """Format a table as CSV that spreadsheets open directly: UTF-8 with a byte order mark, and no formulas."""
    text = frame.select_dtypes(include=["str", "object", "category"]).columns
    guarded = frame.assign(**{name: frame[name].astype(object).map(escape_formula) for name in text})
    named = guarded.set_axis([escape_formula(name) for name in frame.columns], axis=1)
    written = named.to_csv(index=False)
    # A lone carriage return would end a row; pandas quotes it only if it quotes every text.
    return BOM + (named.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC) if "\r" in written else written)
