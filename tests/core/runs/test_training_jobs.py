import json
import os
import signal
import subprocess
import sys
import threading
import time
import types

import psutil
import pytest
from refused import check_raises, denied, full
from waiting import dead, hold_ticket, until

from core.data.config import DataConfig
from core.data.uploads import keep_choice, keep_file
from core.exceptions import Cancelled, ConfigError, InputError, RunNotFound, SentiscopeError, StorageError
from core.runs import background_jobs, queue, training_jobs
from core.runs.queue import lock_run, wait_for_slot
from core.runs.record import CANCEL, CHECKPOINT, HISTORY, LOG
from core.runs.store import get_own_process, is_alive
from core.runs.training_jobs import execute

SLEEP = "import time; print('begun', flush=True); time.sleep(60)"
HOUR, DAY = 3600.0, 24 * 3600.0


def has_begun(folder):
    """Whether the process of a submitted run is at work: it locks the run's folder after setting its signals."""
    with queue.open_lock(folder / ".lock") as handle:
        return not queue.try_lock(handle)


def end_process(process):
    process.kill()
    process.wait()


@pytest.fixture
def sleeping(monkeypatch):
    """Jobs are processes that only sleep; the fixture ends those that are left."""
    started = []

    def remember(*arguments, **options):
        started.append(subprocess.Popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(training_jobs, "build_command", lambda run: [sys.executable, "-c", SLEEP])
    names = {name: getattr(subprocess, name) for name in ("DEVNULL", "STDOUT")}
    monkeypatch.setattr(background_jobs, "subprocess", types.SimpleNamespace(Popen=remember, **names))
    yield started
    for process in started:
        end_process(process)


@pytest.mark.slow
def test_a_submitted_run_is_queued_in_a_new_session_with_a_log(store, config, sleeping, monkeypatch):
    record = training_jobs.submit(store, config, "ndt-01-n2", "mine")
    assert (record.run, record.status, record.process.pid) == ("mine", "queued", sleeping[0].pid)
    assert store.read("mine") == record and os.getsid(sleeping[0].pid) == sleeping[0].pid != os.getsid(0)
    assert psutil.Process(sleeping[0].pid).environ()["SENTISCOPE_RUNS"] == str(store.folder)
    log = store.get_path("mine") / LOG
    until(lambda: log.read_text() == "begun\n")
    assert training_jobs.cancel(store, "mine").status == "queued" and store.is_cancel_requested("mine"), "a wish for it"
    store.create(config, "ndt-01-n2", "later")
    store.create(config, "ndt-01-n2", "runs")
    store.update("runs", status="running", process=get_own_process())
    records = store.list()
    places = [training_jobs.get_queue_position(records, name) for name in ("mine", "later", "runs", "none")]
    assert places == [1, 2, 0, 0]
    record = training_jobs.cancel(store, "later")
    assert record.status == "cancelled" and "`sentiscope train --resume later` continues it" in record.reason
    monkeypatch.setattr(training_jobs, "DYING_SECONDS", 0.1)
    with lock_run(store.get_path("later")), pytest.raises(InputError, match="another process"):
        training_jobs.start(store, "later")
    monkeypatch.setattr(os, "replace", full)
    check_raises(StorageError, "disk is full", training_jobs.submit, store, config, "ndt-01-n2")
    assert len(sleeping) == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="processes inherit no locks")
def test_the_run_submitted_first_takes_the_free_slot_although_its_process_starts_slowly(
    store, config, sleeping, monkeypatch
):
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    wrap, delay = queue.wrap_command, "import os, sys, time; time.sleep(2); os.execv(sys.argv[1], sys.argv[1:])"
    monkeypatch.setattr(queue, "wrap_command", lambda *given: [sys.executable, "-c", delay, *wrap(*given)])
    training_jobs.submit(store, config, "ndt-01-n2", "slow")
    monkeypatch.setattr(queue, "wrap_command", wrap)
    training_jobs.submit(store, config, "ndt-01-n2", "quick")
    logs = [store.get_path(name) / LOG for name in ("slow", "quick")]
    until(lambda: any(log.read_text() for log in logs))
    assert [log.read_text() for log in logs] == ["begun\n", ""]


