"""Recording of the trainings of the lesson `lambda`: `python -m core.lessons.record_lambda` writes them again.

It takes a few minutes on one core. What is kept is the course of λ, and how many answers need it.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from core.atomic import write_text
from core.lessons.lambdas import FILE, SETTINGS, describe_course
from core.runs.configuration import configure
from core.runs.store import RunStore
from core.runs.training_jobs import execute


def record(preset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once with these settings; return the course of λ and how many answers need it."""
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        run = store.create(configure("built-in", preset, settings), preset).run
        execute(store, run)
        return describe_course(store, run)


if __name__ == "__main__":
    made = f"python -m core.lessons.record_lambda, torch {torch.__version__}, one thread"
    found = {name: record(*asked) for name, asked in SETTINGS.items()}
    text = json.dumps({"made": made, **found}, separators=(",", ":")).replace('{"steps"', '\n{"steps"')
    write_text(FILE, f"{text}\n")
