"""Cells of tables that are given away as CSV."""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")
_FORMULA = re.compile(r"[\s\x00-\x20\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def no_formula(cell: T) -> T | str:
    """The cell, with an apostrophe before a text that a spreadsheet would compute.

    Spreadsheets pass over blanks and line breaks before the sign, and some read the wide signs of East Asian text too.
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
