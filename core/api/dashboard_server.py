"""The dashboard's server as a child process that ends with the command that started it."""

from __future__ import annotations

import ipaddress
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import psutil

import core
from core.api.options import CliArgument
from core.exceptions import InputError

LOOPBACK = ("localhost", "127.0.0.1")
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses that mean all addresses of this machine


def dashboard(
    *,
    port: int = 8501,
    address: str = "127.0.0.1",
    host: Annotated[Sequence[str], CliArgument(metavar="NAME")] = (),
    browser: bool = True,
) -> int:
    """Open the dashboard of Sentiscope in the browser.

    Args:
        port: Port to serve on.
        address: Address to serve on; 0.0.0.0 lets other machines in.
        host: A further name in links from other machines, e.g. of a proxy.
        browser: Open a browser.
    """
    if not 1 <= port <= 65_535:
        raise InputError(f"--port {port}: a whole number from 1 to 65535")
    script = Path(core.__file__).resolve().parent.parent / "dashboard" / "server.py"
    return run_server(build_command(script, port, address, host, browser=browser))


def build_command(script: Path, port: int, address: str, names: Sequence[str], *, browser: bool) -> list[str]:
    """Return the command line that starts the dashboard's server, with allowed host names if others can reach it."""
    options = [
        f"--server.port={port}",
        f"--server.address={address}",
        f"--server.headless={str(not browser).lower()}",
        # Otherwise the first start waits for an e-mail address on the terminal.
        "--server.showEmailPrompt=false",
        # dashboard/server.py prints the address.
        "--logger.hideWelcomeMessage=true",
    ]
    if names or not _is_loopback(address):
        options += [f"--server.allowedHosts={host}" for host in list_allowed_hosts(address, names)]
    return [sys.executable, "-m", "dashboard.launcher", "run", str(script), *options]


def list_allowed_hosts(address: str, names: Sequence[str] = ()) -> list[str]:
    """Return the host names under which the dashboard may be opened; all others are refused (DNS rebinding).

    Serving on every address (0.0.0.0, ::) means all addresses of this machine, and its names.
    """
    own: list[str] = []
    if not _is_loopback(address):
        found = (each.address.partition("%")[0] for cards in psutil.net_if_addrs().values() for each in cards)
        numbers = filter(_is_address, found) if address in EVERYWHERE else [address]
        own = [socket.gethostname(), socket.getfqdn(), *numbers]
    return list(dict.fromkeys(name.lower() for name in (*LOOPBACK, *own, *names) if name))


def list_links(address: str, port: int, hosts: Sequence[str]) -> list[str]:
    """Return the links to a server; a server on all addresses gets one per host, except loopback and IPv6 addresses."""
    typed = [host for host in hosts if ":" not in host and not host.startswith("127.")]
    named = typed if address in EVERYWHERE else [address]
    return [f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}" for host in named]


def run_server(command: Sequence[str]) -> int:
    """Run a command as a child process until it ends; SIGTERM and Ctrl-C are forwarded, a second signal kills it.

    Returns:
        Its exit status, as a shell tells it.
    """
    child = subprocess.Popen(command)
    asked = False

    def stop_child(number: int, frame: FrameType | None) -> None:
        """Stop the child process at the first signal, and kill it at the second (signal handler)."""
        nonlocal asked
        (child.kill if asked else child.terminate)()
        asked = True

    before = {number: signal.signal(number, stop_child) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    return address in LOOPBACK or (_is_address(address) and ipaddress.ip_address(address).is_loopback)
