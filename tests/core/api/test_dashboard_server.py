"""Access to the server, and its end together with the command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from waiting import until

from core.api.machine import build_command, dashboard, list_allowed_hosts, list_links, run_server
from core.exceptions import InputError

SCRIPT = Path("app.py")


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1"])
def test_configured_hosts_apply_on_loopback(address):
    command = build_command(SCRIPT, 8501, address, [], browser=False)
    assert not [option for option in command if "allowedHosts" in option]
    assert f"--server.address={address}" in command


def test_link_names_are_allowed_and_all_addresses_are_no_wildcard(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "Teacher-PC")
    hosts = list_allowed_hosts("0.0.0.0", ["class.example.org"])
    assert {"localhost", "127.0.0.1", "teacher-pc", "class.example.org"} <= set(hosts)
    assert "*" not in hosts and "0.0.0.0" not in hosts
    assert len(hosts) == len(set(hosts))
    command = build_command(SCRIPT, 8501, "192.0.2.7", [], browser=False)
    assert "--server.allowedHosts=192.0.2.7" in command
    assert "--server.allowedHosts=localhost" in command
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
    assert command.wait(20) == 128 + signal.SIGTERM
    assert not child.is_running()


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
