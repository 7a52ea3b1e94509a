"""Parsing and comparison of dates: each date is a span of time, from a second to a year.

`2026`, `2026-03`, `2026-03-31` and `2026-03-31 14:05` are a year, a month, a day and a minute: `>=` includes the whole
span and later times, `<=` the whole span and earlier times. Other formats are accepted if they are unambiguous: 31
March 2026, Tue, 31 Mar 2026 14:05:00 +0200, 31-03-2026 in a column where some day is above 12. Times with a zone are
compared in UTC.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core.data.findings import shorten
from core.evaluation import group_metrics
from core.evaluation.group_metrics import RowGroups
from core.exceptions import InputError

_LAST = pd.Timestamp("9999-12-31 23:59:59.999999", tz="UTC")
MOST = 0.9  # share of a column's values that must be dates; the other values count as missing
FIRST = 50  # distinct values that are parsed first, to reject other columns quickly
_ISO = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?"
)
_STEPS = {
    "second": pd.DateOffset(seconds=1),
    "minute": pd.DateOffset(minutes=1),
    "day": pd.DateOffset(days=1),
    "month": pd.DateOffset(months=1),
    "year": pd.DateOffset(years=1),
}  # the finest first
_NUMBERED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2\d{4}(?!\d)")
_FORMATS = "ISO8601", "%a %b %d %H:%M:%S %z %Y"  # the second is that of Twitter exports
_YEAR = re.compile(r"(?<!\w)\d{4}(?!\w)")
_TWELVE = 12


class DateSpan(NamedTuple):
    """The time span that a written date covers, such as a day or a year: from `start` to `end`, exclusive."""

    start: pd.Timestamp
    end: pd.Timestamp


def parse_dates(column: pd.Series) -> pd.Series | None:
    """Parse a table column into times in UTC, NaT for values that are no dates; None if the column holds no dates.

    Raises InputError, which quotes a value, if its numbers can be read as day and month in two ways.
    """
    if pd.api.types.is_datetime64_any_dtype(column):
        return pd.to_datetime(column, utc=True)
    if pd.api.types.is_numeric_dtype(column):
        return None
    words = column.where(column.notna(), "").astype(str).str.strip()
    there = words != ""
    # pandas reads words such as May, and numbers, as dates; here a date must have a year.
    dated = words.str.contains(_YEAR) & pd.to_numeric(words, errors="coerce").isna()
    kinds = pd.Series(words[dated].unique(), dtype=object)
    if dated.sum() < MOST * max(1, there.sum()) or not _is_date_like(kinds.head(FIRST)):
        return None
    found = dict(zip(kinds, _parse_values(kinds), strict=True))
    times = pd.to_datetime(words.map(found), utc=True)
    return times if times[there].notna().mean() >= MOST else None


def parse_span(text: str) -> DateSpan | None:
    """Parse a typed date, such as `2026-03`, into its time span; None: it is no date, or is ambiguous."""
    text = text.strip()
    iso = _ISO.fullmatch(text)
    if iso is None:
        try:
            time = _parse_values(pd.Series([text], dtype=object)).iloc[0] if _YEAR.search(text) else pd.NaT
        except InputError:
            return None
        step = _STEPS["minute" if ":" in text else "day"]
    else:
        time = pd.to_datetime(text, utc=True, errors="coerce")
        step = next(_STEPS[name] for name in _STEPS if name == "year" or iso[name])
    if pd.isna(time):
        return None
    try:
        end = time + step
    except (ValueError, OverflowError):  # the year 9999
        end = _LAST
    return DateSpan(time, min(end, _LAST))


def cut_quarters(times: pd.Series) -> RowGroups:
    """Group a table's rows into quartiles by date, keeping equal days together; missing dates form the last group."""
    return group_metrics.cut_quarters(times.dt.tz_localize(None).dt.floor("D"), "{:%Y-%m-%d}".format)


def compare_times(times: pd.Series, sign: str, low: DateSpan, high: DateSpan) -> np.ndarray:
    """Return (n,) bool: which times are before or after `low` (<, <=, >, >=); for = and !=, from `low` to `high`."""
    ways = {"<": times < low.start, "<=": times < low.end, ">": times >= low.end, ">=": times >= low.start}
    return ways.get(sign, (times >= low.start) & (times < high.end)).to_numpy(bool)


def _is_date_like(kinds: pd.Series) -> bool:
    """Return whether a column's first distinct values look like dates, even if day and month are ambiguous."""
    try:
        return bool(_parse_values(kinds).notna().mean() >= MOST)
    except InputError:
        return True


def _parse_values(kinds: pd.Series) -> pd.Series:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the format is inferred
        for each in _FORMATS:
            if (times := pd.to_datetime(kinds, format=each, utc=True, errors="coerce")).notna().all():
                return times
        # A single format for all values is fast; "mixed" is slow.
        for way in (None, "mixed"):
            given: dict[str, Any] = {"format": way, "utc": True, "errors": "coerce"}
            month, day = (pd.to_datetime(kinds, dayfirst=first, **given) for first in (False, True))
            if month.notna().all() or day.notna().all():
                break
    apart = month.ne(day) & month.notna() & day.notna()
    if not apart.any():
        return month.fillna(day)
    first, second = _find_largest(kinds)
    if first > _TWELVE >= second:
        return day
    if second > _TWELVE >= first:
        return month
    one, other = month[apart].iloc[0], day[apart].iloc[0]
    raise InputError(
        f"{shorten(str(kinds[apart].iloc[0]))} may be {one.day} {one:%B} or {other.day} {other:%B}; write dates as "
        "2026-03-31 in the data"
    )


def _find_largest(kinds: pd.Series) -> tuple[int, int]:
    """Return the largest first and second number in dates such as 31-03-2026: one above 12 must be the day."""
    found = [match for each in kinds if (match := _NUMBERED.search(each))]
    return max((int(each[1]) for each in found), default=0), max((int(each[3]) for each in found), default=0)
