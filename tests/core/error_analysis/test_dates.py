"""Columns of dates in every way of writing, against pandas told the format; what is none, and what could be two."""

import pandas as pd
import pytest

from core.error_analysis.predictions_table import cut_quarters, parse_dates, parse_span
from core.exceptions import InputError


@pytest.mark.parametrize(
    "format",
    [
        *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d %B %Y", "%b %d, %Y", "%d-%m-%Y", "%m/%d/%Y %H:%M"),
        *("%a %b %d %H:%M:%S +0000 %Y", "%a, %d %b %Y %H:%M:%S +0000"),
    ],
)
def test_dates_of_one_format_equal_pandas(format):
    times = pd.Series(pd.date_range("2025-12-28 01:02:03", periods=40, freq="31h"))
    told = times.dt.strftime(format)
    expected = pd.to_datetime(told, format=format, utc=True)
    pd.testing.assert_series_equal(parse_dates(told), expected, check_dtype=False, check_names=False)
    with_gaps = pd.concat([told, pd.Series([None, "not known"])], ignore_index=True)
    assert parse_dates(with_gaps).notna().tolist() == [True] * 40 + [False] * 2


def test_zones_convert_to_utc_and_ambiguous_dates_are_refused():
    (first, second) = parse_dates(pd.Series(["2026-03-31T01:00:00+02:00", "2026-03-31"]))
    assert first == pd.Timestamp("2026-03-30 23:00", tz="UTC") and second == pd.Timestamp("2026-03-31", tz="UTC")
    assert parse_dates(pd.Series(pd.to_datetime(["2026-03-31"])))[0] == second
    with pytest.raises(InputError, match="03/04/2026 may be 4 March or 3 April; write dates as 2026-03-31"):
        parse_dates(pd.Series(["03/04/2026", "05/06/2026"]))
    assert parse_dates(pd.Series(["03/04/2026", "25/06/2026"]))[0] == pd.Timestamp("2026-04-03", tz="UTC")


@pytest.mark.parametrize(
    "values",
    [
        *(["May", "June"], ["2001", "2002"], [2001, 2002], ["a film of 2014"] * 3, ["t1000", "t2015"]),
        *(["2026-13-45"], [None], [], [""]),
    ],
)
def test_words_numbers_and_empty_cells_are_no_dates(values):
    assert parse_dates(pd.Series(values, dtype=object)) is None


@pytest.mark.parametrize(
    ("typed", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        (" 2024-02-29 ", "2024-02-29", "2024-03-01"),
        ("2026-03-31 23:59", "2026-03-31 23:59", "2026-04-01"),
        ("2026-03-31T14:05:09Z", "2026-03-31 14:05:09", "2026-03-31 14:05:10"),
        ("31 March 2026", "2026-03-31", "2026-04-01"),
        ("31/3/2026", "2026-03-31", "2026-04-01"),
    ],
)
def test_typed_dates_are_spans(typed, start, end):
    assert parse_span(typed) == (pd.Timestamp(start, tz="UTC"), pd.Timestamp(end, tz="UTC"))


@pytest.mark.parametrize("typed", ["", "soon", "May", "2026-02-30", "2026-13", "3/4/2026", "12"])
def test_invalid_or_ambiguous_dates_are_none(typed):
    assert parse_span(typed) is None
    assert parse_span("9999-12").end.year == parse_span("9999-12-31 23:59:59").end.year == 9999, (
        "the last year ends with it"
    )


def test_quartiles_are_named_by_days_and_missing_dates_come_last():
    times = pd.Series([*pd.date_range("2026-01-01", periods=8, tz="UTC"), pd.NaT])
    found = cut_quarters(times)
    ends = ["2026-01-01 to 2026-01-02", "2026-01-03 to 2026-01-04", "2026-01-05 to 2026-01-06"]
    assert list(found.names) == [*ends, "2026-01-07 to 2026-01-08", "(none)"]
    assert found.place.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]