def test_running_or_finished_runs_are_not_started_again(store, config, sleeping):
    training_jobs.submit(store, config, "ndt-01-n2", "mine")
    check_raises(InputError, "queued: there is nothing to start", training_jobs.start, store, "mine")
    history = store.get_path("mine") / HISTORY
    for place, kept in enumerate((True, False)):  # only a resumed run keeps its history
        history.write_text('{"kind": "step"}\n')
        if kept:
            (store.get_path("mine") / CHECKPOINT).mkdir()
        else:
            (store.get_path("mine") / CHECKPOINT).rmdir()
        end_process(sleeping[place])
        assert training_jobs.start(store, "mine").process.pid == sleeping[place + 1].pid
        assert history.exists() is kept
    end_process(sleeping[2])
    store.update("mine", status="done", process=None)
    check_raises(InputError, "done", training_jobs.start, store, "mine")


def test_restarting_ignores_an_old_cancel_request(store, created, sleeping):
    (store.get_path("first") / CANCEL).touch()
    store.update("first", status="cancelled", reason="cancelled")
    record = training_jobs.start(store, "first")
    assert (record.status, record.reason) == ("queued", "") and not store.is_cancel_requested("first")


@pytest.mark.parametrize("keep", [True, False], ids=["paused", "dropped"])
def test_an_unresponsive_process_is_killed_on_the_second_request(store, config, sleeping, keep):
    training_jobs.submit(store, config, "ndt-01-n2", "mine")
    store.update("mine", status="running")
    (store.get_path("mine") / CHECKPOINT).mkdir()
    os.kill(sleeping[0].pid, signal.SIGSTOP)
    asked = store.get_path("mine") / CANCEL
    for _ in range(2):
        record = training_jobs.cancel(store, "mine", keep=keep, insist=True)
        assert record.status == "running", "it may be in the middle of a step"
    os.utime(asked, (time.time() - training_jobs.STUCK_SECONDS - 1,) * 2)
    assert training_jobs.cancel(store, "mine", keep=keep).status == "running", "a sweep that stops does not insist"
    record = training_jobs.cancel(store, "mine", keep=keep, insist=True)
    assert sleeping[0].wait(10) == -signal.SIGKILL
    assert record == store.read("mine") and record.status == "cancelled" and record.process is None
    hint = "continues it" if keep else "starts it again"
    assert record.reason == f"cancelled; it did not answer and was ended; `sentiscope train --resume mine` {hint}"
    assert not asked.exists() and (store.get_path("mine") / CHECKPOINT).is_dir() is keep


@pytest.mark.parametrize("status", ["done", "failed", "cancelled"])
def test_only_waiting_or_running_runs_can_be_cancelled(store, created, status):
    store.update("first", status=status)
    check_raises(InputError, f"'first' is {status}: there is nothing to cancel", training_jobs.cancel, store, "first")
    check_raises(RunNotFound, None, training_jobs.cancel, store, "none")


@pytest.mark.slow
def test_recovery_restarts_waiting_runs_and_records_dead_ones(store, config, sleeping):
    for name in ("never", "died", "lost", "lives", "done", "failed"):
        store.create(config, "ndt-01-n2", name)
    store.update("died", status="queued", process=dead())
    store.update("lost", status="running", process=dead())
    store.update("lives", status="running", process=get_own_process())
    store.update("done", status="done")
    store.update("failed", status="failed", reason="too big")
    assert [record.run for record in training_jobs.recover_runs(store)] == ["never", "died", "lost"]
    assert [process.pid for process in sleeping] == [store.read(name).process.pid for name in ("never", "died")]
    lost = store.read("lost")
    assert (lost.status, lost.process) == ("failed", None) and "continues it" in lost.reason
    assert store.read("lives").status == "running" and store.read("failed").reason == "too big"
    assert training_jobs.recover_runs(store) == []


def test_recovery_continues_after_damaged_runs_and_a_full_disk(store, config, sleeping, monkeypatch):
    for name in ("a", "b"):
        store.create(config, "ndt-01-n2", name)
    (store.get_path("a") / "run.json").write_text("junk")
    store.create(config, "ndt-01-n2", "lost")
    store.update("lost", status="running", process=dead())
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert training_jobs.recover_runs(store) == []
    for process in sleeping:
        end_process(process)
    assert [record.run for record in training_jobs.recover_runs(store)] == ["b", "lost"]


