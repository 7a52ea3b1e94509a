"""A check of this installation and its machine, and the dashboard's server as a child process of the command."""

import importlib.metadata
import ipaddress
import os
import platform
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import psutil

import core
from core.api.options import CliArgument, Store
from core.api.printing import say
from core.cache import get_cache_folder
from core.exceptions import ConfigError, InputError, try_call
from core.runs import engines, queue
from core.runs.classroom import KEY, Classroom
from core.runs.store import RunStore, get_starters_dir, list_starters

GIGABYTE = 1024**3
MEMORY = 1.0  # gigabytes that training a preset on the built-in corpus needs, about
DISK = 1.0  # gigabytes of about twenty runs with checkpoints
OPTIONAL = re.compile(r"extra\s*==")
AGAIN = "install Sentiscope again: `pip install -e .`"


def doctor(store: Store = None) -> dict[str, Any]:
    """Check this machine and installation: capacity, damaged or missing parts, and what to do about them.

    Returns:
        `sentiscope`, `python`, `system`, `versions` by library (null if it is missing), `device`, `cores`, `memory_gb`
        and `disk_gb` (free, of), `folders` (`path`, `writable`), `runs` (counts: `own`, `starters`, `damaged`),
        `engine`, `at_once` and `threads` of training runs, `hub`; and `problems`: sentences, each with advice.
    """
    problems, store = list[str](), store or RunStore()
    needed = importlib.metadata.requires("sentiscope") or []
    names = (re.split(r"[^A-Za-z0-9._-]", need, maxsplit=1)[0] for need in needed if not OPTIONAL.search(need))
    versions, records = {name: _read_version(name) for name in names}, store.list()
    folders = {"runs": store.folder, "cache": get_cache_folder()}
    damaged = [record for record in records if record.status == "damaged"]
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(_find_existing(store.folder))
    problems += [f"{name} is not installed: {AGAIN}" for name, version in versions.items() if version is None]
    problems += [
        f"{path} cannot be written: set SENTISCOPE_{name.upper()} to a folder of yours"
        for name, path in folders.items()
        if not _is_writable(path)
    ]
    if (free := memory.available / GIGABYTE) < MEMORY:
        needs = f"a run takes about {MEMORY:.0f} to train: close other programs"
        problems.append(f"{free:.1f} GB of memory are free, {needs}")
    if (free := disk.free / GIGABYTE) < DISK:
        problems.append(f"{free:.1f} GB are free at {store.folder}: free some, or set SENTISCOPE_RUNS to another disk")
    if not list_starters():
        problems.append(f"the starter runs are not at {get_starters_dir()}: {AGAIN}")
    for run, reason in ((record.run, record.reason) for record in damaged):
        remedy = AGAIN if store.is_starter(run) else f"bring the file back, or `sentiscope runs rm {run}`"
        problems.append(f"run '{run}' is damaged: {reason}; {remedy}")
    at_once, threads = 0, 0
    try:
        at_once, threads = queue.get_limit(), queue.count_threads()
    except ConfigError as error:
        problems.append(f"{error}; mend it or unset it")
    try:
        engine = engines.find_engine() or engines.LOCAL
    except InputError as error:
        engine = "none"
        problems.append(str(error))
    device = _detect_device(problems) if versions["torch"] else "none"
    return {
        "sentiscope": core.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "versions": versions,
        "device": device,
        "cores": queue.count_cores(),
        "memory_gb": {"free": _to_gigabytes(memory.available), "of": _to_gigabytes(memory.total)},
        "disk_gb": {"free": _to_gigabytes(disk.free), "of": _to_gigabytes(disk.total)},
        "folders": {name: {"path": str(path), "writable": _is_writable(path)} for name, path in folders.items()},
        "starters": str(get_starters_dir()),
        "data": os.environ.get("SENTISCOPE_DATA", ""),
        "runs": {
            "own": sum(not store.is_starter(record.run) for record in records),
            "starters": sum(store.is_starter(record.run) for record in records),
            "damaged": len(damaged),
        },
        "engine": engine,
        "at_once": at_once,
        "threads": threads,
        "hub": _read_version("huggingface-hub") is not None,
        "problems": problems,
    }


