"""Runs, their archives and settings, odd or damaged, read by everything that feeds a page."""

import atexit
import contextlib
import functools
import io
import json
import os
import random
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing import mutated
from trained_runs import TINY, train_runs, write_films

from core.config import SETTINGS, compose, flatten_config, from_dict, parse_settings, to_dict
from core.exceptions import SentiscopeError
from core.models.presets import PRESETS
from core.runs.archive import export_run, import_zip
from core.runs.configuration import configure
from core.runs.cost_estimate import estimate_size, estimate_time
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard.figures import results

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 0.5, 10**18, 10**400, -(10**400), float("nan"), float("inf"), 1e300, "", "x", "²", "nan"),
    *("\ud800", "a\0b", "/dev/zero", "x" * 5_000, "9" * 400, [], [0.5], ["a", "b"], [[]], {}, {"a": 1}, [None, None]),
    *([0.1, 0.2, 0.3], [1, 0], "running", "queued", "failed", "finished", "multi", "1970-01-01"),
    "2099-01-01T00:00:00Z",
)
TOKENS = (
    *(b"\0", b'"', b"{", b"}", b"[", b"]", b"[" * 3_000, b",", b"\n", b"9" * 5_000, b"NaN", b"\xff", b"PAR1"),
    b"\\ud800",
)


def make_records(random: random.Random, folder: Path) -> Callable[[], object]:
    """A run with one or two of its files changed, beside a sound one."""
    runs = folder / "runs"
    shutil.copytree(sound_run(), runs / "sound")
    shutil.copytree(sound_run(), runs / "odd")
    files = sorted(path for path in (runs / "odd").rglob("*") if path.is_file())
    record = runs / "odd" / "run.json"
    for path in dict.fromkeys(random.choices([record, random.choice(files)], (3, 2), k=random.choice((1, 1, 2)))):
        path.write_bytes(changed(random, path.name, path.read_bytes()))
    return functools.partial(look, runs)


def changed(random: random.Random, name: str, content: bytes) -> bytes:
    """Other content for a file: JSON mostly stays JSON."""
    if name.endswith(".json") and random.random() < 0.8:
        return json.dumps(_other(random, json.loads(content))).encode()
    if name.endswith(".jsonl") and random.random() < 0.8:
        lines = [json.loads(line) for line in content.splitlines()]
        lines[random.randrange(len(lines))] = _other(random, random.choice(lines))
        return "\n".join(map(json.dumps, lines)).encode()
    return mutated(random, content, TOKENS)


def _other(random: random.Random, tree: Any) -> Any:
    """The tree with a few of its places changed, gone or new."""
    for _ in range(random.choice((1, 1, 2, 4))):
        places = list(_places(tree))
        if not places:
            return random.choice(VALUES)
        holder, key = random.choice(places)
        match random.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[random.choice(("new", "", "²", "\ud800", "a.b"))] = random.choice(VALUES)
            case _:
                holder[key] = random.choice(VALUES)
    return tree


def _places(tree: Any) -> Any:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def look(runs: Path) -> None:
    """What the pages read of every run that is listed; a sound one stays readable whatever lies beside it."""
    from dashboard.data import data

    os.environ["SENTISCOPE_RUNS"] = str(runs)
    store = RunStore(runs)
    records = store.list()
    results.build_run_frame(records)
    for record in records:
        with contextlib.suppress(SentiscopeError):
            store.read(record.run)
        if record.status == "damaged":
            continue
        estimate_time(record.config, records)
        estimate_size(record.config, records)
        results.read_headline(record)
        for read in (data.read_curves, data.read_learned_scalars, data.read_head_lambdas):
            with contextlib.suppress(SentiscopeError):
                read(record)
        with contextlib.suppress(SentiscopeError):
            data.list_embedded_splits(record.run)
        for split in data.list_splits(record.run):
            results.build_metric_table(record, split)
            results.read_tfidf_phenomena(record, split)
            with contextlib.suppress(SentiscopeError):
                data.read_points(record, split)
            with contextlib.suppress(SentiscopeError):
                results.list_split_stats(record, split, data.make_report(record, split))
        with contextlib.suppress(SentiscopeError):
            load_run(store, record.run)
    if (runs / "sound").is_dir():
        assert store.read("sound").status == "done"


