"""Errors that a call must raise, and errors of the operating system in place of a function that writes or reads."""

import errno
import os
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

Errors = type[BaseException] | tuple[type[BaseException], ...]


def check_raises(error: Errors, match: str | None, call: Callable[..., object], *args: Any, **how: Any) -> None:
    """Assert that a call raises an error, and with `match` that its message matches this pattern."""
    with pytest.raises(error, match=match):
        call(*args, **how)


def refusing(number: int) -> Callable[..., NoReturn]:
    """Return a function that fails like a system call with this error number."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return refuse


full = refusing(errno.ENOSPC)
denied = refusing(errno.EACCES)
