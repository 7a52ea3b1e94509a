"""A check of this installation and its machine: available parts, and problems that would prevent work."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

import psutil

import core
from core.api.options import Store
from core.api.printing import say
from core.cache import get_cache_folder
from core.exceptions import ConfigError
from core.runs import queue
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
        `at_once` and `threads` of training runs, `hub`; and `problems`: sentences, each with advice.
    """
    problems, store = list[str](), store or RunStore()
    versions, records = _read_versions(), store.list()
    folders = {"runs": store.folder, "cache": get_cache_folder()}
    damaged = [record for record in records if record.status == "damaged"]
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(_find_existing(store.folder))
    problems += [f"{name} is not installed: {AGAIN}" for name, version in versions.items() if version is None]
    problems += [
        f"{path} cannot be written: set SENTISCOPE_{name.upper()} to a folder of yours"
        for name, path in folders.items()
        if not _is_writable(path)
    ]
    if memory.available < MEMORY * GIGABYTE:
        free = memory.available / GIGABYTE
        needs = f"a run takes about {MEMORY:.0f} to train: close other programs"
        problems.append(f"{free:.1f} GB of memory are free, {needs}")
    if disk.free < DISK * GIGABYTE:
        free = disk.free / GIGABYTE
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
        "at_once": at_once,
        "threads": threads,
        "hub": _read_version("huggingface-hub") is not None,
        "problems": problems,
    }


def _read_versions() -> dict[str, str | None]:
    """Return the installed version of every required library; None where it is missing."""
    needed = importlib.metadata.requires("sentiscope") or []
    names = [re.split(r"[^A-Za-z0-9._-]", need, maxsplit=1)[0] for need in needed if not OPTIONAL.search(need)]
    return {name: _read_version(name) for name in names}


def _read_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


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
