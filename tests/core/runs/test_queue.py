import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import types

import psutil
import pytest
from waiting import hold_ticket, until

from core.exceptions import Cancelled, ConfigError, InputError
from core.runs import queue
from core.runs.queue import count_threads, get_limit, lock_run, wait_for_slot

posix = pytest.mark.skipif(os.name == "nt", reason="no process can become another one there")
HOLD = """
import sys, time
from pathlib import Path
from core.runs.queue import lock_run, wait_for_slot
with lock_run(Path(sys.argv[1]) / "held"), wait_for_slot(Path(sys.argv[1]), "held", "2026-01-01", lambda: False):
    print("held", flush=True)
    time.sleep(60)
"""
SAY = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(queue, "POLL_SECONDS", 0.01)
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")


def test_windows_locks_the_first_byte(tmp_path, monkeypatch):
    """A replacement of msvcrt: `locking(handle, mode, bytes)` raises OSError if another process has the lock."""
    held, asked = [], []

    def locking(handle, mode, count):
        asked.append((mode, count))
        file = os.fstat(handle).st_ino
        if file in held:
            raise OSError(36, "resource deadlock would occur")
        held.append(file)

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(LK_NBLCK=2, locking=locking))
    monkeypatch.setattr(sys, "platform", "win32")
    with queue.open_lock(tmp_path / "one") as first, queue.open_lock(tmp_path / "one") as second:
        assert queue.try_lock(first) and not queue.try_lock(second)
    assert asked == [(2, 1), (2, 1)]


def test_the_limit_is_half_of_the_cores_or_as_set(monkeypatch):
    monkeypatch.delenv("SENTISCOPE_JOBS")
    for cores, jobs, each in ((1, 1, 1), (2, 1, 2), (8, 4, 2), (9, 4, 2)):
        monkeypatch.setattr(queue, "count_cores", lambda cores=cores: cores)
        assert (get_limit(), count_threads()) == (jobs, each)
    monkeypatch.setenv("SENTISCOPE_JOBS", "3")
    assert (get_limit(), count_threads()) == (3, 3)
    monkeypatch.setenv("SENTISCOPE_JOBS", "100")
    assert count_threads() == 1
    for text in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("SENTISCOPE_JOBS", text)
        with pytest.raises(ConfigError, match="SENTISCOPE_JOBS"):
            get_limit()


def train_jobs(folder, jobs, numbers):
    """Train `numbers` in threads that wait for `jobs` slots; return their order and the most at once."""
    running, most, order, guard = set(), 0, [], threading.Lock()

    def train(number):
        nonlocal most
        with wait_for_slot(folder, f"run{number}", f"2026-01-01T00:00:0{number}"):
            with guard:
                running.add(number)
                order.append(number)
                most = max(most, len(running))
            time.sleep(0.03)
            with guard:
                running.discard(number)

    workers = [threading.Thread(target=train, args=(number,)) for number in numbers]
    with contextlib.ExitStack() as busy:
        for number in range(jobs):
            busy.enter_context(wait_for_slot(folder, f"busy{number}", "2025"))
        for worker in workers:
            worker.start()
        # One that has only been made, and is not locked yet, counts as left behind by the dead.
        waiting = folder / queue.FOLDER
        until(lambda: sum(not queue._clear_away(path) for path in waiting.glob("ticket-*")) == len(workers))
        assert order == []
    for worker in workers:
        worker.join()
    assert list((folder / queue.FOLDER).glob("ticket-*")) == []
    return order, most


def test_the_oldest_run_trains_first_within_the_limit(tmp_path, monkeypatch):
    assert train_jobs(tmp_path, 1, (5, 3, 4, 1, 2)) == ([1, 2, 3, 4, 5], 1)
    monkeypatch.setenv("SENTISCOPE_JOBS", "2")
    order, most = train_jobs(tmp_path, 2, (5, 3, 4, 1, 2))
    assert sorted(order) == [1, 2, 3, 4, 5] and most == 2


def test_waiting_stops_on_request_and_short_jobs_have_separate_slots(tmp_path):
    asked = iter([False, False, True])
    with wait_for_slot(tmp_path, "training", "2020"), wait_for_slot(tmp_path, "a", "2025", kind=queue.SHORT):
        with pytest.raises(Cancelled), wait_for_slot(tmp_path, "b", "2026", lambda: next(asked), queue.SHORT):
            pytest.fail("there is no second slot")
    assert list((tmp_path / queue.FOLDER).glob("*ticket-*")) == []
    with pytest.raises(ZeroDivisionError), wait_for_slot(tmp_path, "a", "2025"):
        raise ZeroDivisionError
    with wait_for_slot(tmp_path, "b", "2026"), lock_run(tmp_path):
        with pytest.raises(InputError, match="another process"), lock_run(tmp_path, 0.1):
            pytest.fail("the run is held")
    with lock_run(tmp_path):
        pass