def test_a_full_queue_creates_no_run(store, config, sleeping, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_WAITING", "1")
    with hold_ticket(store.folder, "ticket-1-waits"), pytest.raises(InputError, match="this server allows 1"):
        training_jobs.submit(store, config, "ndt-01-n2", "mine")
    assert store.list() == [] and sleeping == []
    assert training_jobs.submit(store, config, "ndt-01-n2", "mine").status == "queued"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a training run waits in its own process there")
def test_a_waiting_run_is_small_alive_and_can_be_cancelled(store, config, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    with queue.wait_for_slot(store.folder, "busy", "2020"):
        record = training_jobs.submit(store, config, "ndt-01-n2", "mine")
        until(lambda: has_begun(store.get_path("mine")))
        process = psutil.Process(record.process.pid)
        assert process.memory_full_info().uss < 10e6
        assert store.read("mine") == record and is_alive(record.process)
        process.kill()
        until(lambda: not is_alive(record.process))
        (again,) = training_jobs.recover_runs(store)
        assert again.process.pid != process.pid and is_alive(again.process), "it is started again after a restart"
        until(lambda: has_begun(store.get_path("mine")))
        psutil.Process(again.process.pid).terminate()  # a wish
        until(lambda: store.read("mine").status == "cancelled")
        assert store.read("mine").process is None
    assert not store.is_cancel_requested("mine")


def age_path(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


@pytest.fixture
def upload(store):
    """Store an upload of a given age: upload(content, seconds)."""

    def keep(content, seconds):
        kept = keep_file(store.folder / training_jobs.LIBRARY, "a.csv", content)
        age_path(kept.parent, seconds)
        return kept

    return keep


@pytest.mark.parametrize("name", [".import-12-ab/run", ".removed-first-12/evaluation", ".sweeps/.plan.json.1-a.new"])
def test_incomplete_files_are_deleted_after_an_hour(store, created, name):
    path = store.folder / name
    path.mkdir(parents=True)
    (path / "file").touch()
    top = path if name.endswith(".new") else path.parent
    age_path(top, HOUR - 60)
    training_jobs.clear_leftovers(store)
    assert (path / "file").exists()
    age_path(top, HOUR + 60)
    training_jobs.clear_leftovers(store)
    assert not top.exists() and store.read("first") == created


def test_stale_temporary_files_are_deleted(store, created):
    folder = store.get_path("first")
    before = sorted(each.name for each in folder.iterdir())
    (folder / "checkpoint").mkdir()
    for stale in (folder / ".run.json.17.new", folder / "checkpoint" / ".state.safetensors.17-00ff.new"):
        stale.touch()
        age_path(stale, HOUR + 60)
    training_jobs.clear_leftovers(store)
    assert sorted(each.name for each in folder.iterdir()) == sorted(["checkpoint", *before])
    assert list((folder / "checkpoint").iterdir()) == []


def test_unused_uploads_are_deleted_after_a_day(store, config, upload):
    library = store.folder / training_jobs.LIBRARY
    chosen, trained, forgotten, fresh = (
        upload(name.encode(), age)
        for name, age in (("chosen", 9 * DAY), ("trained", 9 * DAY), ("forgotten", DAY + HOUR), ("fresh", DAY - HOUR))
    )
    again = upload(b"again", 9 * DAY)
    keep_file(library, "b.csv", b"again")
    keep_choice(library, DataConfig(str(chosen)))
    store.create(config, "ndt-01-n2", "own")
    # A record that cannot be read may still be mended by a person, and names its data.
    (store.get_path("own") / "run.json").write_text(json.dumps({"config": {"data": {"name": str(trained)}}}) + "{")
    training_jobs.clear_leftovers(store)
    assert [path.exists() for path in (chosen, trained, forgotten, fresh, again)] == [True, True, False, True, True]


def test_dead_queue_tickets_are_deleted_at_the_next_start(store, created):
    folder = store.folder / queue.FOLDER
    folder.mkdir()
    (folder / "ticket-1-dead").touch()
    with queue.wait_for_slot(store.folder, "busy", "2020"), hold_ticket(store.folder, "ticket-2-waits"):
        store.update("first", status="done")
        assert training_jobs.recover_runs(store) == []
        assert sorted(each.name for each in folder.iterdir()) == ["slot-0", "ticket-2-waits"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(queue, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(queue, "START_SECONDS", 0.05)
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")


@pytest.fixture
def work(monkeypatch):
    """Replace the experiment by what a test wants it to do: work(lambda experiment: …)."""

    def replace(perform):
        class Fake:
            def __init__(self, store, run, stopped, tell):
                self.store, self.run, self.stopped, self.tell = store, run, stopped, tell

            def perform(self):
                perform(self)

        monkeypatch.setitem(sys.modules, "core.runs.pipeline", types.SimpleNamespace(Experiment=Fake))

    return replace


def raise_error(error):
    def perform(_):
        raise error

    return perform


def test_a_run_is_queued_then_running_then_done(store, created, work):
    seen = []

    def look(experiment):
        record = store.read("first")
        seen.append((record.status, record.process))
        experiment.tell({"kind": "training"})

    work(look)
    told = []
    record = execute(store, "first", on_event=lambda event: told.append(event["kind"]))
    assert seen == [("running", get_own_process())] and (record.status, record.process) == ("done", None)
    assert told == ["queued", "running", "training"] and store.read("first") == record


def test_finished_or_locked_runs_are_refused(store, created, work):
    work(lambda _: None)
    with lock_run(store.get_path("first")), pytest.raises(InputError, match="another process"):
        execute(store, "first")
    assert store.read("first").status == "queued"
    execute(store, "first")
    check_raises(InputError, "'first' is done: there is nothing to resume", execute, store, "first")


@pytest.mark.parametrize(("chosen", "seen"), [(None, training_jobs.SPINS), ("0", "0")])
def test_waiting_threads_yield_unless_configured(store, created, work, monkeypatch, chosen, seen):
    monkeypatch.setenv("GOMP_SPINCOUNT", "")  # so that what the worker sets is undone
    if chosen is None:
        monkeypatch.delenv("GOMP_SPINCOUNT")
    else:
        monkeypatch.setenv("GOMP_SPINCOUNT", chosen)
    found = []
    work(lambda _: found.append(os.environ["GOMP_SPINCOUNT"]))
    execute(store, "first")
    assert found == [seen]


def cancel_now(experiment):
    if experiment.stopped():
        raise Cancelled("cancelled")


def test_a_cancel_request_ends_a_running_run_and_is_deleted(store, created, work):
    def perform(experiment):
        assert not experiment.stopped()
        (store.get_path("first") / CANCEL).touch()
        cancel_now(experiment)

    work(perform)
    record = execute(store, "first")
    assert (record.status, record.process) == ("cancelled", None)
    assert "`sentiscope train --resume first` continues it" in record.reason
    assert not store.is_cancel_requested("first")
    work(cancel_now)
    (store.get_path("first") / CANCEL).touch()
    thread = threading.Thread(target=execute, args=(store, "first"))
    thread.start()  # outside the main thread it works without signals
    thread.join()
    record = store.read("first")
    assert (record.status, record.reason) == ("done", ""), "resuming forgets an old wish"


def test_a_cancel_request_reaches_a_queued_run(store, created, work):
    work(raise_error(AssertionError("there is no slot")))
    (store.get_path("first") / CANCEL).touch()
    with wait_for_slot(store.folder, "other", "2020", lambda: False):
        assert execute(store, "first").status == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_request_a_stop_and_handlers_are_restored(store, created, work, number):
    before = signal.getsignal(number)

    def perform(experiment):
        signal.raise_signal(number)
        cancel_now(experiment)

    work(perform)
    assert execute(store, "first").status == "cancelled" and signal.getsignal(number) is before


def test_expected_failures_keep_their_message_and_are_logged(store, created, work):
    work(raise_error(ConfigError("training.metric=roc_auc: not defined")))
    check_raises(ConfigError, "roc_auc", execute, store, "first")
    record = store.read("first")
    assert (record.status, record.reason, record.process) == ("failed", "training.metric=roc_auc: not defined", None)
    assert "Traceback" in (store.get_path("first") / LOG).read_text() and "Traceback" not in record.reason


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ZeroDivisionError("division by zero"), "unexpected ZeroDivisionError: division by zero; .*log.txt"),
        (MemoryError(), "out of memory: try a smaller training.batch_size or text.max_length"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "out of memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "out of memory"),
    ],
)
def test_unexpected_failures_are_reported_in_a_sentence(store, created, work, error, told):
    work(raise_error(error))
    check_raises(SentiscopeError, told, execute, store, "first")
    assert store.read("first").status == "failed"
    work(lambda _: None)
    assert execute(store, "first").status == "done", "its slot is free and it can be resumed"


def test_failures_on_a_full_disk_are_reported(store, created, work, monkeypatch):
    def perform(experiment):
        monkeypatch.setattr(os, "replace", full)
        experiment.store.update("first", device="cpu")

    work(perform)
    check_raises(StorageError, "disk is full; free some space", execute, store, "first")
    record = store.read("first")
    assert record.status == "running"  # by this very process, which is alive
    assert store.list() == [record]
    work(raise_error(AssertionError("nothing may be done")))
    monkeypatch.setattr(os, "replace", denied)
    check_raises(StorageError, r"first.run\.json.*may not be written; change its permissions", execute, store, "first")
