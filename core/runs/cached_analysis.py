"""The base class of slow analyses of a run, which defines their inputs, computation and button text.

Queue, files, progress, cancellation and the button of the page follow from the class. A new analysis is a subclass of
`Analysis` with `words`, `find`, an `Offer`, and a constructor whose file name covers all inputs of the result. An
analysis of a split is a module of `core.error_analysis.analyses` with `find` and an `Offer`; it also gets a command and
a section of the page.
"""

from __future__ import annotations

import json
import logging
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from core import json_store
from core.atomic import write_text
from core.cache import get_cache_folder
from core.exceptions import RunDamaged
from core.runs import background_jobs
from core.runs.background_jobs import Files, Tell
from core.runs.store import RunStore, is_starter

Found = TypeVar("Found")


@dataclass(frozen=True)
class Offer:
    """The texts that a page shows about an analysis not computed yet: button, title, error and duration."""

    button: str
    title: str
    failed: str
    takes: str


@dataclass(frozen=True)
class Analysis(Files, ABC, Generic[Found]):
    """A slow analysis of a run whose result is computed once and stored under a hash of its inputs."""

    store: RunStore = field(repr=False, compare=False)

    name: ClassVar[str]

    @property
    @abstractmethod
    def offer(self) -> Offer:
        """Return the texts that a page shows about the analysis: button, title, error and duration."""

    @property
    def shape(self) -> Any:
        """Return the schema type that a stored analysis result is validated with."""
        return dict[str, Any]

    @property
    @abstractmethod
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the `sentiscope` command that computes and stores this analysis."""

    @abstractmethod
    def find(self, tell: Tell) -> Found:
        """Compute the result of the analysis and report progress to the callback `tell`."""

    def read(self) -> Found | None:
        """Return the stored result of the analysis; None if there is none or its file cannot be read."""
        try:
            tree = json_store.read_tree(self.get_path("json"))
            checked = json_store.check_value(tree, self.shape, file=self.get_path("json"))
        except (FileNotFoundError, RunDamaged):
            return None
        found: Found = checked if hasattr(checked, "__struct_fields__") else tree  # a shape may list some fields only
        return found

    def write(self, found: Found, seconds: float) -> None:
        """Store the result of the analysis, which took `seconds` to compute."""
        tree = json.dumps(found, ensure_ascii=False, allow_nan=False, default=msgspec.to_builtins)
        write_text(self.get_path("json"), tree)

    def compute(self, on_progress: Tell | None = None) -> Found:
        """Compute the analysis in this process, publish its progress, and store the result."""
        with background_jobs.publish_progress(self, on_progress) as tell:
            began = time.monotonic()
            found = self.find(tell)
            self.write(found, time.monotonic() - began)
        return found

    def compute_anyway(self, on_progress: Tell | None = None) -> Found:
        """Compute the analysis even if its folder cannot be created; then only log that the result is not stored."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            logging.getLogger(__name__).warning("%s is not stored: %s", self.get_path("json"), error)
            return self.find(on_progress or (lambda what, share: None))
        return self.compute(on_progress)

    def read_or_compute(self, on_progress: Tell | None = None) -> tuple[Found, bool]:
        """Return the result of the analysis, computed now if none is stored or readable, and whether it was stored."""
        try:
            found = self.read()
        except RunDamaged:
            found = None
        return (self.compute(on_progress), False) if found is None else (found, True)

    def start(self) -> None:
        """Start a background process that computes the analysis; InputError: this server's queue is full."""
        background_jobs.start_job(self.store, self, background_jobs.build_command(*self.words), self.name)


def locate_folder(run: Path, kind: str, stem: str, cached: str = "") -> Path:
    """Return the folder of a run's analysis result: in the run, or in the cache folder for a starter run.

    Results shipped with a starter are read in its own folder. `cached` is the name of the cache folder, by default
    `kind`.
    """
    if is_starter(run) and not (run / kind / f"{stem}.json").is_file():
        return get_cache_folder() / (cached or kind)
    return run / kind
