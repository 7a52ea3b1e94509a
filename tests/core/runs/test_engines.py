"""Jobs of other engines: Slurm (submitit's local executor stands in for it) and a Ray cluster of this machine."""

import contextlib
import functools
import os
import shlex
import signal
import subprocess
import sys
import threading
import types
from dataclasses import replace
from pathlib import Path

import pandas as pd
import psutil
import pytest
from refused import check_raises
from tiny_runs import TINY
from waiting import until

from core.api import doctor, runs_list, runs_predictions, sweep
from core.exceptions import InputError, SentiscopeError
from core.runs import background_jobs, engines, sweep_drive, training_jobs
from core.runs.queue import wait_for_slot
from core.runs.record import CHECKPOINT, Process
from core.runs.store import describe_place, get_own_process, is_alive

WAIT = "import sys, time; print(sys.argv[1:], flush=True); time.sleep(60)"


class Elsewhere:
    """An engine whose jobs are processes that this machine takes for those of another one."""

    def __init__(self):
        self.jobs = {}

    def submit(self, command, runs, job):
        self.jobs[job] = subprocess.Popen(command, start_new_session=True)
        return job

    def is_alive(self, job):
        return self.jobs[job].poll() is None

    def stop(self, process, job):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.jobs[job].pid, signal.SIGKILL)
        self.jobs[job].wait()


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "elsewhere", Elsewhere)
    monkeypatch.setenv("SENTISCOPE_ENGINE", "elsewhere")
    engines._OPENED.clear()
    engine = engines._open_engine("elsewhere")
    yield engine
    for job in engine.jobs:
        engine.stop(None, job)


def test_a_missing_package_address_or_engine_is_one_sentence(store, created, monkeypatch):
    """Nothing is changed, and a job of an engine that cannot be asked from here counts as alive."""
    monkeypatch.setitem(sys.modules, "submitit", None)
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    engines._OPENED.clear()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, said in {"slurm": "needs submitit: `pip", "ray": "needs RAY_ADDRESS", "condor": "one of local"}.items():
        monkeypatch.setenv("SENTISCOPE_ENGINE", name)
        check_raises(InputError, said, training_jobs.start, store, "first")
        check_raises(InputError, said, training_jobs.submit, store, created.config, "ndt-01-n2", "second")
    monkeypatch.setenv("SENTISCOPE_ENGINE", "ray")
    for address, said in {"ray://head:10001": "it is 'ray://", "http://127.0.0.1:1": "needs Ray: `pip"}.items():
        monkeypatch.setenv("RAY_ADDRESS", address)
        check_raises(InputError, said, training_jobs.start, store, "first")
    store.update("first", process=Process(0, 0.0, "", job="ray:some"))
    check_raises(InputError, "ray job some cannot be stopped from here", training_jobs.cancel, store, "first")
    assert store.read("first").status == "queued" and store.is_cancel_requested("first"), "it ends when it begins"
    store.write(created)
    assert store.read("first") == created and [record.run for record in store.list()] == ["first"]
    assert is_alive(Process(0, 0.0, "", job="ray:some"))
    assert "needs Ray" in " ".join(doctor(store)["problems"])
    monkeypatch.setenv("SENTISCOPE_JOB", "ray:some")
    assert engines.find_engine() == "" and get_own_process().job == "ray:some"
    with wait_for_slot(store.folder, "first", created.created) as handle:
        assert handle == -1 and not (store.folder / ".queue").exists(), "a job has waited in its engine"


