"""The progress of training runs: a moving bar on a terminal, elsewhere a line per epoch."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import rich.progress
from rich.console import Console

from core.api.printing import PLAIN
from core.runs.sweep import STATES
from core.runs.training_jobs import OnEvent


class _Bar:
    """A progress bar that is drawn during the work, on a terminal only."""

    def __init__(self, console: Console, drawn: bool, *columns: rich.progress.ProgressColumn) -> None:
        self.console, self.drawn = console, drawn
        first = rich.progress.TextColumn("{task.description}", markup=False), rich.progress.BarColumn()
        self.bar = rich.progress.Progress(*first, *columns, console=console, transient=True)

    def __enter__(self) -> OnEvent:
        """Start drawing the progress bar; return the function that prints a progress event."""
        if self.drawn:
            self.bar.start()
        return self.print_event

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop drawing the progress bar."""
        if self.drawn:
            self.bar.stop()

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event."""
        raise NotImplementedError


class TrainingProgress(_Bar):
    """A printer of the progress events of a training run (`core.runs.training_jobs.OnEvent`)."""

    def __init__(self, console: Console) -> None:
        columns = rich.progress.TextColumn("{task.percentage:>3.0f} %"), rich.progress.TimeRemainingColumn()
        super().__init__(console, console.is_terminal, *columns)
        self.task: rich.progress.TaskID | None = None

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event of a training run."""
        kind = event["kind"]
        if kind == "step":
            self._advance_bar(event)
        elif kind == "epoch":
            shown = ", ".join(f"{name} {value:.3f}" for name, value in event["validation"].items() if value is not None)
            self.console.print(f"epoch {event['epoch'] + 1}: validation {shown}")
        elif kind in ("masked words", "training"):
            self._begin_stage(kind, event["steps"])
        elif kind == "queued":
            self.console.print(f"run {event['run']}")
        elif kind == "cost":
            time = ""
            if event["seconds"] is not None:
                time = f" and {format_time_left(event['seconds'], 0).removesuffix(' left')}"
            self.console.print(f"takes about {event['bytes'] / 1e9:.1f} GB of memory{time}", soft_wrap=True)
        elif kind == "recipe":
            for setting, why in event["left_out"].items():
                self.console.print(f"recipe {event['recipe']}, without {setting}: {why}", soft_wrap=True)
        else:
            self.console.print(kind)

    def _begin_stage(self, stage: str, steps: int) -> None:
        """Start a progress bar for pretraining on masked words or for training, given the number of steps; 0: none."""
        if not self.console.is_terminal:
            if stage != "training":
                self.console.print(stage)
        elif steps:
            if self.task is not None:
                self.bar.remove_task(self.task)
            self.task = self.bar.add_task(stage, total=steps)

    def _advance_bar(self, row: dict[str, Any]) -> None:
        if self.task is not None:
            self.bar.update(self.task, completed=row["step"])


class SweepProgress(_Bar):
    """A printer of a sweep's progress (`core.runs.sweep_drive.SweepState.to_event`): a bar, lines, or JSON."""

    def __init__(self, console: Console, as_json: bool) -> None:
        column = rich.progress.TextColumn("{task.percentage:>3.0f} %  {task.fields[left]}")
        super().__init__(console, console.is_terminal and not as_json, column)
        self.as_json, self.last = as_json, ""
        self.task = self.bar.add_task("sweep", total=1.0, left="")

    def print_event(self, event: dict[str, Any]) -> None:
        """Print one progress event of a sweep of training runs."""
        if self.as_json:
            self.console.file.write(json.dumps(event) + "\n")
            self.console.file.flush()
            return
        counts = ", ".join(f"{event[state]} {state}" for state in STATES if event[state])
        line, left = f"{event['runs']} runs: {counts}", format_time_left(event["seconds_left"], event["unknown"])
        if self.drawn:
            share = sum(event[state] for state in ("done", "failed", "cancelled"))
            share += sum(run["share"] for run in event["training"])
            self.bar.update(self.task, description=line, completed=share / event["runs"], left=left)
        elif line != self.last:
            self.console.print(f"{line}; {left}", soft_wrap=True)
        self.last = line


def format_time_left(seconds: float, unknown: int) -> str:
    """Format the remaining time of a sweep, and the number of runs whose remaining time is unknown."""
    if not seconds:
        return "time not known yet" if unknown else "nothing left"
    minutes = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
    known = f"about {minutes} left"
    return f"{known}, and {unknown} runs whose time is not known yet" if unknown else known


@contextlib.contextmanager
def listen_in_python(on_event: OnEvent | None) -> Iterator[OnEvent]:
    """Yield the function that receives training progress: the given one, else one that draws a progress bar."""
    if on_event is not None:
        yield on_event
        return
    # A bar on a terminal only: notebooks report colour support but cannot redraw a bar, so they get lines.
    here = Console(force_jupyter=False, force_terminal=sys.stdout.isatty(), soft_wrap=True, **PLAIN)
    with TrainingProgress(here) as tell:
        yield tell
