"""Zip files of a run, damaged outside or inside, taken in as a page does and then read by the pages."""

import functools
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import fuzz_records
from fuzzing import mutated

from core.runs.archive import export_run, import_zip
from core.runs.store import RunStore

NAMES = (
    *("../x", "/etc/x", "run.json", "a\\b", "a:b", "x" * 300, "", ".", "sound/", "sound/run.json", "sound/.hidden"),
    "a\0b",
)
TOKENS = (
    *(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f"),
    b"../",
)


def make(random: random.Random, folder: Path) -> Callable[[], object]:
    """An archive, and what is left of it when it is taken in."""
    data = _sound()
    if random.random() < 0.6:
        data = _inside(random, data)
    if random.random() < 0.5:
        data = mutated(random, data, TOKENS) if random.random() < 0.5 else _directory(random, data)
    (folder / "a.zip").write_bytes(data)
    return functools.partial(_taken_in, folder, data)


def _taken_in(folder: Path, data: bytes) -> None:
    store = RunStore(folder / "runs")
    try:
        import_zip(store, io.BytesIO(data), "a.zip")
    finally:
        left = [path.name for path in store.folder.glob(".import-*")]
        assert not left, left
        outside = [path.name for path in folder.iterdir() if path.name not in ("a.zip", "runs")]
        assert not outside, outside
    fuzz_records.look(store.folder)


def _inside(random: random.Random, data: bytes) -> bytes:
    """One of the files changed, or an entry more."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", random.choice((0, 8, 8, 12, 14))) as new:
        names = old.namelist()
        chosen = random.choice((*names, *["sound/run.json"] * len(names), None))
        for name in names:
            part = old.read(name)
            new.writestr(name, fuzz_records.changed(random, name, part) if name == chosen else part)
        if chosen is None:
            new.writestr(random.choice(NAMES) or "empty", b"x")
    return out.getvalue()


def _directory(random: random.Random, data: bytes) -> bytes:
    """Only the list of entries at the end is changed: sizes, places, flags."""
    start = data.rfind(b"PK\x01\x02") if random.random() < 0.5 else data.find(b"PK\x01\x02")
    return data[:start] + mutated(random, data[start:], TOKENS)


@functools.cache
def _sound() -> bytes:
    run = fuzz_records.sound_run()
    return export_run(RunStore(run.parent), run.name)
