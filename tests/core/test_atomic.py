import errno
import os

import pytest

from core import atomic
from core.exceptions import StorageError


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "run.json"
    atomic.write_text(path, "old")
    atomic.write_text(path, "new ä \ud800")
    assert path.read_text(encoding="utf-8") == "new ä ?"
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permissions"),
    ],
)
@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_a_disk_that_refuses_leaves_the_old_file_and_says_what_to_do(tmp_path, monkeypatch, number, told, stage):
    path = tmp_path / "run.json"
    atomic.write_text(path, "old")

    def refuse(*_):
        raise OSError(number, "refused")

    monkeypatch.setattr(os, stage, refuse)
    with pytest.raises(StorageError, match=rf"run\.json: cannot be written: .*{told}"):
        atomic.write_text(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


def test_other_errors_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError):
        atomic.write_text(tmp_path / "none" / "run.json", "new")
