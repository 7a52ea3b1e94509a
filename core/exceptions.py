"""All errors that Sentiscope expects. Messages name the problem, its place, and what to do next."""

from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
Otherwise = TypeVar("Otherwise")


def try_call(
    errors: type[Exception] | tuple[type[Exception], ...],
    otherwise: Otherwise,
    call: Callable[..., Result],
    *arguments: Any,
) -> Result | Otherwise:
    """Return the result of a call, or `otherwise` if it raises one of these errors."""
    try:
        return call(*arguments)
    except errors:
        return otherwise


class SentiscopeError(Exception):
    """Base class of all expected errors; the command line prints the message and exits with `exit_code`."""

    exit_code = 1


class InputError(SentiscopeError):
    """An error in the user's input, which the user can correct."""

    exit_code = 2


class ConfigError(InputError):
    """An error in a setting: it is unknown, out of range or contradicts another one."""


class DataError(InputError):
    """An error in a data file, row or column that cannot be used."""

    def __init__(
        self, message: str, *, file: str | None = None, row: int | None = None, field: str | None = None
    ) -> None:
        """Add the place (file, row, field) to the message; `row` is 1-based, header excluded."""
        place = (file, None if row is None else f"row {row}", None if field is None else f"field '{field}'")
        where = ", ".join(filter(None, place))
        super().__init__(f"{where}: {message}" if where else message)
        self.file, self.row, self.field = file, row, field
        self.sheets: tuple[str, ...] = ()  # the names of all tables in the file; see `core.data.findings.name_sheets`
        self.sheet = ""  # the table that was refused


class RunNotFound(InputError):
    """An error for a name that no run has."""


class RunDamaged(SentiscopeError):
    """An error for a run directory that cannot be used; the message names the file and the reason."""


class NotAvailable(SentiscopeError):
    """An error for something optional that is missing here: an extra package, the network, a device."""


class Cancelled(SentiscopeError):
    """An exception that stops a training run at the user's request."""


class StorageError(SentiscopeError):
    """An error for a full disk or a read-only folder."""
