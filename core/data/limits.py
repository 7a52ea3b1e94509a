"""Limits on the size and cost of reading a data file. Imports nothing heavy."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.exceptions import ConfigError, DataError
from core.formatting import count
from core.paths import TooLarge, open_regular, read_regular

VARIABLE = "SENTISCOPE_LIMITS"  # Environment variable that changes limits: `rows=5000000,memory=8000`
MEGABYTE = 1024**2


@dataclass(frozen=True)
class Limits:
    """The limits for reading a data file; a larger file is refused with a message, never truncated.

    Memory (MB) and seconds are those of the reading process, the size (MB) is that of the unpacked file, and cells are
    rows times columns; characters are those of one cell.
    """

    memory: int = 2_048
    seconds: int = 60
    size: int = 512
    rows: int = 2_000_000
    columns: int = 2_000
    cells: int = 20_000_000
    characters: int = 1_000_000


def get_limits() -> Limits:
    """Return the limits for reading data files: defaults changed by SENTISCOPE_LIMITS; refuse an unknown limit."""
    return _parse_limits(os.environ.get(VARIABLE, ""))


@functools.lru_cache(maxsize=8)
def _parse_limits(settings: str) -> Limits:
    known = [field.name for field in dataclasses.fields(Limits)]
    chosen: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in settings.split(","))):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in known or not (value.isascii() and value.isdigit() and len(value) < 13 and int(value)):
            raise ConfigError(f"{VARIABLE}: '{part}' is no limit; write NAME=NUMBER, with {', '.join(known)}")
        chosen[name] = int(value)
    return Limits(**chosen)


def make_error(
    found: str, name: str, *, file: str | None = None, row: int | None = None, field: str | None = None, part: str = ""
) -> DataError:
    """Return the DataError for a file beyond the limit `name`, with the value `found` and a hint, `part`."""
    most = getattr(get_limits(), name)
    unit = {"memory": "MB of memory", "size": "MB", "characters": "characters in a cell"}.get(name, name)
    how = f"Use a part of it{f' ({part})' if part else ''}, or raise the limit where Sentiscope is started"
    problem = f"{found}; at most {count(most)} {unit} are read. {how}: {VARIABLE}={name}=…"
    return DataError(problem, file=file, row=row, field=field)


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a file; refuse a folder, a device or the like, and a file that is larger than allowed."""
    with _convert_errors(path):
        return read_regular(path, get_limits().size * MEGABYTE)


def open_file(path: Path) -> BinaryIO:
    """Open a file at its beginning; refuse a folder, a device or the like, and a file that is larger than allowed."""
    with _convert_errors(path):
        return open_regular(path, get_limits().size * MEGABYTE)


@contextlib.contextmanager
def _convert_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError("no such file", file=str(path)) from None
    except TooLarge as error:
        raise make_error(f"the file has {count(error.size // MEGABYTE)} MB", "size", file=path.name) from None
    except ValueError as error:
        raise DataError(str(error), file=str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror or error}", file=str(path)) from None


def check_shape(rows: int, columns: int, *, file: str) -> None:
    """Refuse a table with more rows, columns or cells than the limits allow."""
    limits = get_limits()
    if columns > limits.columns:
        raise make_error(f"the table has {count(columns)} columns", "columns", file=file)
    if rows > limits.rows:
        raise make_error("the table has more rows", "rows", file=file)
    if rows * columns > limits.cells:
        raise make_error("the table has more cells", "cells", file=file)
