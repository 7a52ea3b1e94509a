"""The system check lists the parts of the installation; problems come with a fix and exit code 1."""

import importlib.metadata
import json
import shutil
from collections import namedtuple

import psutil
import pytest
from typer.testing import CliRunner

from core import api
from core.api.machine import AGAIN
from core.cli import app
from core.config import compose
from core.runs.record import RECORD
from core.runs.store import RunStore

GIGABYTE = 1024**3
Memory = namedtuple("Memory", "available total")
Disk = namedtuple("Disk", "free total")


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Folders of this test, the starter runs of the checkout, and enough resources."""
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SENTISCOPE_STARTERS", raising=False)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(4 * GIGABYTE, 8 * GIGABYTE))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(50 * GIGABYTE, 100 * GIGABYTE))


def run_doctor(*options):
    return CliRunner().invoke(app, ["doctor", *options])


@pytest.mark.slow
def test_healthy_machine_has_no_problems_as_data_and_as_lines(tmp_path):
    found = run_doctor("--json")
    result = json.loads(found.stdout)
    assert (found.exit_code, result["problems"]) == (0, [])
    assert result["versions"]["torch"] == importlib.metadata.version("torch")
    assert {"streamlit", "numpy", "HanTa"} <= set(result["versions"]) and "pytest" not in result["versions"]
    assert result["memory_gb"] == {"free": 4.0, "of": 8.0} and result["disk_gb"] == {"free": 50.0, "of": 100.0}
    assert result["folders"]["runs"] == {"path": str(tmp_path / "runs"), "writable": True}
    assert result["runs"]["own"] == 0 and result["runs"]["starters"] >= 8 and result["runs"]["damaged"] == 0
    assert not (tmp_path / "runs").exists()  # the check creates no folder
    found = run_doctor()
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert "memory gb: free 4.0, of 8.0" in lines and lines[-1] == "nothing needs attention"


@pytest.mark.slow
def test_damaged_run_is_reported_with_file_and_advice(tmp_path):
    store = RunStore()
    store.create(compose("vanilla"), "vanilla", "broken")
    (tmp_path / "runs" / "broken" / RECORD).write_text("{")
    found = run_doctor()
    problem = found.stdout.splitlines()[-1]
    assert found.exit_code == 1
    assert problem.startswith("problem: run 'broken' is damaged: ") and RECORD in problem
    assert problem.endswith("bring the file back, or `sentiscope runs rm broken`")
    assert api.doctor()["runs"]["damaged"] == 1


def test_damaged_starter_is_repaired_by_reinstalling(tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(tmp_path / "brought"))
    (tmp_path / "brought" / "starter-x").mkdir(parents=True)
    (problem,) = api.doctor()["problems"]
    assert "starter-x" in problem and problem.endswith(AGAIN)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RUNS", "CACHE"])
def test_unwritable_folder_is_reported_with_its_variable(tmp_path, monkeypatch, name):
    (tmp_path / "file").touch()
    monkeypatch.setenv(f"SENTISCOPE_{name}", str(tmp_path / "file" / "inside"))
    (problem,) = api.doctor()["problems"]
    assert problem == f"{tmp_path}/file/inside cannot be written: set SENTISCOPE_{name} to a folder of yours"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("virtual_memory", Memory(GIGABYTE // 2, GIGABYTE), "0.5 GB of mem"),
        ("disk_usage", Disk(GIGABYTE // 2, GIGABYTE), "0.5 GB are free"),
        ("STARTERS", "/none", "the starter runs are not at /none"),
        ("JOBS", "many", "SENTISCOPE_JOBS='many'"),
    ],
)
def test_lacking_memory_disk_and_files_are_reported(monkeypatch, name, value, said):
    if name.isupper():
        monkeypatch.setenv(f"SENTISCOPE_{name}", value)
    else:
        monkeypatch.setattr(psutil if name == "virtual_memory" else shutil, name, lambda *_: value)
    (problem,) = api.doctor()["problems"]
    assert problem.startswith(said) and run_doctor().exit_code == 1


def test_missing_library_is_reported(monkeypatch):
    version = importlib.metadata.version

    def without(name):
        if name == "umap-learn":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without)
    result = api.doctor()
    assert result["versions"]["umap-learn"] is None
    assert result["problems"] == [f"umap-learn is not installed: {AGAIN}"]
