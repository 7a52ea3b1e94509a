"""Every error that a person may meet. Messages say what is wrong, where, and what to do next."""

from __future__ import annotations


class SentiscopeError(Exception):
    """Base of all expected errors; the command line prints the message and exits with `exit_code`."""

    exit_code = 1


class InputError(SentiscopeError):
    """Something the person gave is wrong and can be mended by them."""

    exit_code = 2


class ConfigError(InputError):
    """A setting is unknown, out of range or contradicts another one."""


class DataError(InputError):
    """A file, row or column cannot be used."""

    def __init__(
        self, message: str, *, file: str | None = None, row: int | None = None, field: str | None = None
    ) -> None:
        """Say where: `row` is 1-based as a person counts the rows of the table, header excluded."""
        where = ", ".join(
            part
            for part in (file, None if row is None else f"row {row}", None if field is None else f"field '{field}'")
            if part
        )
        super().__init__(f"{where}: {message}" if where else message)
        self.file, self.row, self.field = file, row, field
        self.sheets: tuple[str, ...] = ()
        """The tables of the file, where it has several; see `core.data.findings.naming_sheets`."""
        self.sheet = ""
        """The one that was refused."""


class RunNotFound(InputError):
    """No run of that name."""


class RunDamaged(SentiscopeError):
    """A run directory cannot be used; the message names the file and the reason."""


class NotAvailable(SentiscopeError):
    """Something optional is missing here: an extra package, the network, a device."""


class Cancelled(SentiscopeError):
    """The person asked a training run to stop."""


class StorageError(SentiscopeError):
    """Nothing can be written: the disk is full or the folder is read-only."""