@pytest.mark.slow
def test_a_job_is_seen_cancelled_and_adopted_from_any_machine(store, created, elsewhere, monkeypatch):
    monkeypatch.setattr(training_jobs, "build_command", lambda run: [sys.executable, "-c", WAIT, run])
    record = training_jobs.start(store, "first")
    job = record.process.job.partition(":")[2]
    assert (record.status, record.process.host) == ("queued", "") and list(elsewhere.jobs) == [job]
    assert describe_place(record.process) == f"elsewhere job {job}" == runs_list(store)["runs"][0]["place"]
    until(lambda: (log := store.get_path("first") / "log.txt").is_file() and "first" in log.read_text())
    check_raises(InputError, "queued: there is nothing to start", training_jobs.start, store, "first")
    assert training_jobs.cancel(store, "first").status == "cancelled", "it waits, so that it is stopped at once"
    assert not elsewhere.is_alive(job) and store.read("first").process is None
    again = training_jobs.start(store, "first").process
    store.update("first", status="running", process=replace(again, host="node-3"))
    assert store.read("first").status == "running" and training_jobs.recover_runs(store) == []
    elsewhere.stop(None, again.job.partition(":")[2])
    lost = store.read("first")
    assert lost.status == "failed" and f"({again.job.replace(':', ' job ')} on node-3) ended" in lost.reason
    store.update("first", status="queued")
    (started,) = training_jobs.recover_runs(store)
    assert started.process.job != again.job and is_alive(started.process)


@pytest.mark.slow
def test_a_background_job_runs_in_the_engine(store, elsewhere, tmp_path):
    files = background_jobs.Files(tmp_path / "cache", "some")
    command = [sys.executable, "-c", WAIT.replace("sys.argv[1:]", "__import__('os').environ['SENTISCOPE_JOB']")]
    background_jobs.start_job(store, files, command, "test")
    assert background_jobs.read_job(files).status == "running"
    (job,) = elsewhere.jobs
    until(lambda: files.get_path("log").is_file() and files.get_path("log").read_text() == f"elsewhere:{job}\n")
    background_jobs.cancel(files)
    assert not elsewhere.is_alive(job) and background_jobs.read_job(files).status == "none"


@pytest.mark.slow
@pytest.mark.parametrize("raised", [InputError, SentiscopeError])
def test_an_analysis_in_the_engine_fails_for_the_same_reason(store, elsewhere, tmp_path, monkeypatch, raised):
    class Failing(background_jobs.Analysis):
        name, words, find, offer = "test", (), None, None

    code = "from pathlib import Path; import core.exceptions as e, core.runs.background_jobs as b\n"
    code += f"with b.publish_progress(b.Files(Path({str(tmp_path)!r}), 'some')): raise e.{raised.__name__}('no column')"
    monkeypatch.setattr(background_jobs, "build_command", lambda: [sys.executable, "-c", code])
    with pytest.raises(raised, match="no column") as found:
        Failing(tmp_path, "some", store).compute()
    assert type(found.value) is raised and len(elsewhere.jobs) == 1


@pytest.mark.slow
def test_a_sweep_starts_all_runs_at_once_and_those_of_a_lost_machine_again(store, elsewhere, monkeypatch):
    code = "from core.runs.store import RunStore; import sys; s = RunStore(); "
    code += "first = not (s.folder / sys.argv[1] / 'seen').exists(); (s.folder / sys.argv[1] / 'seen').touch(); "
    code += "first and '-s1-' in sys.argv[1] or s.update(sys.argv[1], status='done', process=None)"
    monkeypatch.setattr(training_jobs, "build_command", lambda run: [sys.executable, "-c", code, run])
    monkeypatch.setattr(sweep_drive, "POLL_SECONDS", 0.05)
    plan = sweep_drive.sweep.save(store, sweep_drive.sweep.Plan("study", ("vanilla",), seeds=(0, 1, 2)))
    found = sweep_drive.run_sweep(store, plan)
    assert found.counts["done"] == 3 and len(elsewhere.jobs) == 4


@pytest.mark.parametrize(
    ("state", "listed", "error", "alive"),
    [
        ("RUNNING", "", "", True),
        ("CANCELLED by 0", "", "", False),
        ("SUSPENDED", "7 S", "", True),
        ("PREEMPTED", "", "", False),
        ("UNKNOWN", "", "slurm_load_jobs error: Invalid job id specified", False),
        ("UNKNOWN", "", "Unable to contact slurm controller", True),
    ],
)
def test_slurm_knows_which_jobs_live(monkeypatch, state, listed, error, alive):
    """Its commands are replaced; without accounting, every state is UNKNOWN."""
    slurm, told = object.__new__(engines.Slurm), types.SimpleNamespace(stdout=listed, stderr=error)
    slurm.watcher, told.returncode = types.SimpleNamespace(get_state=lambda job: state), int(bool(error))
    monkeypatch.setattr(engines.subprocess, "run", lambda *words, **options: told)
    assert slurm.is_alive("7") == alive


