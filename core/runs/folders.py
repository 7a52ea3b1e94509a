"""Where runs are: those of the person who works here, and the starter runs that come with Sentiscope.

Own runs are written to one folder. Starters are read from another and never changed; in a checkout it may be the same
one, so a starter is told by its name, which no own run can have.
"""

from __future__ import annotations

import os
from pathlib import Path

import core
from core.exceptions import InputError

STARTER = "starter-"


def runs_dir() -> Path:
    """Return where own runs are: SENTISCOPE_RUNS, else `trained` in the working directory."""
    chosen = os.environ.get("SENTISCOPE_RUNS")
    return Path(chosen).expanduser().absolute() if chosen else Path.cwd() / "trained"


def starters_dir() -> Path:
    """Return where starter runs are: SENTISCOPE_STARTERS, else those of the installation, `trained` in a checkout."""
    if chosen := os.environ.get("SENTISCOPE_STARTERS"):
        return Path(chosen).expanduser().absolute()
    package = Path(core.__file__).resolve().parent
    installed = package / "starters"
    return installed if installed.is_dir() else package.parent / "trained"


def starters() -> list[Path]:
    """Return the directories of all starter runs, by name."""
    return sorted(path for path in starters_dir().glob(f"{STARTER}*") if path.is_dir())


def is_starter(path: Path) -> bool:
    """Return whether this is the directory of a starter run."""
    return path.name.startswith(STARTER) and path.parent.resolve() == starters_dir().resolve()


def refuse_reserved(name: str) -> None:
    """Refuse the name of an own run that begins as those of starter runs do; raises InputError."""
    if name.startswith(STARTER):
        raise InputError(f"'{name}': names that begin with '{STARTER}' are those of the runs that come with Sentiscope")
