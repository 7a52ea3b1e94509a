import errno
import os
import threading

import pytest
from refused import check_raises

from core import atomic
from core.data.config import DataConfig
from core.data.uploads import keep_choice, keep_file, list_choices, read_choice
from core.exceptions import StorageError


@pytest.mark.parametrize("name", ["run.json", "ä" * 127])  # the longest name that file systems allow
def test_writing_replaces_the_file_and_leaves_no_temporary_file(tmp_path, name):
    path = tmp_path / name
    atomic.write_text(path, "old")
    atomic.write_text(path, "new ä \ud800")
    assert path.read_text(encoding="utf-8") == "new ä ?" and [each.name for each in tmp_path.iterdir()] == [name]
    check_raises(FileNotFoundError, None, atomic.write_text, tmp_path / "none" / name, "new")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EFBIG, "files may not become so large here"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permissions"),
    ],
)
@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_write_errors_keep_the_old_file_and_suggest_a_remedy(tmp_path, monkeypatch, number, told, stage):
    path = tmp_path / "run.json"
    atomic.write_text(path, "old")

    def refuse(*_):
        raise OSError(number, "refused")

    monkeypatch.setattr(os, stage, refuse)
    check_raises(StorageError, rf"run\.json: cannot be written: .*{told}", atomic.write_text, path, "new")
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["run.json"]


def run_threads(threads, work):
    start, failed = threading.Barrier(threads), []

    def begin(number):
        start.wait()
        try:
            work(number)
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=begin, args=(number,)) for number in range(threads)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return failed


@pytest.mark.slow
def test_thirty_threads_can_write_and_read_one_file(tmp_path):
    path, torn = tmp_path / "choice.json", []
    atomic.write_bytes(path, b"0" * 50_000)

    def write(number):
        for _ in range(3):
            atomic.write_bytes(path, bytes([48 + number]) * 50_000)
            found = path.read_bytes()
            if len(found) != 50_000 or len(set(found)) != 1:
                torn.append(found)

    assert run_threads(30, write) == [] and torn == []
    assert [each.name for each in tmp_path.iterdir()] == ["choice.json"]


def test_thirty_threads_store_one_upload_and_choice(tmp_path):
    content, kept = b"text,label\n" * 5_000, [None] * 30

    def keep(number):
        kept[number] = keep_file(tmp_path, f"student-{number}.csv", content)
        choice = keep_choice(tmp_path, DataConfig(str(kept[number]), text="text", label="label"))
        assert read_choice(tmp_path, choice.id) == choice

    assert run_threads(30, keep) == [] and len(set(kept)) == 1 and kept[0].read_bytes() == content
    assert [each.name for each in (tmp_path / "files").iterdir()] == [kept[0].parent.name]
    assert len(list_choices(tmp_path)) == 1
