import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass

import psutil
import pytest
from refused import check_raises
from waiting import hold_ticket, until

from core.exceptions import InputError, NotAvailable
from core.runs import background_jobs, queue
from core.runs.background_jobs import Analysis, Offer, locate_folder
from core.runs.record import Process
from core.runs.store import get_own_process, is_alive


@dataclass(frozen=True)
class Counting(Analysis[dict[str, int]]):
    to: int

    name = "count"
    offer = Offer("Count", "Counting", "It could not be counted", "Counts to a number.")
    shape = dict[str, int]

    @property
    def words(self) -> tuple[str, ...]:
        return "count", str(self.to)

    def find(self, tell) -> dict[str, int]:
        tell("counting", 0.5)
        if self.to < 0:
            raise NotAvailable("it never ends")
        return {"counted": self.to}


@pytest.fixture
def here(store, tmp_path):
    return Counting(tmp_path / "kept", "count-3", store, 3)


@pytest.fixture
def child(here):
    """A process that is recorded as the job's process."""
    here.folder.mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        began = psutil.Process(child.pid).create_time()
        who = {"pid": child.pid, "started": began, "host": get_own_process().host}
        tell(here, who, began)
        yield child, who, began
        child.kill()


def tell(here, who, began):
    told = {"process": who, "began": began, "what": "counting", "share": 0.5}
    here.get_path("progress.json").write_text(json.dumps(told))


def test_results_are_computed_once_and_damaged_files_again(here):
    assert here.read() is None and background_jobs.read_job(here).status == "none"
    heard = []
    assert here.read_or_compute(lambda *told: heard.append(told)) == ({"counted": 3}, False)
    assert heard == [("counting", 0.5)] and not here.get_path("progress.json").exists()
    assert here.read_or_compute(lambda *told: pytest.fail("it is kept")) == ({"counted": 3}, True)
    assert background_jobs.read_job(here).status == "done"
    for damage in ("{", '{"counted": "three"}', "[]"):
        here.get_path("json").write_text(damage)
        assert here.read() is None and here.read_or_compute() == ({"counted": 3}, False)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupted_jobs_leave_nothing_and_failed_ones_their_reason(here, error):
    def stop(what, share):
        raise error

    check_raises(error, None, here.compute, stop)
    assert not list(here.folder.iterdir())
    never = dataclasses.replace(here, to=-1)
    check_raises(NotAvailable, "never ends", never.compute)
    assert (background_jobs.read_job(never).status, background_jobs.read_job(never).what) == ("failed", "it never ends")
    background_jobs.forget(never)
    assert background_jobs.read_job(never).status == "none"


def test_results_of_starters_are_cached_unless_shipped(tmp_path, monkeypatch):
    monkeypatch.setattr(background_jobs, "get_cache_folder", lambda: tmp_path / "cache")
    run = tmp_path / "starter"
    (run / "maps").mkdir(parents=True)
    (run / "maps" / "old.json").touch()
    assert locate_folder(run, "maps", "new") == run / "maps"
    monkeypatch.setattr(background_jobs, "is_starter", lambda folder: True)
    assert locate_folder(run, "maps", "new") == tmp_path / "cache" / "maps"
    assert locate_folder(run, "maps", "new", "others") == tmp_path / "cache" / "others"
    assert locate_folder(run, "maps", "old") == run / "maps"


def test_running_jobs_are_visible_to_all_and_dead_ones_reported(here, child):
    process, who, began = child
    found = background_jobs.read_job(here)
    assert (found.status, found.what, found.share) == ("running", "counting", 0.5)
    tell(here, who, began + 3600)  # the clock was set back
    assert background_jobs.read_job(here).seconds == 0
    process.kill()
    process.wait()
    found = background_jobs.read_job(here)
    assert found.status == "failed" and "ended while counting" in found.what


def test_cancel_ends_only_the_jobs_own_process(here, child):
    process, who, began = child
    tell(here, {**who, "started": 1.0}, began)
    background_jobs.cancel(here)
    assert process.poll() is None
    tell(here, who, began)
    background_jobs.cancel(here)
    assert not is_alive(Process(**who)) and background_jobs.read_job(here).status == "none"
    assert not list(here.folder.iterdir())


def test_a_waiting_job_is_a_small_process_and_can_be_cancelled(store, here, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    monkeypatch.setattr(
        background_jobs, "build_command", lambda *words: [sys.executable, "-c", f"print({' '.join(words)!r})"]
    )
    with queue.wait_for_slot(store.folder, "another", "2020", kind=queue.SHORT):
        here.start()
        found = background_jobs.read_job(here)
        assert (found.status, found.what) == ("running", "waiting for its turn")
        here.start()  # does nothing while a job runs
        until(lambda: len(list((store.folder / queue.FOLDER).glob("short-ticket-*-count-*"))) == 1)
        assert here.get_path("log").read_text() == ""
        background_jobs.cancel(here)
        assert background_jobs.read_job(here).status == "none"
        here.start()
    until(lambda: here.get_path("log").read_text() == "count 3\n")


def test_jobs_beyond_the_queue_limit_are_refused(store, here, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_SHORT", "1")
    told = r"1 maps and TF-IDF yardsticks that wait.*\(SENTISCOPE_MOST_SHORT\)"
    with hold_ticket(store.folder, "short-ticket-1-map"), pytest.raises(InputError, match=told):
        here.start()
    assert background_jobs.read_job(here).status == "none"
