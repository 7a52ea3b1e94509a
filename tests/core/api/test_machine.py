import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner
from waiting import until

from core import api
from core.api.machine import AGAIN, build_command, dashboard, list_allowed_hosts, list_links, run_server
from core.cli import app
from core.config import compose
from core.exceptions import InputError
from core.runs.record import RECORD
from core.runs.store import RunStore

GIGABYTE = 1024**3
Memory = namedtuple("Memory", "available total")
Disk = namedtuple("Disk", "free total")
SCRIPT = Path("app.py")


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
    RunStore().create(compose("vanilla"), "vanilla", "broken")
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
    assert result["versions"]["umap-learn"] is None and result["problems"] == [f"umap-learn is not installed: {AGAIN}"]


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1"])
def test_configured_hosts_apply_on_loopback(address):
    command = build_command(SCRIPT, 8501, address, [], browser=False)
    assert not [option for option in command if "allowedHosts" in option]
    assert f"--server.address={address}" in command


def test_link_names_are_allowed_and_all_addresses_are_no_wildcard(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "Teacher-PC")
    hosts = list_allowed_hosts("0.0.0.0", ["class.example.org"])
    assert {"localhost", "127.0.0.1", "teacher-pc", "class.example.org"} <= set(hosts)
    assert "*" not in hosts and "0.0.0.0" not in hosts and len(hosts) == len(set(hosts))
    command = build_command(SCRIPT, 8501, "192.0.2.7", [], browser=False)
    assert "--server.allowedHosts=192.0.2.7" in command and "--server.allowedHosts=localhost" in command
    command = build_command(SCRIPT, 8501, "127.0.0.1", ["class.example.org"], browser=False)
    assert "--server.allowedHosts=class.example.org" in command


@pytest.mark.parametrize(
    ("address", "hosts", "said"),
    [
        ("127.0.0.1", ["localhost", "127.0.0.1"], ["http://127.0.0.1:8501"]),
        ("::1", ["localhost"], ["http://[::1]:8501"]),
        ("192.0.2.7", ["localhost", "192.0.2.7"], ["http://192.0.2.7:8501"]),
        *(
            (everywhere, ["localhost", "127.0.0.1", "pc", "192.0.2.7", "fe80::1"],
             ["http://localhost:8501", "http://pc:8501", "http://192.0.2.7:8501"])
            for everywhere in ("0.0.0.0", "::", "")
        ),
    ],
)  # fmt: skip
def test_links_are_those_that_users_type(address, hosts, said):
    assert list_links(address, 8501, hosts) == said


def test_server_status_is_the_exit_status_of_the_command():
    assert run_server([sys.executable, "-c", "raise SystemExit(3)"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_to_the_command_ends_the_server(number):
    sleeper = "[sys.executable, '-c', 'import time; time.sleep(60)']"
    code = f"import sys; from core.api.machine import run_server; sys.exit(run_server({sleeper}))"
    command = subprocess.Popen([sys.executable, "-c", code])
    until(psutil.Process(command.pid).children)
    (child,) = psutil.Process(command.pid).children()
    time.sleep(0.2)  # the signal handlers are set just after the child starts
    os.kill(command.pid, number)
    assert command.wait(20) == 128 + signal.SIGTERM and not child.is_running()


@pytest.mark.slow
def test_server_preloads_the_modules_of_the_first_page():
    command = build_command(SCRIPT, 8501, "127.0.0.1", [], browser=False)
    assert command[1:5] == ["-m", "dashboard.launcher", "run", "app.py"]
    code = (
        "import sys, dashboard.launcher as w; w._import_modules()\n"
        "print(*(n for n in ('torch', 'sklearn') if n in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [] and "WARNING" not in found.stderr


@pytest.mark.parametrize("port", [0, 65_536, 99_999_999])
def test_invalid_port_gives_an_error_sentence(port):
    with pytest.raises(InputError, match=f"^--port {port}: a whole number from 1 to 65535$"):
        dashboard(port=port)
