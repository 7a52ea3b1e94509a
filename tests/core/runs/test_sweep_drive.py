"""Driving a sweep with processes that only pretend to train: what is started, when, and what a second call does."""

import contextlib
import sys
import textwrap
import threading
import time

import pytest
from refused import check_raises
from waiting import hold_ticket, until

from core.exceptions import InputError
from core.runs import sweep, sweep_drive, training_jobs
from core.runs.store import get_own_process
from core.runs.sweep import Plan, list_members

PRETEND = """
    import sys, time
    from pathlib import Path
    from core.runs.queue import wait_for_slot
    from core.runs.store import RunStore
    store, run = RunStore(), sys.argv[1]
    record = store.read(run)
    while record.process is None:  # the starter writes who we are
        record = store.read(run)
    stopped = lambda: store.is_cancel_requested(run)
    with wait_for_slot(store.folder, run, record.created, stopped):
        store.update(run, status="running", progress={"step": 1, "steps": 2})
        end = time.monotonic() + float(SECONDS)
        while time.monotonic() < end and not stopped():
            time.sleep(0.02)
        status = "cancelled" if stopped() else "failed" if record.config.training.lr == 0.5 else "done"
        with (store.folder / "order.txt").open("a") as order:  # written first, as the test reads it when the run ends
            order.write(run + " ")
        results = {"metrics": {"test": {"accuracy": 0.5}}}
        store.update(run, status=status, process=None, seconds=20.0, results=results, reason=status)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(sweep_drive, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(sweep_drive, "LOOK_SECONDS", 0.3)
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")

    def last(seconds):
        code = textwrap.dedent(PRETEND).replace("SECONDS", str(seconds))
        monkeypatch.setattr(training_jobs, "build_command", lambda run: [sys.executable, "-c", code, run])

    last(0)
    return last


def make_plan(store, **changes):
    return sweep.save(store, Plan(**{"name": "study", "models": ("vanilla", "ndt-01-n2"), **changes}))


def list_states(store, saved):
    return [sweep.get_state(record) for record in sweep.read_records(store, list_members(saved))]


@contextlib.contextmanager
def drive_in_thread(store, saved, **options):
    thread = threading.Thread(target=sweep_drive.run_sweep, args=(store, saved), kwargs=options)
    thread.start()
    try:
        yield
    finally:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.slow
def test_all_members_are_trained_in_order(store):
    saved, told = make_plan(store, seeds=(0, 1)), []
    found = sweep_drive.run_sweep(store, saved, tell=told.append)
    assert found.counts["done"] == found.total == 4 and found.share == 1.0 and found.seconds_left == 0
    assert {record.parent for record in store.list()} == {"study"}
    trained, wanted = (store.folder / "order.txt").read_text().split(), [member.run for member in list_members(saved)]
    assert sorted(trained) == sorted(wanted)
    # The process that starts later may enter the queue first.
    assert all(abs(trained.index(run) - place) <= 1 for place, run in enumerate(wanted))
    assert told[-1]["done"] == 4 and told[0]["waiting"] >= 2
    assert all(sum(event[state] for state in sweep.STATES) == 4 for event in told)
    assert max(event["queued"] + event["running"] for event in told) == 2, "no more wait than a free slot needs"
    check_raises(InputError, "nothing to cancel", sweep_drive.cancel, store, "study")


@pytest.mark.slow
def test_a_second_call_starts_only_what_failed_or_was_lost(store):
    """A running member is not started twice, and a damaged one does not stop the others."""
    saved = make_plan(store, grid={"training.lr": ("0.01", "0.5")})
    damaged, _, alone, _ = list_members(saved)
    store.create(damaged.config, "vanilla", damaged.run, parent="study")
    whole = (store.get_path(damaged.run) / "run.json").read_text()
    (store.get_path(damaged.run) / "run.json").write_text("{")
    store.create(alone.config, "ndt-01-n2", alone.run, parent="study")
    training_jobs.start(store, alone.run)
    first = sweep_drive.run_sweep(store, saved)
    assert (first.counts["done"], first.counts["failed"]) == (1, 3)
    assert sorted(reason for _, reason in first.failures)[1:] == ["failed", "failed"]
    assert (store.folder / "order.txt").read_text().split().count(alone.run) == 1
    assert first.failures[0][0] == damaged.run and "cannot be read" in first.failures[0][1]
    (store.get_path(damaged.run) / "run.json").write_text(whole)
    begun = (store.folder / "order.txt").read_text().split()
    lost = list_members(saved)[list_states(store, saved).index("done")].run
    store.remove(lost)
    assert sorted(list_states(store, saved)) == ["failed", "failed", "waiting", "waiting"]
    sweep_drive.run_sweep(store, saved)
    again = (store.folder / "order.txt").read_text().split()[len(begun) :]
    assert sorted(again) == sorted([lost, *(run for run, _ in first.failures)])


@pytest.mark.slow
def test_cancelling_stops_training_and_starts_no_runs(store, quick):
    quick(600)  # or until it is cancelled, however busy the machine is
    saved = make_plan(store, seeds=(0, 1))
    with drive_in_thread(store, saved):
        until(lambda: "running" in list_states(store, saved))  # the first or, see above, the second
        assert sweep_drive.is_driven(store, "study")
        check_raises(InputError, "cancel it first", sweep.remove, store, "study")
        assert sweep_drive.cancel(store, "study") >= 1
    after = list_states(store, saved)
    assert "running" not in after and "cancelled" in after[:2] and after[-1] == "waiting"
    wish = threading.Event()
    with drive_in_thread(store, saved, stopped=wish.is_set):
        until(lambda: "running" in list_states(store, saved))
        wish.set()
    assert "running" not in list_states(store, saved), "a wish to stop cancels too"
    assert list_states(store, saved).count("cancelled") > after.count("cancelled")
    quick(0)
    assert sweep_drive.run_sweep(store, saved).counts["done"] == 4, "a later call finishes it"


@pytest.mark.slow
def test_a_sweep_has_one_driver_and_others_may_watch(store, quick):
    quick(1)
    saved, told = make_plan(store), []
    with drive_in_thread(store, saved):
        until(lambda: sweep_drive.is_driven(store, "study"))
        check_raises(InputError, "already driven", sweep_drive.run_sweep, store, saved)
        assert sweep_drive.watch(store, saved, tell=told.append).counts["done"] == 2
    assert told[-1]["done"] == 2 and not sweep_drive.is_driven(store, "study")


def test_the_time_left_uses_finished_runs_of_the_cell(store, table, monkeypatch):
    saved = make_plan(store, seeds=(0, 1, 2))
    runs = list_members(saved)
    for member in runs[:2]:  # one of each cell
        store.create(member.config, member.cell.model, member.run, parent="study")
        store.update(member.run, status="done", seconds=20.0 if member.cell.model == "vanilla" else 50.0)
    monkeypatch.setenv("SENTISCOPE_JOBS", "2")
    found = sweep_drive.read_progress(store, saved)
    assert found.seconds_left == (2 * (20 + 10) + 2 * (50 + 10)) / 2 and found.unknown == 0
    running = runs[2].run
    store.create(runs[2].config, "vanilla", running, parent="study")
    store.update(running, status="running", progress={"step": 3, "steps": 4}, process=get_own_process())
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    found = sweep_drive.read_progress(store, saved)
    assert found.seconds_left == (1.25 * 30 + 2 * 60) and found.share == (2 + 0.75) / 6
    other = make_plan(store, name="other", models=("vanilla", "tfidf-nb"), data=(str(table),))
    assert sweep_drive.read_progress(store, other).unknown == 2, "their time nobody knows"


@pytest.mark.slow
def test_a_detached_sweep_continues_in_its_process(store, monkeypatch):
    make_plan(store)
    code = "import sys, time\nfrom core.runs import sweep_drive\nfrom core.runs.store import RunStore\n"
    code += "with sweep_drive.hold_sweep(RunStore(), sys.argv[1]): time.sleep(1)"
    monkeypatch.setattr(sweep_drive, "build_command", lambda name: [sys.executable, "-c", code, name])
    sweep_drive.start_driver(store, "study")
    assert sweep_drive.is_driven(store, "study")
    check_raises(InputError, "already driven", sweep_drive.start_driver, store, "study")
    until(lambda: not sweep_drive.is_driven(store, "study"))
    monkeypatch.setattr(
        sweep_drive, "build_command", lambda name: [sys.executable, "-c", "raise SystemExit('no disk')"]
    )
    check_raises(InputError, r"the reason is in .*study\.log", sweep_drive.start_driver, store, "study")
    assert "no disk" in sweep.get_path(store, "study", "log").read_text()


@pytest.mark.slow
def test_a_sweep_waits_while_the_queue_is_full(store, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_WAITING", "1")
    saved = make_plan(store)
    with hold_ticket(store.folder, "ticket-9-somebody"):
        driver = threading.Thread(target=sweep_drive.run_sweep, args=(store, saved))
        driver.start()
        time.sleep(0.3)
        assert list_states(store, saved) == ["waiting", "waiting"]
    driver.join(30)
    assert list_states(store, saved) == ["done", "done"]


def test_the_number_of_running_sweeps_is_limited(store, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_SWEEPS", "1")
    make_plan(store)
    make_plan(store, name="other")
    with sweep_drive.hold_sweep(store, "other") as mine:
        assert mine
        with pytest.raises(InputError, match=r"1 sweeps that run at once.*\(SENTISCOPE_MOST_SWEEPS\)"):
            sweep_drive.start_driver(store, "study")
