"""Maps kept with a run: files named after what they depend on, processes that can be found again."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest

from core import api
from core.evaluation.projection import ProjectionConfig
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs import errands, projections, queue
from core.runs.record import Process
from core.runs.store import alive, this_process
from core.runs.vectors import read_vectors

PCA = ProjectionConfig("pca")


@pytest.fixture
def evaluated(store, created):
    """A run with sixty embeddings of two classes in its test split."""
    store.update(created.run, classes=("bad", "good"))
    folder = store.path(created.run) / "evaluation" / "test"
    folder.mkdir(parents=True)
    labels = np.arange(60) % 2
    vectors = np.random.default_rng(0).normal(size=(60, 6)) + 3 * labels[:, None]
    np.save(folder / "embeddings.npy", vectors.astype(np.float32))
    pd.DataFrame({"text": "t", "label": np.array(["bad", "good"])[labels]}).to_parquet(folder / "predictions.parquet")
    return created.run


def files(store, run, **settings):
    return projections.map_files(store, run, "test", ProjectionConfig(**{"method": "pca", **settings}))


def test_a_map_is_read_as_it_was_made_with_its_arguments_in_clear(store, evaluated):
    here = files(store, evaluated)
    assert projections.read(here) is None
    made = projections.compute(store, evaluated, here)
    again = projections.read(here)
    assert (again.places == made.places).all() and (again.rows == np.arange(60)).all()
    assert again.quality.space == pytest.approx(made.quality.space, abs=1e-6)
    assert again.explained == made.explained
    about = json.loads(here.path("json").read_text())
    assert about["arguments"] == {"method": "pca", "dimensions": 2, "rows": 3000, "seed": 0}
    assert about["n"] == 60
    assert not here.path("progress.json").exists()


def test_every_setting_and_the_embeddings_have_files_of_their_own(store, evaluated):
    stems = {
        files(store, evaluated, **settings).stem
        for settings in ({}, {"dimensions": 3}, {"rows": 40}, {"seed": 1}, {"method": "tsne"})
    }
    assert len(stems) == 5
    assert all(len(stem) == 64 for stem in stems)
    path = store.path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    np.save(path, np.load(path) + 1)
    assert files(store, evaluated).stem not in stems


def test_a_split_that_is_not_there_is_named_with_those_that_are(store, evaluated):
    with pytest.raises(InputError, match="split 'dev'; it has test"):
        projections.map_files(store, evaluated, "dev", PCA)
    with pytest.raises(InputError):
        projections.map_files(store, evaluated, "../test", PCA)


@pytest.mark.parametrize("harm", [lambda raw: raw[:-9], lambda raw: raw[:-1] + b"x", lambda raw: b""])
def test_a_damaged_map_is_told_and_made_again(store, evaluated, harm):
    first = api.project(evaluated, method="pca", store=store)
    here = files(store, evaluated)
    raw = here.path("npy").read_bytes()
    here.path("npy").write_bytes(harm(raw))
    with pytest.raises(RunDamaged, match="npy: cannot be read"):
        projections.read(here)
    assert api.project(evaluated, method="pca", store=store)["computed"]
    assert here.path("npy").read_bytes() == raw
    assert api.project(evaluated, method="pca", store=store) == {**first, "computed": False}


@pytest.mark.parametrize("harm", ["short", "rows"])
def test_embeddings_that_cannot_be_used_are_named(store, evaluated, harm):
    path = store.path(evaluated) / "evaluation" / "test" / "embeddings.npy"
    if harm == "short":
        path.write_bytes(path.read_bytes()[:40])
    else:
        np.save(path, np.zeros((3, 6), np.float32))
    with pytest.raises(RunDamaged, match=r"embeddings\.npy"):
        read_vectors(store.path(evaluated), "test", ("bad", "good"))


def test_a_failure_stays_to_be_read_and_can_be_forgotten(store, evaluated, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    here = files(store, evaluated, method="umap")
    assert errands.job(here).status == "none"
    with pytest.raises(NotAvailable):
        projections.compute(store, evaluated, here)
    found = errands.job(here)
    assert found.status == "failed" and "umap-learn is not installed" in found.what
    errands.forget(here)
    assert errands.job(here).status == "none"


def test_a_living_process_is_found_by_everybody_and_a_dead_one_is_told(store, evaluated):
    here = files(store, evaluated)
    (here.run / projections.FOLDER).mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        began = psutil.Process(child.pid).create_time()
        who = {"pid": child.pid, "started": began, "host": this_process().host}
        told = {"process": who, "began": began, "what": "placing the sentences", "share": 0.5}
        here.path("progress.json").write_text(json.dumps(told))
        found = errands.job(here)
        assert (found.status, found.what, found.share) == ("running", "placing the sentences", 0.5)
        here.path("progress.json").write_text(json.dumps({**told, "began": began + 3600}))  # the clock was set back
        assert errands.job(here).seconds == 0
        child.kill()
        child.wait()
    found = errands.job(here)
    assert found.status == "failed" and "ended while placing" in found.what


def test_cancel_ends_the_process_and_leaves_nothing(store, evaluated):
    here = files(store, evaluated)
    (here.run / projections.FOLDER).mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        who = {"pid": child.pid, "started": psutil.Process(child.pid).create_time(), "host": this_process().host}
        here.path("progress.json").write_text(json.dumps({"process": who, "began": 0, "what": "", "share": None}))
        errands.cancel(here)
        assert not alive(Process(**who))
    assert errands.job(here).status == "none"
    assert not list((here.run / projections.FOLDER).iterdir())


def test_cancel_leaves_a_process_alone_that_only_has_the_same_number(store, evaluated):
    here = files(store, evaluated)
    (here.run / projections.FOLDER).mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        who = {"pid": child.pid, "started": 1.0, "host": this_process().host}
        here.path("progress.json").write_text(json.dumps({"process": who, "began": 0, "what": "", "share": None}))
        errands.cancel(here)
        assert child.poll() is None
        child.kill()


def test_a_map_waits_for_its_turn_in_a_small_process_and_can_be_cancelled_there(store, evaluated, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_JOBS", "1")
    monkeypatch.setattr(projections, "command", lambda run, files: [sys.executable, "-c", "print('computed')"])
    here = files(store, evaluated)
    with queue.slot(store.folder, "another map", "2020", kind=queue.SHORT):
        projections.start(store, evaluated, here)
        found = errands.job(here)
        assert (found.status, found.what) == ("running", "waiting for its turn")
        projections.start(store, evaluated, here)  # nothing happens if somebody is at it
        until(lambda: len(list((store.folder / queue.FOLDER).glob("short-ticket-*-map-*"))) == 1)
        assert here.path("log").read_text() == ""
        errands.cancel(here)
        assert errands.job(here).status == "none"
        projections.start(store, evaluated, here)
    until(lambda: here.path("log").read_text() == "computed\n")


def test_more_maps_than_may_wait_are_refused(store, evaluated, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_MOST_SHORT", "1")
    folder = store.folder / queue.FOLDER
    folder.mkdir()
    with queue.opened(folder / "short-ticket-1-map") as ticket:
        assert queue.try_lock(ticket)
        with pytest.raises(InputError, match=r"1 maps and TF-IDF yardsticks that wait.*\(SENTISCOPE_MOST_SHORT\)"):
            projections.start(store, evaluated, files(store, evaluated))
    assert errands.job(files(store, evaluated)).status == "none"


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_start_computes_in_a_process_of_its_own(store, evaluated):
    here = files(store, evaluated)
    projections.start(store, evaluated, here)
    assert errands.job(here).status in ("running", "done")
    told = here.path("progress.json")
    if told.exists():
        with open(told) as stream:
            psutil.Process(json.load(stream)["process"]["pid"]).wait(60)
    assert errands.job(here).status == "done"
    assert len(projections.read(here).rows) == 60
