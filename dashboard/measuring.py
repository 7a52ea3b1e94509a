"""A run measured on other data, in a process of its own that waits for its turn; whoever leaves the page ends it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.runs import errands
from core.runs.errands import OnWait
from core.runs.store import RunStore


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
        """The command."""
        given = {"--data": self.data, "--split": self.split, "--by": self.by, "--against": self.against}
        given["--limit"] = str(self.limit_test or "")
        words = [word for name, value in given.items() if value for word in (name, value)]
        words += [word for old, new in self.rename.items() for word in ("--map", f"{old}={new}")]
        words += [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return ["evaluate", self.run, "--json", *words]


def evaluate(asked: Asked, on_wait: OnWait) -> dict[str, Any]:
    """What `sentiscope evaluate --json` says; `on_wait` and errors as of `core.runs.errands.answer`."""
    name = f"evaluate-{os.getpid()}-{time.time_ns()}"
    found: dict[str, Any] = errands.answer(RunStore(), asked.words, name, on_wait=on_wait)
    return found
