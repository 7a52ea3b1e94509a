"""Formatting of table cells: numbers as text, and tables that are exported as CSV."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
BOM = "\ufeff"
"""Begins every exported CSV; without it Excel reads UTF-8 as the code page of the machine."""
_FORMULA = re.compile(r"[\s\x00-\x20\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


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
