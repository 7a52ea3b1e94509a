import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from core.exceptions import Cancelled, ConfigError, InputError
from core.runs import queue
from core.runs.queue import limit, only_process, slot, threads

HOLD = """
import sys, time
from pathlib import Path
from core.runs.queue import only_process, slot
with only_process(Path(sys.argv[1]) / "held"), slot(Path(sys.argv[1]), "held", "2026-01-01", lambda: False):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(queue, "POLL_SECONDS", 0.01)
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")


def never():
    return False


def test_the_limit_is_half_of_the_cores_or_as_told(monkeypatch):
    monkeypatch.delenv("SENTISCOPE_JOBS")
    for cores, jobs, each in ((1, 1, 1), (2, 1, 2), (8, 4, 2), (9, 4, 2)):
        monkeypatch.setattr(queue, "cores", lambda cores=cores: cores)
        assert (limit(), threads()) == (jobs, each)
    monkeypatch.setenv("SENTISCOPE_JOBS", "3")
    assert (limit(), threads()) == (3, 3)
    monkeypatch.setenv("SENTISCOPE_JOBS", "100")
    assert threads() == 1


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv("SENTISCOPE_JOBS", text)
    with pytest.raises(ConfigError, match="SENTISCOPE_JOBS"):
        limit()


def work(folder, jobs, numbers):
    """Train `numbers` in threads that wait for `jobs` busy slots: the order they came in, the most at once."""
    running, most, order, guard = set(), 0, [], threading.Lock()

    def train(number):
        nonlocal most
        with slot(folder, f"run{number}", f"2026-01-01T00:00:0{number}", never):
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
            busy.enter_context(slot(folder, f"busy{number}", "2025", never))
        for worker in workers:
            worker.start()
        while len(list((folder / queue.FOLDER).glob("ticket-*"))) < len(workers):
            time.sleep(0.01)
        assert order == []
    for worker in workers:
        worker.join()
    assert list((folder / queue.FOLDER).glob("ticket-*")) == []
    return order, most


def test_the_oldest_run_comes_first(tmp_path):
    assert work(tmp_path, 1, (5, 3, 4, 1, 2)) == ([1, 2, 3, 4, 5], 1)


def test_no_more_than_the_limit_train_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_JOBS", "2")
    order, most = work(tmp_path, 2, (5, 3, 4, 1, 2))
    assert sorted(order) == [1, 2, 3, 4, 5]
    assert most == 2


def test_waiting_ends_when_asked_to_stop(tmp_path):
    asked = iter([False, False, True])
    with slot(tmp_path, "a", "2025", never), pytest.raises(Cancelled), slot(tmp_path, "b", "2026", lambda: next(asked)):
        pytest.fail("there is no second slot")
    assert list((tmp_path / queue.FOLDER).glob("ticket-*")) == []


def test_a_run_is_in_one_process_only(tmp_path):
    with only_process(tmp_path), pytest.raises(InputError, match="another process"), only_process(tmp_path, 0.1):
        pytest.fail("the run is held")
    with only_process(tmp_path):
        pass


def test_a_killed_process_frees_its_run_its_slot_and_its_place(tmp_path):
    (tmp_path / "held").mkdir()
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    # A process that died while waiting leaves a ticket that nobody holds.
    (tmp_path / queue.FOLDER / "ticket-1999-dead").touch()
    until = time.monotonic() + 0.1
    with pytest.raises(Cancelled), slot(tmp_path, "mine", "2026-02", lambda: time.monotonic() > until):
        pytest.fail("the slot is taken")
    with pytest.raises(InputError), only_process(tmp_path / "held"):
        pytest.fail("the run is taken")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with only_process(tmp_path / "held"), slot(tmp_path, "mine", "2026-02", never):
        assert list((tmp_path / queue.FOLDER).glob("ticket-*")) == []


def test_an_error_while_training_frees_the_slot(tmp_path):
    with pytest.raises(ZeroDivisionError), slot(tmp_path, "a", "2025", never):
        raise ZeroDivisionError
    with slot(tmp_path, "b", "2026", never):
        pass
