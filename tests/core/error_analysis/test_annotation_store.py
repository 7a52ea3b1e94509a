import contextlib
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from answering import code_rows
from refused import check_raises

from core.error_analysis import annotation_store
from core.error_analysis.annotation_store import FILE, Ledger
from core.error_analysis.codebook import Codes, draw_sample, list_draws
from core.exceptions import InputError, StorageError

WRITERS, PROCESSES, EACH = 30, 3, 2


def test_reading_creates_no_file_and_a_failed_change_stores_nothing(tmp_path):
    assert Ledger(tmp_path / "runs").read_rows("codes") == [] and Ledger(tmp_path).read_history("x") == []
    assert not (tmp_path / "runs").exists() and not list(tmp_path.iterdir())
    ledger = Ledger(tmp_path)
    row = {"data": "d", "name": "a", "place": 1, "definition": "", "example": ""}
    with pytest.raises(ZeroDivisionError), ledger.begin_change("d", "me", "half") as change:
        change.put_row("codes", row)
        raise ZeroDivisionError
    assert ledger.read_rows("codes") == [] and ledger.read_history("d") == []


@pytest.mark.slow
def test_thirty_concurrent_writers_lose_no_change(tmp_path):
    Codes(tmp_path, "reviews").add_code("irony")

    def write(number):
        own = Codes(tmp_path, "reviews")
        for row in range(EACH):
            code_rows(own, [f"{number}-{row}"], ["irony"], author=f"writer {number}")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    codes = Codes(tmp_path, "reviews")
    written = {(f"{number}-{row}", f"writer {number}") for number in range(WRITERS) for row in range(EACH)}
    assert {(key, *authors) for key, authors in codes.read_annotations().given.items()} == written
    assert len(codes.ledger.read_history("reviews", 1000)) == WRITERS * EACH + 1


@pytest.mark.slow
def test_concurrent_processes_lose_no_change(tmp_path):
    code = (
        "import sys; from pathlib import Path; from core.error_analysis.codebook import Codes\n"
        "codes = Codes(Path(sys.argv[1]), 'reviews')\n"
        f"for row in range({EACH}): codes.write_note(f'{{sys.argv[2]}}-{{row}}', 'seen', author='one')"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)], cwd=Path(__file__).parents[3])
        for number in range(PROCESSES)
    ]
    assert [each.wait(300) for each in started] == [0] * PROCESSES
    notes = Codes(tmp_path, "reviews").read_annotations().notes
    assert set(notes) == {f"{number}-{row}" for number in range(PROCESSES) for row in range(EACH)}


def test_undo_affects_only_the_authors_own_last_change_unless_another_changed_it(tmp_path):
    codes = Codes(tmp_path, "d")
    codes.add_code("irony", author="ann")
    code_rows(codes, ["k"], ["irony"], author="ann")
    code_rows(codes, ["k"], ["irony"], author="ann")  # which changes nothing
    codes.write_note("k", "hm", author="ben")
    codes.write_note("k", "ha", author="ben")
    assert codes.undo_last("ben")["said"] == "note: row k" and codes.read_annotations().notes == {"k": {"ben": "hm"}}
    assert codes.undo_last("ann")["said"] == "irony: row k" and codes.read_annotations().given == {}
    assert codes.undo_last("ann")["said"] == "code irony added" and codes.list_codes() == []
    check_raises(InputError, "nothing to undo: ann has changed nothing here", codes.undo_last, "ann")
    assert [row["undone"] for row in codes.ledger.read_history("d")] == [True, False, True, True]
    codes = Codes(tmp_path / "other", "d")
    codes.add_code("irony", author="ann")
    code_rows(codes, ["k"], ["irony"], author="ben")
    codes.merge_codes(["irony"], "sarcasm", author="ann")
    check_raises(InputError, "somebody has changed it since", codes.undo_last, "ben")
    codes.undo_last("ann")
    assert codes.read_annotations().get_codes("k") == ("irony",)


def test_the_version_changes_with_each_change_and_is_cached(tmp_path, monkeypatch):
    codes = Codes(tmp_path, "d")
    assert codes.version == ""
    seen = []
    for name in ("irony", "label", "other"):
        codes.add_code(name, author="ann")
        seen.append(codes.version)
        time.sleep(0.15)
        assert codes.version == seen[-1]
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("it was opened"))
            assert codes.version == seen[-1]
    codes.undo_last("ann")
    assert len({*seen, codes.version}) == 4
    for file in tmp_path.glob(f"{FILE}*"):
        file.unlink()
    assert codes.version == ""
    codes.add_code("irony", author="ann")
    assert codes.version not in seen


def test_old_files_are_upgraded_and_newer_or_foreign_files_refused(tmp_path):
    codes = Codes(tmp_path, "d")
    codes.add_code("irony", author="ann")
    with sqlite3.connect(tmp_path / FILE) as made:
        made.execute("ALTER TABLE history DROP COLUMN undone_at")
        made.execute("PRAGMA user_version = 1")
    code_rows(codes, ["k"], ["irony"], author="ann")
    assert codes.undo_last("ann")["said"] == "irony: row k" and len(codes.ledger.read_history("d")) == 2
    (folder := tmp_path / "newer").mkdir()
    with contextlib.closing(sqlite3.connect(folder / FILE)) as made:
        made.execute("PRAGMA user_version = 99")
    check_raises(StorageError, "a newer Sentiscope has written it", Codes(folder, "d").add_code, "irony")
    (folder / FILE).write_text("no database, long enough to be taken for one " * 40)
    check_raises(StorageError, r"codes\.sqlite: codes cannot be read or written", Codes(folder, "d").list_codes)


def test_history_has_rows_and_last_change_times(tmp_path, monkeypatch):
    codes, clock = Codes(tmp_path, "d"), iter(range(60))
    monkeypatch.setattr(annotation_store, "get_timestamp", lambda: f"2026-01-01T00:00:{next(clock):02}+00:00")
    codes.add_code("irony")
    codes.give_codes(["a", "b"], ["irony"], author="ann")
    codes.write_note("b", "so", author="ann")
    codes.undo_last("ann")
    assert [row["keys"] for row in codes.ledger.read_history("d")] == [("b",), ("a", "b"), ()]
    last = codes.ledger.read_times("d")
    assert set(last) == {("a", "ann"), ("b", "ann")} and last["b", "ann"] > last["a", "ann"]


@pytest.mark.slow
def test_storage_is_limited_and_deleting_frees_space(tmp_path, monkeypatch):
    codes, keys = Codes(tmp_path, "d"), [f"{number:012x}" for number in range(50_000)]
    codes.write_note("k", "so")
    monkeypatch.setenv("SENTISCOPE_CODES_MB", "1")
    check_raises(InputError, r"at most 1 MB of codes.* \(SENTISCOPE_CODES_MB\)", draw_sample, codes, keys, 9, 0, "all")
    assert list_draws(codes) == []
    codes.write_note("k", "so it is")
    monkeypatch.setenv("SENTISCOPE_CODES_MB", "3")
    draw_sample(codes, keys, 9, 0, "all")
    monkeypatch.setenv("SENTISCOPE_CODES_MB", "1")
    check_raises(InputError, "this change was not stored", codes.write_note, "k", "more")
    codes.write_note("k", "")
    assert codes.read_annotations().notes == {}
