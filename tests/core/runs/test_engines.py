"""Jobs of other engines: Slurm (submitit's local executor stands in for it) and a Ray cluster of this machine."""

import os
import sys

import pandas as pd
import pytest
from refused import check_raises
from tiny_runs import TINY
from waiting import until

from core.api import runs_predictions, sweep
from core.exceptions import InputError
from core.runs import engines, training_jobs
from core.runs.record import CHECKPOINT, Process
from core.runs.store import get_own_process, is_alive


def test_a_missing_package_address_or_engine_is_one_sentence(store, created, monkeypatch):
    """Nothing is changed, and a job of an engine that cannot be asked from here counts as alive."""
    monkeypatch.setitem(sys.modules, "submitit", None)
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    engines._open_cached.cache_clear()
    cases = {
        "slurm": "needs submitit: `pip",
        "ray": "needs RAY_ADDRESS",
        "condor": "'condor': one of local, slurm, ray",
    }
    for name, said in cases.items():
        monkeypatch.setenv("SENTISCOPE_ENGINE", name)
        check_raises(InputError, said, training_jobs.start, store, "first")
    monkeypatch.setenv("SENTISCOPE_ENGINE", "ray")
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:1")
    check_raises(InputError, "needs Ray: `pip", training_jobs.start, store, "first")
    assert store.read("first") == created
    assert is_alive(Process(0, 0.0, "", job="ray:some"))
    monkeypatch.setenv("SENTISCOPE_JOB", "ray:some")
    assert engines.find_engine() == "" and get_own_process().job == "ray:some"


def sweep_tiny(store, table, name, seeds, **options):
    settings = {**TINY, "training.epochs": 1}
    return sweep(name, models=["ndt-01-n2"], data=[str(table)], settings=settings, seeds=seeds, store=store, **options)


def read_members(store, name):
    """The predictions of each run of a sweep by its seed."""
    records = [record for record in store.list() if record.parent == name]
    return {record.config.training.seed: runs_predictions(record.run, store=store) for record in records}


def compare_sweeps(store, first, second, runs):
    one, other = read_members(store, first), read_members(store, second)
    assert one.keys() == other.keys() and len(one) == runs
    for seed, rows in one.items():
        pd.testing.assert_frame_equal(rows, other[seed], check_exact=True)


@pytest.fixture
def one_core(monkeypatch, tmp_path):
    """Local runs have one thread, like the jobs of an engine."""
    monkeypatch.setenv("SENTISCOPE_JOBS", str(os.cpu_count()))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    engines._open_cached.cache_clear()


@pytest.mark.cluster
def test_slurm_by_submitit_trains_cancels_and_resumes_like_this_machine(store, table, one_core, monkeypatch):
    assert sweep_tiny(store, table, "here", range(4))["progress"]["done"] == 4
    monkeypatch.setenv("SENTISCOPE_ENGINE", "slurm")
    monkeypatch.setenv("SENTISCOPE_SLURM", "local")
    told = []
    assert sweep_tiny(store, table, "there", range(4), on_event=told.append)["progress"]["done"] == 4
    assert max(event["queued"] + event["running"] for event in told) == 4, "no slot of this machine is waited for"
    compare_sweeps(store, "here", "there", 4)
    config = store.list()[0].config
    longer = training_jobs.submit(store, config_with(config, 4000), "ndt-01-n2", "long")
    assert longer.process.job.startswith("slurm:local-")
    until(lambda: (store.get_path("long") / CHECKPOINT).is_dir())
    assert store.read("long").process.job == longer.process.job != "" and is_alive(store.read("long").process)
    training_jobs.cancel(store, "long")
    until(lambda: store.read("long").status == "cancelled")
    step = store.read("long").progress["step"]
    training_jobs.start(store, "long")
    until(lambda: store.read("long").progress["step"] > step)
    training_jobs.engines.stop(store.read("long").process)
    until(lambda: store.read("long").status in ("failed", "cancelled"))


def config_with(config, epochs):
    from dataclasses import replace

    return replace(config, training=replace(config.training, epochs=epochs))
