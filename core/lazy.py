"""Import the modules of a room when they are first used: `from core import runs`, then `runs.load.load_run(…)`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def open_door(room: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that imports a module of it by name.

    The package lists the modules for type checkers, under `TYPE_CHECKING`.
    """

    def get(name: str) -> ModuleType:
        if name.startswith("__") or find_spec(f"{room}.{name}") is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return import_module(f"{room}.{name}")

    return get