def test_ray_is_asked_for_all_jobs_at_once(tmp_path, monkeypatch):
    """Its client is replaced. An ended job is not asked about again, nor a head that is down before some seconds."""
    asked, states, down = [], {}, []

    def connect(place, seconds):
        assert place == ("head", 8265) and seconds <= 3
        if down:
            down.append(place)
            raise TimeoutError("timed out")
        return types.SimpleNamespace(close=lambda: None, sendall=len, recv=str)

    class Client:
        def __init__(self, address):
            assert address == "http://head:8265"

        def submit_job(self, *, entrypoint, submission_id, entrypoint_num_cpus):
            states[submission_id] = types.SimpleNamespace(is_terminal=lambda: False)
            asked.append((shlex.split(entrypoint), entrypoint_num_cpus))
            return submission_id

        def list_jobs(self):
            asked.append("list")
            return [types.SimpleNamespace(submission_id=job, status=status) for job, status in states.items()]

        def stop_job(self, job):
            del states[job]

    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.job_submission", types.SimpleNamespace(JobSubmissionClient=Client))
    monkeypatch.setenv("SENTISCOPE_ENGINE", "ray")
    monkeypatch.setenv("RAY_ADDRESS", "http://head:8265")
    monkeypatch.setenv("SENTISCOPE_CPUS", "3")
    monkeypatch.setenv("SENTISCOPE_SECRET", "of the teacher")
    monkeypatch.setattr(engines.socket, "create_connection", connect)
    engines._OPENED.clear()
    assert engines.find_engine() == "ray"
    one, two = (engines.submit("ray", ["say", "it's"], tmp_path, tmp_path / "log", OMP_NUM_THREADS="1") for _ in "ab")
    command, cores = asked[0]
    assert command[0] == "env" and command[-3:] == [str(tmp_path / "log"), "say", "it's"] and cores == 3
    assert {f"SENTISCOPE_JOB={one.job}", "OMP_NUM_THREADS=1", "SENTISCOPE_CPUS=3"} <= set(command)
    assert not any("teacher" in word for word in command)
    assert is_alive(one) and is_alive(two) and asked[2:] == ["list"]
    engines.stop(one)
    engines._open_engine("ray").asked = -1e9
    assert is_alive(two) and not is_alive(one) and not is_alive(one) and asked[2:] == ["list", "list"]
    engines._open_engine("ray").asked, down[:] = -1e9, ["since now"]
    assert all(is_alive(two) for _ in range(3)) and len(down) == 2
    engines._OPENED.clear()
    for _ in range(3):
        check_raises(
            InputError, "no Ray cluster answers at RAY_ADDRESS=http://head:8265 .timed out", engines.find_engine
        )
    assert len(down) == 3
    engines._OPENED.clear()


def sweep_tiny(store, table, name, seeds, **options):
    """Train the same tiny model from several seeds."""
    settings = {**TINY, "training.epochs": 30}
    return sweep(name, models=["ndt-01-n2"], data=[str(table)], settings=settings, seeds=seeds, store=store, **options)


wait_long = functools.partial(until, seconds=1800, pause=0.5)  # the machine may be very busy


@pytest.fixture
def one_core(monkeypatch, tmp_path):
    """Local runs have one thread, like the jobs of an engine."""
    monkeypatch.setenv("SENTISCOPE_JOBS", str(os.cpu_count()))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    engines._OPENED.clear()