def _read_version(name: str) -> str | None:
    return try_call(importlib.metadata.PackageNotFoundError, None, importlib.metadata.version, name)


def _detect_device(problems: list[str]) -> str:
    try:
        import torch
    except (ImportError, OSError) as error:
        problems.append(f"torch cannot be loaded ({error}): {AGAIN}")
        return "none"
    if torch.cuda.is_available():
        return f"cuda ({torch.cuda.get_device_name(0)})"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _is_writable(path: Path) -> bool:
    found = _find_existing(path)
    return found.is_dir() and os.access(found, os.W_OK | os.X_OK)


def _find_existing(path: Path) -> Path:
    """Return a path, or its nearest parent folder that exists."""
    return next(each for each in (path, *path.parents) if each.exists())


def _to_gigabytes(size: float) -> float:
    return round(size / GIGABYTE, 1)


def print_doctor(result: dict[str, Any]) -> None:
    """Print the findings of the system check, and what to do about problems."""
    for name, value in result.items():
        if name != "problems":
            say(_write_plain(value), head=f"{name.replace('_', ' ')}: ")
    for problem in result["problems"]:
        say(problem, head="problem: ")
    if not result["problems"]:
        say("nothing needs attention")


def _write_plain(value: Any) -> str:
    """Format nested plain data as words: groups as `name value, …`, true and false as yes and no."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_write_plain(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


MOST_WORKERS = 32
SHORTEST_KEY = 8  # characters; guesses are not counted
LOOPBACK = ("localhost", "127.0.0.1")
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses that mean all addresses of this machine


def dashboard(
    *,
    port: int = 8501,
    address: str = "127.0.0.1",
    host: Annotated[Sequence[str], CliArgument(metavar="NAME")] = (),
    browser: bool = True,
    workers: int = 1,
    classroom: bool = False,
    read_only: bool = False,
) -> int:
    """Open the dashboard of Sentiscope in the browser.

    Args:
        port: Port to serve on.
        address: Address to serve on; 0.0.0.0 lets other machines in.
        host: A further name in links from other machines, e.g. of a proxy.
        browser: Open a browser.
        workers: Server processes that share the port, for a class; each takes the memory of one server.
        classroom: Runs belong to who started them, and a page Class shows the teacher people and jobs; the key that
            makes somebody the teacher is printed (SENTISCOPE_CLASSROOM sets it).
        read_only: With `classroom`: only the teacher starts, uploads or changes anything, until the page Class is set
            otherwise.
    """
    if not 1 <= port <= 65_535:
        raise InputError(f"--port {port}: a whole number from 1 to 65535")
    if not 1 <= workers <= MOST_WORKERS or (workers > 1 and os.name == "nt"):
        raise InputError(f"--workers {workers}: a whole number from 1 to {MOST_WORKERS}; only 1 on Windows")
    if read_only and not classroom:
        raise InputError("--read-only is a rule of a class: add --classroom")
    key = os.environ.get(KEY, "") or "-".join(secrets.token_hex(2) for _ in range(4)) if classroom else ""
    if classroom and len(key) < SHORTEST_KEY:
        raise InputError(f"{KEY}: a key of at least {SHORTEST_KEY} characters, as pupils may guess")
    os.environ[KEY] = key  # of this process and the server's
    if classroom:
        Classroom(RunStore().folder, key).set_read_only(read_only)
        say(key, head="Teacher's key, for the page Class: ")
    script = Path(core.__file__).resolve().parent.parent / "dashboard" / "server.py"
    return run_server(build_command(script, port, address, host, browser=browser, workers=workers))


def build_command(
    script: Path, port: int, address: str, names: Sequence[str], *, browser: bool, workers: int = 1
) -> list[str]:
    """Return the command line that starts the dashboard's servers, with allowed host names if others can reach it."""
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
    module = ["dashboard.launcher"] if workers == 1 else ["dashboard.workers", str(workers)]
    return [sys.executable, "-m", *module, "run", str(script), *options]


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
    return try_call(ValueError, None, ipaddress.ip_address, text) is not None


def _is_loopback(address: str) -> bool:
    return address in LOOPBACK or (_is_address(address) and ipaddress.ip_address(address).is_loopback)
