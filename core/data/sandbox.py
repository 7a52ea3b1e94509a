"""Untrusted files, parsed in a subprocess with limits, which answers in JSON and Arrow. Imports nothing heavy."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from core.data import limits
from core.data.dataset import WHOLE, Task
from core.data.findings import ReadingDecision
from core.exceptions import ConfigError, DataError, NotAvailable, SentiscopeError
from core.paths import resolve_path
from core.text.text_pairs import join_pair

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from core.data.labeled_files import FileReport, LabeledSplits

AT_ONCE = 2  # Files that are read at the same time, at most; further readings wait
_STARTED_WITHIN = 60.0  # Seconds that a busy machine may take to start a process
ANSWER = "answer.json"
_LATE = {getattr(signal, name, None) for name in ("SIGALRM", "SIGXCPU", "SIGKILL")}  # Signals of the time limit
_KINDS: dict[str, type[SentiscopeError]] = {each.__name__: each for each in (DataError, ConfigError, NotAvailable)}
_OWN = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_OWN["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # No threads before a fork, and no memory that is reserved in advance


def inspect_file(path: Path, reading: dict[str, str]) -> FileReport:
    """Report on a data file that a sandboxed subprocess reads; see `core.data.labeled_files.inspect_file`."""
    with _run_reader("report", path, reading) as (answer, _):
        report = _decode_report(answer.report)
        assert report is not None
        return report


def read_labeled(path: Path, reading: dict[str, str], *, to_train: bool = True, published: str = "") -> LabeledSplits:
    """Read the labelled rows of a file or folder (of the data set `published`) in a sandbox; see `inspect_file`."""
    from core.data.labeled_files import LabeledSplits

    asked: dict[str, str | bool] = {"name": published} if published else {**reading, "to_train": to_train}
    with _run_reader("published" if published else "labeled", path, asked) as (answer, folder):
        splits = {split: _load_frame(folder / name) for split, name in answer.splits.items()}
        report = _decode_report(answer.report)
        return LabeledSplits(splits, answer.classes, answer.notes, answer.task, answer.decisions, report)


@dataclass(frozen=True)
class ReadRows:
    """The rows of an unlabelled file, in batches on disk; text pairs have a column of second texts too."""

    text: str
    rows: int
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    second: str = ""
    notes: tuple[str, ...] = ()

    def get_texts(self, batch: pa.RecordBatch) -> list[str]:
        """Return the texts of a batch of rows; the two texts of a pair are joined."""
        firsts = batch.column(self.text).to_pylist()
        return list(map(join_pair, firsts, batch.column(self.second).to_pylist())) if self.second else firsts

    def as_pairs(self, first: str, second: str, file: str) -> ReadRows:
        """Return the rows as text pairs from two columns; reading a row with a missing text raises an error."""

        def check_batches() -> Iterator[pa.RecordBatch]:
            before = 0
            for batch in self.batches:
                for name in (first, second):
                    cells = batch.column(name).to_pylist()
                    if (row := next((n for n, cell in enumerate(cells, 1) if not str(cell or "").strip()), 0)) > 0:
                        raise DataError("this text of the pair is missing", file=file, row=before + row, field=name)
                before += batch.num_rows
                yield batch

        return dataclasses.replace(self, text=first, second=second, batches=check_batches())


@contextlib.contextmanager
def read_rows(path: Path, reading: dict[str, str], *, lines: bool = False) -> Iterator[ReadRows]:
    """Read the rows of an unlabelled file in a sandboxed subprocess; the rows are deleted when the context ends."""
    import pyarrow as pa

    with _run_reader("rows", path, {**reading, "lines": lines}) as (answer, folder):
        with pa.OSFile(str(folder / answer.splits[WHOLE]), "rb") as source, pa.ipc.open_file(source) as kept:
            batches = (kept.get_batch(number) for number in range(kept.num_record_batches))
            yield ReadRows(answer.text, answer.rows, kept.schema, batches, notes=answer.notes)


def read_cells(path: Path) -> pd.DataFrame:
    """Return all cells of a table file as strings, with the table's column names; missing cells are NaN."""
    with _run_reader("cells", path, {}) as (answer, folder):
        return _load_frame(folder / answer.splits[WHOLE])


def read_yaml(path: Path) -> Any:
    """Read a YAML file as plain data in a sandboxed subprocess."""
    with _run_reader("yaml", path, {}) as (answer, _):
        return msgspec.json.decode(answer.tree)


def check_parquet(path: Path) -> None:
    """Check an untrusted Parquet file by reading it in a sandboxed subprocess; afterwards this process may open it."""
    with _run_reader("check", path, {}):
        pass


