import os
import signal
import sys
import threading
import types

import pytest
from refused import denied, full

from core.exceptions import Cancelled, ConfigError, InputError, SentiscopeError, StorageError
from core.runs import queue, training_jobs
from core.runs.queue import lock_run, wait_for_slot
from core.runs.record import CANCEL, LOG
from core.runs.store import get_own_process
from core.runs.training_jobs import execute


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(queue, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(training_jobs, "START_SECONDS", 0.05)
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
    assert seen == [("running", get_own_process())]
    assert (record.status, record.process) == ("done", None)
    assert told == ["queued", "running", "training"]
    assert store.read("first") == record


def test_finished_or_locked_runs_are_refused(store, created, work):
    work(lambda _: None)
    with lock_run(store.get_path("first")), pytest.raises(InputError, match="another process"):
        execute(store, "first")
    assert store.read("first").status == "queued"
    execute(store, "first")
    with pytest.raises(InputError, match="'first' is done: there is nothing to resume"):
        execute(store, "first")


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
    assert execute(store, "first").status == "cancelled"
    assert signal.getsignal(number) is before


def test_expected_failures_keep_their_message_and_are_logged(store, created, work):
    work(raise_error(ConfigError("training.metric=roc_auc: not defined")))
    with pytest.raises(ConfigError, match="roc_auc"):
        execute(store, "first")
    record = store.read("first")
    assert (record.status, record.reason, record.process) == ("failed", "training.metric=roc_auc: not defined", None)
    assert "Traceback" in (store.get_path("first") / LOG).read_text()
    assert "Traceback" not in record.reason


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
    with pytest.raises(SentiscopeError, match=told):
        execute(store, "first")
    assert store.read("first").status == "failed"
    work(lambda _: None)
    assert execute(store, "first").status == "done", "its slot is free and it can be resumed"


def test_failures_on_a_full_disk_are_reported(store, created, work, monkeypatch):
    def perform(experiment):
        monkeypatch.setattr(os, "replace", full)
        experiment.store.update("first", device="cpu")

    work(perform)
    with pytest.raises(StorageError, match="disk is full; free some space"):
        execute(store, "first")
    record = store.read("first")
    assert record.status == "running"  # by this very process, which is alive
    assert store.list() == [record]
    work(raise_error(AssertionError("nothing may be done")))
    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(StorageError, match=r"first.run\.json.*may not be written; change its permissions"):
        execute(store, "first")
