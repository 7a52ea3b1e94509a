"""A training's progress on a terminal: one bar that moves, or a line per epoch where nobody watches."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import rich.progress
from rich.console import Console


class Progress:
    """Listens to a run's events (`core.runs.worker.OnEvent`)."""

    def __init__(self, console: Console) -> None:
        """`console` is where to write; on a terminal it gets a bar."""
        self.console = console
        columns = (
            rich.progress.TextColumn("{task.description}"),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.percentage:>3.0f} %"),
            rich.progress.TimeRemainingColumn(),
        )
        self.bar = rich.progress.Progress(*columns, console=console, transient=True)
        self.task: rich.progress.TaskID | None = None
        self.steps = 0

    def __enter__(self) -> Self:
        """Start drawing where there is a terminal."""
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop drawing."""
        if self.console.is_terminal:
            self.bar.stop()

    def tell(self, event: dict[str, Any]) -> None:
        """One event of a run."""
        kind = event["kind"]
        if kind == "step":
            self._advance(event)
        elif kind == "epoch":
            shown = ", ".join(f"{name} {value:.3f}" for name, value in event["validation"].items() if value is not None)
            self.console.print(f"epoch {event['epoch'] + 1}: validation {shown}", highlight=False)
        elif kind == "training":
            self.steps = event["steps"]
        elif kind == "queued":
            self.console.print(f"run {event['run']}", highlight=False, markup=False)
        else:
            self.console.print(kind, highlight=False, markup=False)

    def _advance(self, row: dict[str, Any]) -> None:
        if not self.console.is_terminal or not self.steps:
            return
        if self.task is None:
            self.task = self.bar.add_task("training", total=self.steps)
        self.bar.update(self.task, completed=row["step"])
