"""How far a training run is, for whoever started it from Python."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.runs.worker import OnEvent

if TYPE_CHECKING:
    pass


@contextlib.contextmanager
def told(on_event: OnEvent | None) -> Iterator[OnEvent]:
    """Who hears how far training is: whoever asked, else a person, as on the command line."""
    if on_event is not None:
        yield on_event
        return
    import sys

    from rich.console import Console

    from core.cli.printing import PLAIN
    from core.cli.progress import TrainingProgress

    # A bar on a terminal. Elsewhere lines, also in a notebook, which says that it has colours and cannot move a bar.
    here = Console(force_jupyter=False, force_terminal=sys.stdout.isatty(), soft_wrap=True, **PLAIN)
    with TrainingProgress(here) as progress:
        yield progress.tell
