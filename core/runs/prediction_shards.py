"""Predictions of a large file in shards: each is a job of the engine, and writes one file with its rows in order.

`DIR/.shards/` has the rows, read once in the sandbox (`rows.arrow`, deleted at the end), what they belong to
(`rows.json`), and result, progress and log of each shard. A shard consists of whole batches of rows.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from core import json_store
from core.atomic import make_folder, replace_file, write_bytes
from core.data.cells import WAYS
from core.data.sandbox import ReadRows
from core.exceptions import InputError, SentiscopeError, try_call
from core.fingerprint import get_file_version, hash_value
from core.paths import resolve_path
from core.runs.background_jobs import Analysis, Offer, Tell, cancel, read_job
from core.runs.record import WEIGHTS, refuse_passages
from core.runs.store import RunStore
from core.runs.text_predictions import open_rows, write_predictions

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from core.lazy_imports import pyarrow as pa

FOLDER, ROWS, PLAN = ".shards", "rows.arrow", "rows.json"
STREAMED = (".parquet", ".csv", ".tsv", ".txt")  # other files are read whole, so that shards would save nothing
MOST = 1_000  # shards of a file, at most
POLL_SECONDS = 1.0


class ShardPlan(msgspec.Struct):
    """What is predicted in shards: a key of all inputs, text columns, notes, and the number of rows of each batch."""

    key: str
    text: str
    second: str
    notes: tuple[str, ...]
    batches: list[int]


@dataclass(frozen=True)
class Shard(Analysis[dict[str, Any]]):
    """A part of the rows of a file, predicted by a job; `asked` are the arguments of the whole prediction."""

    asked: Mapping[str, Any]
    plan: ShardPlan
    number: int
    name: ClassVar[str] = "predict"
    offer = Offer("", "", "", "")

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the command that predicts this shard alone."""
        given = {**self.asked, "--only": self.number}
        settings = [f"{name}={value}" for name, value in given.pop("--set").items()]
        options = [(name, str(value)) for name, value in given.items() if value and name != "run"]
        pairs = [*options, *(("--set", each) for each in settings)]
        return "predict", self.asked["run"], *(word for pair in pairs for word in pair)

    @property
    def target(self) -> Path:
        """Return the path of the file with the predictions of this shard."""
        suffix = self.asked["--data"].suffix.lower()
        return self.folder.parent / f"{self.stem}{suffix if suffix in WAYS else '.csv'}"

    def is_done(self) -> bool:
        """Return whether the file of this shard is complete; a result without its whole file is deleted."""
        known = self.read() or {}
        if not self.target.is_file() or self.target.stat().st_size != known.get("bytes"):
            self.get_path("json").unlink(missing_ok=True)
        return self.get_path("json").is_file()

    def find(self, tell: Tell) -> dict[str, Any]:
        """Predict the rows of this shard, a batch at a time, and write them to its file, which appears complete."""
        from core.runs.load import load_run

        loaded, edit, shards = load_run(self.store, self.asked["run"]), self.asked["--edit"], self.asked["--shards"]
        loaded = loaded.edit_all(edit) if edit else loaded
        first, end = (len(self.plan.batches) * place // shards for place in (self.number - 1, self.number))
        with pa.OSFile(str(self.folder / ROWS), "rb") as source, pa.ipc.open_file(source) as kept:
            batches = (kept.get_batch(place) for place in range(first, end))
            rows = sum(self.plan.batches[first:end])
            read = ReadRows(self.plan.text, rows, kept.schema, batches, self.plan.second)
            write_predictions(loaded, read, self.target, self.asked["--passage"], tell)
        return {"rows": rows, "bytes": self.target.stat().st_size}


def predict_shards(asked: Mapping[str, Any], only: int, on_progress: Tell | None, store: RunStore) -> dict[str, Any]:
    """Predict the shards of a file that are not done, as jobs, and wait for them; `only`: one of them, here.

    `asked`: `run` and the options by name. InputError: the folder has shards of another run, file or setting, or the
    file is not read row by row. SentiscopeError: a job failed.
    """
    tell, record = on_progress or (lambda what, share: None), store.read(asked["run"])
    file, to, shards = (asked[name] for name in ("--data", "--to", "--shards"))
    if file is None or to is None or to.is_file():
        raise InputError("--shards needs --data, the file to predict, and --to, a folder for the predictions")
    if not 1 <= shards <= MOST or only > shards:
        raise InputError(f"--shards {shards}: 1 to {MOST}; --only is one of their numbers, from 1")
    if file.suffix.lower() not in STREAMED:
        raise InputError(f"--shards reads {', '.join(STREAMED)} files, row by row; convert {file.name} first")
    if asked["--passage"]:
        refuse_passages(record)
    file, to = resolve_path(str(file)).absolute(), to.expanduser().absolute()
    asked, folder = {**asked, "--data": file, "--to": to}, to / FOLDER
    versions = [get_file_version(each) for each in (store.get_path(record.run) / WEIGHTS, file)]
    key = hash_value({**asked, "--data": versions, "--to": ""})
    plan = try_call(FileNotFoundError, None, json_store.read, folder / PLAN, ShardPlan)
    if plan is not None and plan.key != key:
        raise InputError(f"--to {to}: it has shards of another run, file or setting; choose another folder")
    numbers = range(1, shards + 1)
    plan = plan or _store_rows(asked, folder, key, store, tell)
    parts = [Shard(folder, f"part-{n:04}-of-{shards:04}", store, asked, plan, n) for n in numbers]
    if not all(each.is_done() for each in parts) and not (folder / ROWS).is_file():
        _store_rows(asked, folder, key, store, tell)
    if not only:
        with _cancel_interrupted(parts):
            _run_jobs(parts, tell)
        (folder / ROWS).unlink(missing_ok=True)
    elif not parts[only - 1].is_done():
        parts[only - 1].compute_here(tell)
    known = {"run": record.run, "task": record.task, "edit": asked["--edit"], "text": plan.text}
    known |= {"notes": list(plan.notes)} if plan.notes else {}
    return known | {"rows": sum(plan.batches), "to": str(to), "files": [each.target.name for each in parts]}


def _store_rows(asked: Mapping[str, Any], folder: Path, key: str, store: RunStore, tell: Tell) -> ShardPlan:
    """Read the rows of the file once, in the sandbox, and store them for all shards."""
    tell("reading", None)
    make_folder(folder)
    with (
        open_rows(store.read(asked["run"]), asked["--data"], asked["--set"]) as rows,
        replace_file(folder / ROWS) as path,
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, rows.schema) as writer,
    ):
        plan = ShardPlan(key, rows.text, rows.second, rows.notes, [])
        for batch in rows.batches:
            writer.write_batch(batch)
            plan.batches.append(batch.num_rows)
    write_bytes(folder / PLAN, msgspec.json.encode(plan))
    return plan


@contextlib.contextmanager
def _cancel_interrupted(shards: Sequence[Shard]) -> Iterator[None]:
    """Cancel the jobs of shards at Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        for each in shards:
            cancel(each)
        raise


def _run_jobs(shards: Sequence[Shard], tell: Tell) -> None:
    begun = set[int]()
    while left := [each for each in shards if not each.is_done()]:
        running = [job for job in map(read_job, left) if job.status == "running"]
        try:
            for each in left:
                if each.number not in begun and read_job(each).status != "running":
                    each.start()
                    begun.add(each.number)
                    running.append(read_job(each))
        except InputError:  # the queue is full
            if not running:
                raise
        if not running and not left[0].is_done():
            why = f"{read_job(left[0]).what}; the same command continues"
            raise SentiscopeError(f"shard {left[0].number} of {len(shards)} was not predicted: {why}")
        tell("predicting", (len(shards) - len(left) + sum(job.share or 0.0 for job in running)) / len(shards))
        time.sleep(POLL_SECONDS)
