"""Files as people have them: what is read of each, or the sentence of refusal; none is read wrongly in silence."""

import pytest
from found_files import FILES, READ, REFUSED

from core.data.labeled_files import inspect_file, read_file
from core.exceptions import DataError

COMMON = {"small", "duplicate"}


def test_every_form_is_read_or_refused():
    assert set(READ) | set(REFUSED) == set(FILES) and not set(READ) & set(REFUSED)


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_what_is_read_of_a_file(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_bytes(FILES[name])
    encoding, columns, classes, kinds = READ[name]
    report = inspect_file(path)
    assert (report.problem, report.encoding, f"{report.text}, {report.label}") == ("", encoding, columns)
    assert report.classes == classes
    assert {finding.kind for finding in report.findings} - COMMON == kinds
    rows = read_file(path).rows
    assert rows["text"].str.match(r'("|so "|they say ")?(the|our|this|her|that) ').all()
    if name not in ("doubled quotes", "typographic quotes"):
        assert not rows["text"].str.contains(r"[“”'\"\\]$", regex=True).any()


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_with_the_reason(tmp_path, name):
    path = tmp_path / "file.csv"
    path.write_bytes(FILES[name])
    with pytest.raises(DataError) as refused:
        read_file(path)
    assert REFUSED[name] in str(refused.value)