def test_a_killed_process_frees_its_run_and_slot(tmp_path):
    (tmp_path / "held").mkdir()
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    # A process that died while waiting leaves an unlocked ticket.
    (tmp_path / queue.FOLDER / "ticket-1999-dead").touch()
    until = time.monotonic() + 0.1
    with pytest.raises(Cancelled), wait_for_slot(tmp_path, "mine", "2026-02", lambda: time.monotonic() > until):
        pytest.fail("the slot is taken")
    with pytest.raises(InputError), lock_run(tmp_path / "held"):
        pytest.fail("the run is taken")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with lock_run(tmp_path / "held"), wait_for_slot(tmp_path, "mine", "2026-02"):
        assert list((tmp_path / queue.FOLDER).glob("ticket-*")) == []


def test_an_inherited_slot_is_used_once(tmp_path, monkeypatch):
    with lock_run(tmp_path) as own, wait_for_slot(tmp_path, "a", "2025") as mine:
        monkeypatch.setenv(queue.HELD, f"{os.dup(own)} {os.dup(mine)}")
        # An older run waits; a process that has a slot does not wait behind it.
        with hold_ticket(tmp_path, "ticket-1999-old"), lock_run(tmp_path), wait_for_slot(tmp_path, "a", "2025"):
            assert os.environ[queue.HELD] == ""


@pytest.mark.parametrize("left", ["", "x", "-1", "99999", "٣", "0 1 2"])
def test_other_file_handles_are_not_touched(tmp_path, monkeypatch, left):
    monkeypatch.setenv(queue.HELD, left)
    with wait_for_slot(tmp_path, "a", "2025"):
        assert os.environ[queue.HELD] == left


@pytest.fixture
def waiting(tmp_path):
    """Small processes that wait and then print their number: waiting(name, created, **more)."""
    started = []

    def wait(name, created="2026", kind=queue.TRAINING, run=None, request=""):
        line = queue.wrap_command([sys.executable, "-c", SAY], tmp_path, name, created, kind, run, request)
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield wait
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def has_ticket(folder, name):
    return bool(list((folder / queue.FOLDER).glob(f"*ticket-*-{name}")))


@pytest.mark.slow
@posix
def test_a_waiting_process_becomes_its_command_and_keeps_its_locks(tmp_path, waiting):
    run = tmp_path / "run"
    run.mkdir()
    with wait_for_slot(tmp_path, "busy", "2020"):
        process = waiting("run", run=run, request="CANCEL")
        until(lambda: has_ticket(tmp_path, "run"))
        began = psutil.Process(process.pid).create_time()
        assert psutil.Process(process.pid).memory_full_info().uss < 10e6
    assert process.stdout.readline() == f"{process.pid}\n"
    assert psutil.Process(process.pid).create_time() == began and not has_ticket(tmp_path, "run")
    asked = iter([False, True])
    with pytest.raises(Cancelled), wait_for_slot(tmp_path, "mine", "2020", lambda: next(asked)):
        pytest.fail("the slot went lost on the way")
    with pytest.raises(InputError), lock_run(run):
        pytest.fail("the run went lost on the way")
    process.kill()
    process.wait()
    with lock_run(run, 1), wait_for_slot(tmp_path, "mine", "2020"):
        pass


@pytest.mark.slow
@posix
def test_processes_start_in_the_order_of_their_runs(tmp_path, waiting):
    with wait_for_slot(tmp_path, "busy", "2020"):
        later, first = waiting("later", "2022"), waiting("first", "2021")
        until(lambda: has_ticket(tmp_path, "later") and has_ticket(tmp_path, "first"))
    assert first.stdout.readline() == f"{first.pid}\n" and has_ticket(tmp_path, "later")
    first.stdin.close()
    assert later.stdout.readline() == f"{later.pid}\n"


@pytest.mark.slow
@posix
@pytest.mark.parametrize("how", ["request", "SIGTERM"])
def test_a_cancelled_waiting_process_starts_without_a_slot(tmp_path, waiting, how):
    run = tmp_path / "run"
    run.mkdir()
    with wait_for_slot(tmp_path, "busy", "2020"):
        process = waiting("run", run=run, request="CANCEL")
        until(lambda: has_ticket(tmp_path, "run"))
        if how == "request":
            (run / "CANCEL").touch()
        else:
            process.terminate()
        assert process.stdout.readline() == f"{process.pid}\n" and (run / "CANCEL").exists()
        assert not has_ticket(tmp_path, "run")


def test_the_queue_is_limited_and_ignores_dead_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_WAITING", "2")
    folder = tmp_path / queue.FOLDER
    queue.check_room(tmp_path)
    folder.mkdir()
    for name in ("ticket-1-dead", "ticket-2-dead", "slot-7"):
        (folder / name).touch()
    queue.check_room(tmp_path)
    assert list(folder.iterdir()) == []
    with hold_ticket(tmp_path, "ticket-0-waits"), hold_ticket(tmp_path, "ticket-1-waits"):
        with pytest.raises(InputError, match=r"2 training runs that wait.*allows 2 \(SENTISCOPE_MOST_WAITING\)"):
            queue.check_room(tmp_path)
        queue.check_room(tmp_path, queue.SHORT)
