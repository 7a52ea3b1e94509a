"""All expected errors. Messages name the problem, its place, and what to do next."""

from __future__ import annotations


class SentiscopeError(Exception):
    """Base of all expected errors; the command line prints the message and exits with `exit_code`."""

    exit_code = 1


class InputError(SentiscopeError):
    """An input that is wrong and that the person can correct."""

    exit_code = 2


class ConfigError(InputError):
    """A setting that is unknown, out of range or contradicts another one."""


class DataError(InputError):
    """A file, row or column that cannot be used."""

    def __init__(
        self, message: str, *, file: str | None = None, row: int | None = None, field: str | None = None
    ) -> None:
        """Add the place to the message; `row` is 1-based, header excluded."""
        where = ", ".join(
            part
            for part in (file, None if row is None else f"row {row}", None if field is None else f"field '{field}'")
            if part
        )
        super().__init__(f"{where}: {message}" if where else message)
        self.file, self.row, self.field = file, row, field
        self.sheets: tuple[str, ...] = ()
        """The tables of the file, where it has several; see `core.data.findings.name_sheets`."""
        self.sheet = ""
        """The one that was refused."""


class RunNotFound(InputError):
    """A name that no run has."""


class RunDamaged(SentiscopeError):
    """A run directory that cannot be used; the message names the file and the reason."""


class NotAvailable(SentiscopeError):
    """Something optional that is missing here: an extra package, the network, a device."""


class Cancelled(SentiscopeError):
    """A request of the person to stop a training run."""


class StorageError(SentiscopeError):
    """A disk that is full, or a folder that is read-only."""
