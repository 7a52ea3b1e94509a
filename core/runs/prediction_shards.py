"""Predictions of a large file in shards: each is a job of the engine, and writes one file with its rows in order.

`DIR/.shards/` has the rows, read once in the sandbox (`rows.arrow`, deleted at the end), what they belong to
(`rows.json`), and result, progress and log of each shard. A shard consists of whole batches of rows.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from core.runs.background_jobs import Analysis, Offer, Tell, read_job
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
    """The rows of a file that is predicted in shards: text columns, notes, and the number of rows of each batch."""

    key: str
    text: str
    second: str
    notes: tuple[str, ...]
    batches: list[int]


@dataclass(frozen=True)
class ShardRequest:
    """The arguments of a prediction in shards."""

    run: str
    file: Path
    to: Path
    shards: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    passage: int = 0
    edit: str = ""

    def to_words(self) -> tuple[str, ...]:
        """Return the arguments of the command that predicts the shards."""
        words = ["predict", self.run, "--data", str(self.file), "--to", str(self.to), "--shards", str(self.shards)]
        words += [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        words += ["--passage", str(self.passage)] if self.passage else []
        return *words, *(("--edit", self.edit) if self.edit else ())


@dataclass(frozen=True)
class Shard(Analysis[dict[str, Any]]):
    """A part of the rows of a file, predicted by a job."""

    request: ShardRequest
    plan: ShardPlan
    number: int
    name: ClassVar[str] = "predict"
    offer = Offer("", "", "", "")

    @property
    def words(self) -> tuple[str, ...]:
        """Return the arguments of the command that predicts this shard alone."""
        return *self.request.to_words(), "--only", str(self.number)

    @property
    def target(self) -> Path:
        """Return the path of the file with the predictions of this shard."""
        suffix = self.request.file.suffix.lower()
        return self.request.to / f"{self.stem}{suffix if suffix in WAYS else '.csv'}"

    def is_done(self) -> bool:
        """Return whether the file of this shard is complete; a result without its file is deleted."""
        if not self.target.is_file():
            self.get_path("json").unlink(missing_ok=True)
        return self.get_path("json").is_file()

    def find(self, tell: Tell) -> dict[str, Any]:
        """Predict the rows of this shard, a batch at a time, and write them to its file, which appears complete."""
        from core.runs.load import load_run

        loaded = load_run(self.store, self.request.run)
        loaded = loaded.edit_all(self.request.edit) if self.request.edit else loaded
        each = len(self.plan.batches)
        first, end = (each * place // self.request.shards for place in (self.number - 1, self.number))
        with pa.OSFile(str(self.folder / ROWS), "rb") as source, pa.ipc.open_file(source) as kept:
            batches = (kept.get_batch(place) for place in range(first, end))
            count = sum(self.plan.batches[first:end])
            rows = ReadRows(self.plan.text, count, kept.schema, batches, self.plan.second)
            write_predictions(loaded, rows, self.target, self.request.passage, tell)
        return {"rows": count, "file": self.target.name}


def make_request(
    run: str,
    file: Path | None,
    to: Path | None,
    shards: int,
    settings: Mapping[str, Any] | None,
    passage: int,
    edit: str,
) -> ShardRequest:
    """Return the request of a prediction in shards; InputError: no file, no folder or too many shards."""
    if file is None or to is None or to.is_file():
        raise InputError("--shards needs --data, the file to predict, and --to, a folder for the predictions")
    if not 1 <= shards <= MOST:
        raise InputError(f"--shards {shards}: 1 to {MOST}")
    if file.suffix.lower() not in STREAMED:
        raise InputError(f"--shards reads {', '.join(STREAMED)} files, row by row; convert {file.name} first")
    paths = (resolve_path(str(file)).absolute(), to.expanduser().absolute())
    return ShardRequest(run, *paths, shards, settings or {}, passage, edit)


def predict_shards(request: ShardRequest, only: int, on_progress: Tell | None, store: RunStore) -> dict[str, Any]:
    """Predict the shards of a file that are not done, as jobs, and wait for them; `only`: one of them, here.

    InputError: the folder has shards of another run, file or setting. SentiscopeError: a job failed.
    """
    record, tell = store.read(request.run), on_progress or (lambda what, share: None)
    if request.passage:
        refuse_passages(record)
    if only > request.shards:
        raise InputError(f"--only {only}: 1 to {request.shards}, the number of --shards")
    folder, files = request.to / FOLDER, (store.get_path(request.run) / WEIGHTS, request.file)
    asked = (request.run, request.shards, dict(request.settings), request.passage, request.edit)
    key = hash_value({"asked": asked, "files": [get_file_version(each) for each in files]})
    plan = try_call(FileNotFoundError, None, json_store.read, folder / PLAN, ShardPlan)
    if plan is not None and plan.key != key:
        raise InputError(f"--to {request.to}: it has shards of another run, file or setting; choose another folder")
    plan = plan or _store_rows(request, folder, key, store, tell)
    parts = range(1, request.shards + 1)
    stems = [f"part-{number:04}-of-{request.shards:04}" for number in parts]
    shards = [Shard(folder, stem, store, request, plan, n) for n, stem in zip(parts, stems, strict=True)]
    if not all(each.is_done() for each in shards) and not (folder / ROWS).is_file():
        _store_rows(request, folder, key, store, tell)
    if only:
        if not shards[only - 1].is_done():
            shards[only - 1].compute(tell)
    else:
        _run_jobs(shards, tell)
        (folder / ROWS).unlink(missing_ok=True)
    known = {"run": request.run, "task": record.task, "edit": request.edit, "text": plan.text}
    known |= {"notes": list(plan.notes)} if plan.notes else {}
    return known | {"rows": sum(plan.batches), "to": str(request.to), "files": [each.target.name for each in shards]}


def _store_rows(request: ShardRequest, folder: Path, key: str, store: RunStore, tell: Tell) -> ShardPlan:
    """Read the rows of the file once, in the sandbox, and store them for all shards."""
    tell("reading", None)
    make_folder(folder)
    sizes = []
    with open_rows(store.read(request.run), request.file, request.settings) as rows:
        with replace_file(folder / ROWS) as path, pa.OSFile(str(path), "wb") as sink:
            with pa.ipc.new_file(sink, rows.schema) as writer:
                for batch in rows.batches:
                    writer.write_batch(batch)
                    sizes.append(batch.num_rows)
        plan = ShardPlan(key, rows.text, rows.second, rows.notes, sizes)
    write_bytes(folder / PLAN, msgspec.json.encode(plan))
    return plan


def _run_jobs(shards: Sequence[Shard], tell: Tell) -> None:
    begun = set[int]()
    while not all(done := [each.is_done() for each in shards]):
        left = [each for each, ended in zip(shards, done, strict=True) if not ended]
        jobs = {each.number: read_job(each) for each in left}
        running = [job for job in jobs.values() if job.status == "running"]
        try:
            for each in left:
                if jobs[each.number].status != "running" and each.number not in begun:
                    each.start()
                    begun.add(each.number)
                    running.append(read_job(each))
        except InputError:  # the queue is full
            if not running:
                raise
        if not running and (lost := next((each for each in left if not each.is_done()), None)):
            why = f"{read_job(lost).what}; the same command continues"
            raise SentiscopeError(f"shard {lost.number} of {len(shards)} was not predicted: {why}")
        tell("predicting", (sum(done) + sum(job.share or 0.0 for job in running)) / len(shards))
        time.sleep(POLL_SECONDS)
