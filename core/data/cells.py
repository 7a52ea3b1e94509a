"""Conversion of table cells to text, cleaning of labels, and checks of a cell's size and nesting."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from core.data.decoding import replace_surrogates
from core.data.limits import make_error
from core.exceptions import DataError
from core.formatting import count

ERRORS = frozenset(
    "#N/A #NAME? #REF! #VALUE! #DIV/0! #NULL! #NUM! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #BUSY! #UNKNOWN! "
    "#GETTING_DATA #ERROR! #NV #BEZUG! #WERT! #ZAHL! #NOM? #VALEUR! #NOMBRE!".split()
)
"""Error values of spreadsheet formulas, also in German and French."""
MISSING = ERRORS | {"\\N", "#N/A N/A", "NULL"}
"""Missing values as databases and spreadsheets write them."""
MOST_NESTED = 20
"""Levels of lists and objects in a cell, at most."""
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<![^\\x00-\\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\\x00-\\x7f])"
)
"""Joiners are kept inside emoji and between non-ASCII letters, where they are visible."""
_WHOLE = re.compile(r"[-+]?\d+\.0+")


def as_word(value: object) -> str:
    """Return the value of a table cell as text, as a person would write it: `4` for 4.0, `true` for True."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return replace_surrogates(str(value))


def as_words(values: pd.Series) -> pd.Series:
    """Return table cells as text, the way a person would write them (`4`, not `4.0`); missing cells stay missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    return values.map(as_word, na_action="ignore").astype("str")


def clean_label(word: str) -> str:
    """Clean a label: NFC, no invisible characters or outer blanks, `1` for `1.0`; empty if it marks a missing value."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFC", word)).strip()
    if is_missing(seen):
        return ""
    return seen.partition(".")[0] if _WHOLE.fullmatch(seen) else seen


def is_missing(cell: str) -> bool:
    """Return whether a table cell marks a missing value as databases and spreadsheets do, such as `NULL`."""
    return cell.strip() in MISSING


def check_cell(value: Any, longest: int, *, file: str, row: int, field: str) -> Any:
    """Return a table cell, with text made storable as UTF-8; refuse one that is too long or too deeply nested."""
    if isinstance(value, str):
        if len(value) > longest:
            found = f"the cell has {count(len(value))} characters"
            raise make_error(found, "characters", file=file, row=row, field=replace_surrogates(field))
        return replace_surrogates(value)
    inside = [value]
    for _ in range(MOST_NESTED):
        inside = [part for each in inside for part in _list_parts(each)]
        if not inside:
            return value
    problem = f"the cell is nested more than {MOST_NESTED} levels deep; write it as text"
    raise DataError(problem, file=file, row=row, field=replace_surrogates(field))


def _list_parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
