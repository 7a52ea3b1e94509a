"""Errors of the operating system, raised instead of calling a function that writes or reads."""

import errno
import os
from collections.abc import Callable
from typing import Any, NoReturn


def refusing(number: int) -> Callable[..., NoReturn]:
    """Return a function that fails like a system call with this error number."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return refuse


full = refusing(errno.ENOSPC)
denied = refusing(errno.EACCES)
