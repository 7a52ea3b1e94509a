"""A run measured on other data, in a process of its own that waits for its turn; whoever leaves the page ends it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.exceptions import NotAvailable
from core.runs import queue
from core.runs.store import RunStore

LOOK_SECONDS = 0.3
_TOLD = re.compile(r"(\d+) % (.+)")

OnWait = Callable[[str, float], None]
"""What is done now, and which share of all is done."""


@dataclass(frozen=True)
class Asked:
    """What a person wants to know of a run; as `core.api.evaluate` takes it."""

    run: str
    data: str
    split: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    against: str = ""
    limit_test: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The command line; -P keeps a folder `core` of the working directory out of the way."""
        given = {"--data": self.data, "--split": self.split, "--by": self.by, "--against": self.against}
        given["--limit"] = str(self.limit_test or "")
        words = [word for name, value in given.items() if value for word in (name, value)]
        words += [word for old, new in self.rename.items() for word in ("--map", f"{old}={new}")]
        words += [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return [sys.executable, "-P", "-m", "core.cli", "evaluate", self.run, "--json", *words]


def evaluate(asked: Asked, on_wait: OnWait) -> dict[str, Any]:
    """What `sentiscope evaluate --json` says.

    Args:
        asked: what is wanted.
        on_wait: told how far it is, a few times a second; when it raises, as a page does that is left or stopped, the
            process is ended.

    Raises:
        InputError: as many wait as this server allows.
        NotAvailable: it could not be measured; says why.
    """
    store = RunStore()
    queue.check_room(store.folder, queue.SHORT)
    name = f"evaluate-{os.getpid()}-{time.time_ns()}"
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            queue.in_turn(asked.words, store.folder, name, str(time.time_ns()), queue.SHORT),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            env={**os.environ, "SENTISCOPE_RUNS": str(store.folder.absolute()), "COLUMNS": "500"},
        )
        try:
            while process.poll() is None:
                on_wait(*_progress(_lines(log)))
                time.sleep(LOOK_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            said = [line for line in _lines(log) if not _TOLD.fullmatch(line)] or ["no reason was given"]
            raise NotAvailable(said[-1].removeprefix("sentiscope: "))
        out.seek(0)
        found: dict[str, Any] = json.load(out)
        return found


def _lines(log: Any) -> list[str]:
    log.seek(0)
    return log.read().splitlines()


def _progress(lines: Sequence[str]) -> tuple[str, float]:
    told = [found for line in lines if (found := _TOLD.fullmatch(line.strip()))]
    return (told[-1][2], int(told[-1][1]) / 100) if told else ("waiting for its turn", 0.0)
