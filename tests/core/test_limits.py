from pathlib import Path

import pytest
from refused import check_raises

from core import api, limits
from core.data.uploads import keep_file
from core.exceptions import ConfigError, InputError
from core.formatting import count
from core.runs import queue
from core.runs.store import RunStore


@pytest.mark.parametrize("quota", limits.ALL, ids=lambda quota: quota.variable)
def test_environment_variables_change_quotas_with_whole_numbers(monkeypatch, quota):
    monkeypatch.delenv(quota.variable, raising=False)
    assert quota() == quota.default
    monkeypatch.setenv(quota.variable, "7")
    assert quota() == 7
    for wrong in ("0", "-1", "1.5", "²", "٣", "many", "1" * 400):
        monkeypatch.setenv(quota.variable, wrong)
        check_raises(ConfigError, rf"{quota.variable}=.*a whole number, at least 1", quota)


def test_uploads_are_limited_in_number_and_size(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_UPLOADS", "2")
    first = keep_file(tmp_path, "a.csv", b"1")
    keep_file(tmp_path, "b.csv", b"2")
    with pytest.raises(InputError, match=r"at most 2 uploaded files \(SENTISCOPE_MOST_UPLOADS\)"):
        keep_file(tmp_path, "c.csv", b"3")
    assert keep_file(tmp_path, "a.csv", b"1") == first
    monkeypatch.setenv("SENTISCOPE_UPLOADS_MB", "1")
    monkeypatch.delenv("SENTISCOPE_MOST_UPLOADS")
    keep_file(tmp_path / "large", "a.csv", b"1" * 600_000)
    with pytest.raises(InputError, match=r"at most 1 MB of uploaded files \(SENTISCOPE_UPLOADS_MB\)"):
        keep_file(tmp_path / "large", "b.csv", b"2" * 600_000)
    assert len(list((tmp_path / "large" / "files").iterdir())) == 1


def test_the_readme_names_every_limit_with_its_number():
    text = (Path(__file__).parents[2] / "dashboard" / "README.md").read_text(encoding="utf-8")
    for quota in limits.ALL:
        (row,) = (line for line in text.splitlines() if line.startswith("|") and f"`{quota.variable}`" in line)
        assert count(quota.default) in row


def test_the_command_line_is_limited_to_the_queue_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_WAITING", "1")
    (tmp_path / queue.FOLDER).mkdir()
    with queue.open_lock(tmp_path / queue.FOLDER / "ticket-1-waits") as ticket:
        assert queue.try_lock(ticket)
        check_raises(InputError, "SENTISCOPE_MOST_WAITING", api.train, store=RunStore(tmp_path))
    assert RunStore(tmp_path).list() == []