def sweep_and_lose(store, table, lose):
    """Train twelve models in jobs, of which `lose(records)` ends one; their predictions are those of local runs."""
    told, lost = [], []

    def lose_job():
        wait_long(lambda: told and told[-1]["done"] >= 3)
        lost.append(wait_long(lambda: lose([record for record in store.list() if record.status == "running"])))

    thread = threading.Thread(target=lose_job)
    thread.start()
    found = sweep_tiny(store, table, "there", range(12), on_event=told.append)
    thread.join()
    assert found["progress"]["done"] == 12
    for run in (record.run for record in store.list() if record.parent == "there"):
        starts = (store.get_path(run) / "log.txt").read_text().count(f"run {run}\n")
        assert starts == 1 + (run in lost)
    of_sweeps = ([record for record in store.list() if record.parent == name] for name in ("here", "there"))
    local, other = (
        {one.config.training.seed: runs_predictions(one.run, store=store) for one in runs} for runs in of_sweeps
    )
    assert local.keys() == other.keys() and len(local) == 12
    for seed, rows in local.items():
        pd.testing.assert_frame_equal(rows, other[seed], check_exact=True)
    return told


def kill_running(records):
    """Kill the process of a run half-way; return the run."""
    for record in (each for each in records if each.progress):
        os.kill(record.process.pid, signal.SIGKILL)
        return record.run


@pytest.mark.cluster
def test_submitit_trains_cancels_and_resumes_like_this_machine(store, table, one_core, monkeypatch):
    assert sweep_tiny(store, table, "here", range(12))["progress"]["done"] == 12
    monkeypatch.setenv("SENTISCOPE_ENGINE", "slurm")
    monkeypatch.setenv("SENTISCOPE_SLURM", "local")
    told = sweep_and_lose(store, table, kill_running)
    assert max(event["queued"] + event["running"] for event in told) == 12, "no slot of this machine is waited for"
    config = store.list()[0].config
    config = replace(config, training=replace(config.training, epochs=4_000))
    job = training_jobs.submit(store, config, "ndt-01-n2", "long").process.job
    assert job.startswith("slurm:local-")
    wait_long(lambda: (store.get_path("long") / CHECKPOINT).is_dir())
    assert store.read("long").process.job == job and is_alive(store.read("long").process)
    training_jobs.cancel(store, "long")
    wait_long(lambda: store.read("long").status == "cancelled")
    step = store.read("long").progress["step"]
    training_jobs.start(store, "long")
    wait_long(lambda: store.read("long").progress["step"] > step)
    engines.stop(store.read("long").process)
    wait_long(lambda: store.read("long").status in ("failed", "cancelled"))


@contextlib.contextmanager
def start_node(log, *options):
    """Start a node of a Ray cluster, and end its processes by their IDs."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--object-store-memory=80000000"]
    with log.open("wb") as stream:
        process = subprocess.Popen([*ray, *options], stdout=stream, stderr=stream, start_new_session=True)
    try:
        wait_long(lambda: b"runtime started" in log.read_bytes())  # two that start at once want the same socket
        yield process
    finally:
        end_tree(process)


def end_tree(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in (*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    process.wait()


@pytest.mark.cluster
def test_a_sweep_on_ray_survives_the_loss_of_a_machine(store, table, one_core, tmp_path, monkeypatch):
    assert sweep_tiny(store, table, "here", range(12))["progress"]["done"] == 12
    for name in ("RAY_DASHBOARD_STARTUP_TIMEOUT_S", "RAY_raylet_start_wait_time_s"):
        monkeypatch.setenv(name, "600")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    address, folder = "http://127.0.0.1:28265", Path(f"/tmp/sentiscope-ray-{os.getpid()}")
    head = ("--head", "--port=26379", "--dashboard-port=28265", "--num-cpus=0", f"--temp-dir={folder}")
    with contextlib.ExitStack() as nodes:
        nodes.enter_context(start_node(tmp_path / "head.log", *head))
        workers = [
            nodes.enter_context(start_node(tmp_path / f"{n}.log", "--address=127.0.0.1:26379", "--num-cpus=1"))
            for n in range(2)
        ]
        monkeypatch.setenv("SENTISCOPE_ENGINE", "ray")
        monkeypatch.setenv("RAY_ADDRESS", address)

        def lose_machine(records):
            own = {each.pid for each in psutil.Process(workers[0].pid).children(recursive=True)}
            for record in (each for each in records if each.progress and each.process.pid in own):
                end_tree(workers[0])
                return record.run

        sweep_and_lose(store, table, lose_machine)
