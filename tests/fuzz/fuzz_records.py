"""The files of a run, odd or damaged, read by everything that feeds a page."""

import atexit
import contextlib
import functools
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing import mutated
from trained_runs import TINY, train_runs, write_films

from core.exceptions import SentiscopeError
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


def make(random: random.Random, folder: Path) -> Callable[[], object]:
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
