"""Cases made from a seed, tried for so many seconds, and what came of them.

A case that ends in anything but success or one of our own errors is a raw error: its file and its seed are kept.
"""

import contextlib
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import core
import dashboard
from core.exceptions import SentiscopeError

MOST_SECONDS = 60
"""A case that takes longer hangs, which is a raw error too."""

LEAST = 8
"""Cases that are tried whatever time they take."""
OURS = tuple(str(Path(package.__path__[0])) for package in (core, dashboard))

Make = Callable[[random.Random, Path], Callable[[], object]]
"""Writes a case into an empty folder, and gives what is to be tried on it."""


@dataclass
class Outcome:
    """What so many cases came to."""

    area: str
    cases: int = 0
    refused: int = 0
    raw: Counter[str] = field(default_factory=Counter)
    """Kinds of errors that nobody caught, by where they rose."""
    kept: dict[str, Path] = field(default_factory=dict)
    """The first case of each kind: a folder with its files, its seed and its traceback."""

    def __str__(self) -> str:
        line = f"{self.area:10} {self.cases:7,} cases · {self.refused:7,} refused · {self.raw.total():3} raw errors"
        kinds = [f"\n    {count} × {kind}\n      {self.kept.get(kind, '')}" for kind, count in self.raw.most_common()]
        return line + "".join(kinds)


def drive(area: str, make: Make, seconds: float, seed: int, keep: Path) -> Outcome:
    """Try cases until the time is over, and a few however busy the machine is."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        make(random.Random(0), Path(name))  # what all cases need is made now, and is not a part of the first one
    outcome, end, number = Outcome(area), time.monotonic() + seconds, 0
    while time.monotonic() < end or number < LEAST:
        try_one(make, f"{area}-{seed}-{number}", outcome, keep)
        number += 1
    return outcome


def try_one(make: Make, case: str, outcome: Outcome, keep: Path) -> None:
    """Make the case of this name and try it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        try:
            with _limited(MOST_SECONDS):
                make(random.Random(case), folder)()
        except SentiscopeError:
            outcome.refused += 1
        except Exception as error:
            _note(error, case, folder, outcome, keep)
        outcome.cases += 1


def _note(error: Exception, case: str, folder: Path, outcome: Outcome, keep: Path) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if frame.filename.startswith(OURS)), frames[-1])
    kind = f"{type(error).__name__} at {Path(own.filename).name}:{own.lineno} {own.name}"
    outcome.raw[kind] += 1
    if kind not in outcome.kept:
        outcome.kept[kind] = keep / case
        shutil.copytree(folder, keep / case, dirs_exist_ok=True)
        (keep / case / "SEED.txt").write_text(f"{case}\n\n{traceback.format_exc()}", errors="replace")


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutated(random: random.Random, data: bytes, tokens: tuple[bytes, ...]) -> bytes:
    """A few bytes changed, cut out, repeated or put in."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        place, size = random.randrange(len(out) + 1), random.choice((1, 1, 2, 8, 64, 512))
        match random.randrange(6):
            case 0:
                out[place : place + size] = random.randbytes(len(out[place : place + size]))
            case 1:
                del out[place : place + size]
            case 2:
                out[place:place] = out[place : place + size] * random.choice((1, 2, 50))
            case 3:
                out[place:place] = random.choice(tokens)
            case 4:
                del out[place:]
            case 5 if out:
                out[place % len(out)] ^= 1 << random.randrange(8)
    return bytes(out)
