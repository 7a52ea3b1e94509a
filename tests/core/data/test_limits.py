import pytest

from core.data import limits
from core.data.limits import Limits
from core.exceptions import ConfigError, DataError


def test_one_environment_variable_changes_any_limit(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "rows=5000000, memory=8000")
    assert limits.get_limits() == Limits(memory=8_000, rows=5_000_000)


@pytest.mark.parametrize("settings", ["row=5", "rows", "rows=", "rows=0", "rows=-1", "rows=²", "rows=1e6", "5"])
def test_unknown_limits_are_refused_with_the_known_names(monkeypatch, settings):
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
def test_rows_columns_and_cells_of_tables_are_limited(monkeypatch, rows, columns, said):
    monkeypatch.setenv(limits.VARIABLE, "rows=10,columns=5,cells=40")
    limits.check_shape(10, 4, file="a.csv")
    with pytest.raises(DataError, match=rf"^a\.csv: the table has {said}"):
        limits.check_shape(rows, columns, file="a.csv")