@functools.cache
def sound_run() -> Path:
    """A small run, trained once."""
    home = Path(tempfile.mkdtemp(prefix="fuzz-run-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return train_runs(home, sound=(write_films(home / "films.csv"), "ndt-01-n3", TINY)).get_path("sound")


ENTRIES = (
    *("../x", "/etc/x", "run.json", "a\\b", "a:b", "x" * 300, "", ".", "sound/", "sound/run.json", "sound/.hidden"),
    "a\0b",
)
ZIP_TOKENS = (
    *(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f"),
    b"../",
)


def make_archives(random: random.Random, folder: Path) -> Callable[[], object]:
    """An archive, and what is left of it when it is taken in."""
    data = _sound()
    if random.random() < 0.6:
        data = _inside(random, data)
    if random.random() < 0.5:
        data = mutated(random, data, ZIP_TOKENS) if random.random() < 0.5 else _directory(random, data)
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
    look(store.folder)


def _inside(random: random.Random, data: bytes) -> bytes:
    """One of the files changed, or an entry more."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", random.choice((0, 8, 8, 12, 14))) as new:
        names = old.namelist()
        chosen = random.choice((*names, *["sound/run.json"] * len(names), None))
        for name in names:
            part = old.read(name)
            new.writestr(name, changed(random, name, part) if name == chosen else part)
        if chosen is None:
            new.writestr(random.choice(ENTRIES) or "empty", b"x")
    return out.getvalue()


def _directory(random: random.Random, data: bytes) -> bytes:
    """Only the list of entries at the end is changed: sizes, places, flags."""
    start = data.rfind(b"PK\x01\x02") if random.random() < 0.5 else data.find(b"PK\x01\x02")
    return data[:start] + mutated(random, data[start:], ZIP_TOKENS)


@functools.cache
def _sound() -> bytes:
    run = sound_run()
    return export_run(RunStore(run.parent), run.name)


TYPED: tuple[Any, ...] = (
    *("", " ", "0", "-1", "1", "2", "0.999999", "1e-300", "1e999", "nan", "inf", "-inf", "9" * 400, "²", "٣"),
    *("1_000", "0x10", "true", "no", "None", "null", "[]", "{}", "../..", "~nosuch/x", "/dev/zero", "a\0b"),
    *("cuda:999", "cpu", "auto", "\ud800", "x" * 10_000, "0.7/0.2/0.1", "1/0/0", "nan/nan/nan", "1e999/0/0", "yes"),
    *("tab", None, True, False, 0, -1, 3, 10**6, 10**400, -(10**400), 0.5, float("nan"), float("inf"), [], {}, [1]),
    *({"a": 1}, (1, 2)),
)
KEYS = [*SETTINGS, *("model", "model.attention", "training.", ".", "", "model.attention.nothing", "training.lr.x", "²")]


def make_settings(random: random.Random, folder: Path) -> Callable[[], object]:
    """A preset with odd settings on top, by one of the ways in which settings come."""
    preset = random.choice([*PRESETS, "nothing", ""])
    some = {random.choice(KEYS): random.choice(TYPED) for _ in range(random.choice((1, 1, 1, 2, 4)))}
    (folder / "case.txt").write_text(f"{preset}\n{some!r}", encoding="utf-8", errors="backslashreplace")
    return functools.partial(random.choice((_composed, _typed, _stored)), preset, some)


def _composed(preset: str, some: dict[str, Any]) -> None:
    _same_again(compose(preset, some))


def _typed(preset: str, some: dict[str, Any]) -> None:
    typed = parse_settings(f"{name}={value}" for name, value in some.items())
    _same_again(configure(typed.pop("data.name", "built-in"), preset, typed))


def _stored(preset: str, some: dict[str, Any]) -> None:
    """As JSON holds them: a level may be of another kind altogether."""
    tree = to_dict(compose("ndt-01-n3"))
    for name, value in some.items():
        *levels, last = name.split(".")
        place: Any = tree
        for level in levels:
            place = place.setdefault(level, {}) if isinstance(place, dict) else {}
        if isinstance(place, dict):
            place[last] = value
    _same_again(from_dict(tree))


def _same_again(config: Any) -> None:
    """What was accepted can be shown, stored and read back."""
    assert len(flatten_config(config)) == len(SETTINGS)
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config
