"""The history of a training run, `history.jsonl`: losses, metrics and learned numbers, one JSON object per line.

Every row has `kind`, `step` (updates done), `epoch` (from 0) and `seconds` (training time so far). A "step" also has
`loss` (of the batch before its update; null at step 0), `lr` and `grad_norm` (before clipping); an "epoch" `train_loss`
(mean over its rows), `validation` {metric: number}, `best` (whether it is the best so far) and `gates` (per layer mean
and standard deviation). Both have learned numbers, averaged over fixed validation texts if they depend on the input:
`lambda` (per layer, a number per added component), `lambda_heads` if it differs between heads, and `scalars` (tau,
strength, alpha …: per layer, or one for the model). A number that is not finite is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Required, TypedDict

import msgspec

from core import json_store
from core.atomic import convert_os_errors, write_text
from core.exceptions import RunDamaged
from core.formatting import count
from core.json_store import Count, Figure, Seconds
from core.paths import read_regular

Row = dict[str, Any]
LARGEST = 32 * 1024**2  # bytes of a history, at most; the presets write about 60 kB
MOST_LINES = 100_000  # lines of a history, at most: a training logs some hundred steps, and a row per epoch

_Row = TypedDict(
    "_Row",
    {
        "kind": Required[Literal["step", "epoch"]],
        "step": Required[Count],
        "epoch": Count,
        "seconds": Seconds | None,
        "loss": Figure | None,
        "lr": Figure | None,
        "grad_norm": Figure | None,
        "train_loss": Figure | None,
        "validation": dict[str, Figure | None],
        "best": bool,
        "lambda": list[list[Figure | None]],
        "lambda_heads": list[list[list[Figure | None]]],
        "scalars": dict[str, list[Figure | None]],
        "gates": list[list[Figure | None]],
    },
    total=False,
)
"""Known fields of a row; other fields are from a newer version and are kept."""


@dataclass(frozen=True)
class History:
    """The readable rows of a training history, in order, with a count of skipped lines."""

    rows: list[Row]
    skipped: int
    unreadable: str = ""

    def select_kind(self, kind: str) -> list[Row]:
        """Return the history rows of one kind, "step" or "epoch"."""
        return [row for row in self.rows if row["kind"] == kind]


class HistoryWriter:
    """A writer of training history rows that flushes each row, so that readers see it at once."""

    def __init__(self, path: Path) -> None:
        """Open a training history for appending; complete a last line that a kill cut off."""
        self.path = path
        with convert_os_errors(path):
            self._stream: IO[bytes] = path.open("ab+")
            if self._stream.tell():
                self._stream.seek(-1, 2)
                if self._stream.read(1) != b"\n":
                    self._stream.write(b"\n")

    def write(self, row: Row) -> None:
        """Append one row to the training history; raise StorageError if it cannot be written."""
        with convert_os_errors(self.path):
            self._stream.write(_format_row(row).encode())
            self._stream.flush()

    def __enter__(self) -> HistoryWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the training history; raise StorageError if the disk is full and unwritten bytes cannot be flushed."""
        with convert_os_errors(self.path):
            self._stream.close()


def read_history(path: Path) -> History:
    """Read the rows of a training history, if any; count damaged lines, and give a reason if it cannot be read."""
    try:
        content = read_regular(path, LARGEST)
        if content.count(b"\n") > MOST_LINES:
            raise ValueError(f"it has more than {count(MOST_LINES)} lines")
    except FileNotFoundError:
        return History([], 0)
    except (OSError, ValueError) as error:
        return History([], 0, f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")
    rows = [_parse_row(line) for line in content.split(b"\n") if line.strip()]
    good = list(_keep_same_shape(row for row in rows if row is not None))
    return History(good, len(rows) - len(good))


def truncate_history(path: Path, step: int) -> None:
    """Remove damaged lines and rows after `step` from a history, for a resumed run; RunDamaged if it is unreadable."""
    if path.exists():
        history = read_history(path)
        if history.unreadable:
            raise RunDamaged(history.unreadable)
        write_text(path, "".join(_format_row(row) for row in history.rows if row["step"] <= step))


def _format_row(row: Row) -> str:
    return json.dumps(replace_nonfinite(row), allow_nan=False, ensure_ascii=False) + "\n"


def replace_nonfinite(value: Any) -> Any:
    """Replace infinite and NaN numbers in nested plain data by None, as JSON cannot hold them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: replace_nonfinite(item) for key, item in value.items()}
    return [replace_nonfinite(item) for item in value] if isinstance(value, (list, tuple)) else value


def _parse_row(line: bytes) -> Row | None:
    try:
        row = json_store.parse_json(line)
        msgspec.convert(row, _Row)  # `json_store.convert` would spend time on an error message that is not shown
    except ValueError:
        return None
    return dict(row)


def _keep_same_shape(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield history rows, without those whose learned numbers have other layers, components or heads than before."""
    known: dict[str, Any] = {}
    for row in rows:
        forms = {
            name: _describe_shape(row[name]) for name in ("lambda", "lambda_heads", "scalars", "gates") if name in row
        }
        if all(known.setdefault(name, form) == form for name, form in forms.items()):
            yield row


def _describe_shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _describe_shape(part) for name, part in value.items()}
    return [_describe_shape(part) for part in value] if isinstance(value, list) else None
