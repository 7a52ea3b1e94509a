import pytest

from core.data import limits
from core.data.limits import Limits
from core.exceptions import ConfigError, DataError


def test_one_variable_changes_any_of_them(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "rows=5000000, memory=8000")
    assert limits.get_limits() == Limits(memory=8_000, rows=5_000_000)


@pytest.mark.parametrize("settings", ["row=5", "rows", "rows=", "rows=0", "rows=-1", "rows=²", "rows=1e6", "5"])
def test_a_limit_that_is_none_is_refused_and_the_names_are_said(monkeypatch, settings):
    monkeypatch.setenv(limits.VARIABLE, settings)
    with pytest.raises(ConfigError, match=r"SENTISCOPE_LIMITS: '.*' is no limit; .* memory, seconds, size, rows"):
        limits.get_limits()


@pytest.mark.parametrize(
    ("rows", "columns", "said"),
    [
        (11, 1, r"more rows; at most 10 rows are read\. .* SENTISCOPE_LIMITS=rows="),
        (1, 6, r"6 columns; at most 5 columns .* SENTISCOPE_LIMITS=columns="),
        (10, 5, r"more cells; at most 40 cells .* SENTISCOPE_LIMITS=cells="),
    ],
)
def test_a_table_may_have_so_many_rows_columns_and_cells(monkeypatch, rows, columns, said):
    monkeypatch.setenv(limits.VARIABLE, "rows=10,columns=5,cells=40")
    limits.check_shape(10, 4, file="a.csv")
    with pytest.raises(DataError, match=rf"^a\.csv: the table has {said}"):
        limits.check_shape(rows, columns, file="a.csv")