class _Answer(msgspec.Struct):
    """The answer of a sandboxed reading process; the rows themselves are in Arrow files, one per split."""

    kind: str = ""  # The name of the error that ended the reading; empty: none
    error: str = ""
    report: msgspec.Raw = msgspec.Raw(b"null")
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    task: Task = "single"
    decisions: tuple[ReadingDecision, ...] = ()
    splits: dict[str, str] = {}
    text: str = ""
    rows: int = 0
    tree: msgspec.Raw = msgspec.Raw(b"null")


@contextlib.contextmanager
def _run_reader(way: str, path: Path, reading: Mapping[str, str | bool]) -> Iterator[tuple[_Answer, Path]]:
    """Let a sandboxed subprocess read a file; yield its answer and the temporary folder of the rows."""
    path = resolve_path(str(path), folders=True).absolute()
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
        chosen = os.environ.get(limits.VARIABLE, "")
        request = {"way": way, "path": str(path), "reading": {**reading}, "folder": folder, "limits": chosen}
        ended = _run_request(json.dumps(request), limits.get_limits().seconds)
        if -ended in _LATE:
            raise limits.make_error("it takes too long to read", "seconds", file=path.name)
        if ended:
            why = f"the library that reads this kind of file broke down on it (signal {-ended}); save it as CSV"
            raise DataError(why, file=path.name)
        answer = msgspec.json.decode((Path(folder) / ANSWER).read_bytes(), type=_Answer)
        if answer.kind == "MemoryError":
            raise limits.make_error("it takes too much memory to read", "memory", file=path.name)
        if answer.kind == "Unexpected":
            raise DataError(f"cannot be read ({answer.error}); save it as CSV in UTF-8", file=path.name)
        if answer.kind:
            raise _KINDS[answer.kind](answer.error)
        yield answer, Path(folder)


def _decode_report(raw: msgspec.Raw) -> FileReport | None:
    from core.data.labeled_files import FileReport

    return msgspec.json.decode(raw, type=FileReport | None)


def _load_frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source:
        table = pa.ipc.open_file(source).read_all()
    frame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type):  # several labels
            labels = [None if each is None else tuple(each) for each in column.to_pylist()]
            frame[name] = pd.Series(labels, dtype=object)
    return frame


class _Readers:
    """A pool of a limited number of sandboxed reading processes, started on demand; each reads one file at a time."""

    def __init__(self) -> None:
        self._free: queue.LifoQueue[subprocess.Popen[str] | None] = queue.LifoQueue()
        for _ in range(AT_ONCE):
            self._free.put(None)

    @contextlib.contextmanager
    def reserve_process(self, seconds: float) -> Iterator[subprocess.Popen[str]]:
        """Yield a free reading process after at most `seconds`; a process whose reading failed is not reused."""
        try:
            process = self._free.get(timeout=seconds)
        except queue.Empty:
            raise NotAvailable("other files are being read; try again in a minute") from None
        try:
            if process is not None and process.poll() is not None:
                _end_process(process)
                process = None
            yield (process := process or _start_process())
        except BaseException:
            if process is not None:
                _end_process(process)
            raise
        finally:
            self._free.put(process)

    def close(self) -> None:
        """End the idle reading processes of the pool."""
        with contextlib.suppress(queue.Empty):
            while True:
                if (process := self._free.get_nowait()) is not None:
                    _end_process(process)


_READERS = _Readers()
atexit.register(_READERS.close)


def _start_process() -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "core.data.sandbox_worker"]  # -P: import nothing from the working directory
    pipe, none, variables = subprocess.PIPE, subprocess.DEVNULL, {**os.environ, **_OWN}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=none, text=True, encoding="utf-8", env=variables)


def _end_process(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError), process:  # closes its pipes and waits for its end
        process.kill()


def _run_request(request: str, seconds: float) -> int:
    """Send a request to a reading process; return 0, or the negative number of the signal that ended the reading."""
    for _ in range(2):  # an idle process may end at this moment
        with _READERS.reserve_process(seconds + _STARTED_WITHIN) as process:
            # The process has its own timer; this one is for the case that it fails.
            late = threading.Timer(seconds + _STARTED_WITHIN, process.kill)
            late.start()
            assert process.stdin and process.stdout
            try:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write(request + "\n")
                    process.stdin.flush()
                said = process.stdout.readline()
            finally:
                late.cancel()
            if said:
                return int(said)
            _end_process(process)
    command = f"{sys.executable} -P -m core.data.sandbox_worker"
    raise NotAvailable(f"the process that reads files does not start; see `{command}`")
