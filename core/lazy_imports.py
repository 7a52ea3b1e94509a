"""Lazy imports: heavy modules, and the modules of a room (`from core import runs`, `runs.load`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast


def make_getattr(room: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that imports its modules by name.

    The package lists the modules for type checkers, under `TYPE_CHECKING`.
    """

    def get_module(name: str) -> ModuleType:
        """Import a module of the room; AttributeError: there is none of this name."""
        if name.startswith("__") or find_spec(f"{room}.{name}") is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return import_module(f"{room}.{name}")

    return get_module


class _LazyModule:
    """A module that is imported at its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


numpy, pandas, pyarrow, scipy = (cast(Any, _LazyModule(name)) for name in ("numpy", "pandas", "pyarrow", "scipy"))
