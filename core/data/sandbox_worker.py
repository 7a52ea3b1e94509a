"""The subprocess of `core.data.sandbox`, which parses each untrusted file in its own fork with limited rights."""

import dataclasses
import json
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import openpyxl  # noqa: F401  imported before the fork
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet

from core.data import limits
from core.data.cells import as_words
from core.data.dataset import WHOLE
from core.data.labeled_files import inspect_file, read_file, read_folder
from core.data.labels import is_several
from core.data.parquet import read_parquet
from core.data.sandbox import ANSWER
from core.data.sources import SOURCES
from core.data.stream import read_published, stream_rows
from core.data.table_reader import read_table
from core.data.yaml_tree import read_yaml
from core.exceptions import SentiscopeError

IDLE_SECONDS = 120.0  # Seconds without a request after which the process ends; the next request starts a new one
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "ctypes.")

Answer = dict[str, Any]


def main() -> None:
    """Serve file-reading requests from standard input until it closes or no request has come for some time."""
    # On Windows, `select` does not support pipes.
    while os.name == "nt" or select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        if not (line := sys.stdin.readline()):
            return
        print(json.dumps(_serve_forked(json.loads(line))), flush=True)  # noqa: T201  the answer goes through the pipe
        if not hasattr(os, "fork"):
            return


def _serve_forked(request: dict[str, Any]) -> int:
    if not hasattr(os, "fork"):
        _serve_request(request)
        return 0
    if (child := os.fork()) == 0:
        _serve_bounded(request)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _serve_bounded(request: dict[str, Any]) -> NoReturn:
    """Set the memory and time limits of a forked process, serve one file-reading request and exit."""
    import resource

    os.environ[limits.VARIABLE] = request["limits"]
    allowed = limits.get_limits()
    memory, seconds = allowed.memory * limits.MEGABYTE, allowed.seconds
    for what, most in (
        (resource.RLIMIT_AS, psutil.Process().memory_info().vms + memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    signal.setitimer(signal.ITIMER_REAL, seconds)  # the unhandled signal ends the process
    sys.addaudithook(_forbid_event)
    _serve_request(request)
    os._exit(0)


def _forbid_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"{event} is not allowed while a file is read")


def _serve_request(request: dict[str, Any]) -> None:
    warnings.simplefilter("ignore")
    answer = json.dumps(_answer_request(request, folder := Path(request["folder"])), ensure_ascii=False)
    (folder / ANSWER).write_bytes(answer.encode("utf-8", "replace"))


def _answer_request(request: dict[str, Any], folder: Path) -> Answer:
    """Return the result of a file-reading request, or its error under `error`; never raise an exception."""
    try:
        return _WAYS[request["way"]](Path(request["path"]), request["reading"], folder)
    except SentiscopeError as error:
        return {"error": str(error), "kind": type(error).__name__}
    except MemoryError:
        pass
    except OSError as error:
        return {"error": f"could not be read ({error.strerror or error})", "kind": "Unexpected"}
    except Exception as error:  # a bug: the message helps to find it
        return {"error": f"{type(error).__name__}: {error}"[:500], "kind": "Unexpected"}
    return {"error": "", "kind": "MemoryError"}


def _read_labeled(path: Path, reading: dict[str, Any], folder: Path) -> Answer:
    found = (read_folder if path.is_dir() else read_file)(path, **reading)
    return {
        "report": found.report and dataclasses.asdict(found.report),
        "classes": found.classes,
        "notes": found.notes,
        "task": found.task,
        "decisions": [dataclasses.asdict(each) for each in found.decisions],
        "splits": _write_splits(found.splits, folder),
    }


def _read_published(path: Path, reading: dict[str, Any], folder: Path) -> Answer:
    layout = SOURCES[reading["name"]].published
    assert layout is not None
    splits, notes = read_published(path, layout)
    return {"classes": layout.classes, "notes": notes, "splits": _write_splits(splits, folder)}


def _read_rows(path: Path, reading: dict[str, Any], folder: Path) -> Answer:
    found, name = stream_rows(path, **reading), "0.arrow"
    rows = _write_batches(folder / name, found.schema, found.batches)
    return {"splits": {WHOLE: name}, "text": found.text, "rows": rows, "notes": found.notes}


_WAYS: dict[str, Callable[[Path, dict[str, Any], Path], Answer]] = {
    "report": lambda path, reading, _: {"report": dataclasses.asdict(inspect_file(path, **reading))},
    "labeled": _read_labeled,
    "published": _read_published,
    "rows": _read_rows,
    "cells": lambda path, _, folder: {"splits": _write_splits({WHOLE: read_table(path).frame.apply(as_words)}, folder)},
    "check": lambda path, *_: {"rows": len(read_parquet(path))},
    "yaml": lambda path, *_: {"tree": read_yaml(path)},
}


def _write_splits(splits: dict[str, pd.DataFrame], folder: Path) -> dict[str, str]:
    names = {}
    for number, (split, rows) in enumerate(splits.items()):
        names[split] = f"{number}.arrow"
        table = pa.table({str(name): _convert_column(rows.iloc[:, n]) for n, name in enumerate(rows.columns)})
        _write_batches(folder / names[split], table.schema, table.to_batches())
    return names


def _write_batches(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _convert_column(values: pd.Series) -> pa.Array | pa.ChunkedArray:
    if is_several(values):
        return pa.array(values.tolist(), pa.list_(pa.large_string()))
    if values.dtype == object:
        values = as_words(values)
    return pa.array(values, from_pandas=True)


if __name__ == "__main__":
    main()
