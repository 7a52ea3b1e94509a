"""Lazy imports of heavy packages, and of a package's modules by name (`from core import runs`, `runs.load`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast


def make_getattr(room: str) -> Callable[[str], ModuleType]:
    """Return a `__getattr__` for a package that lists its modules under `TYPE_CHECKING` and imports them when used."""

    def get_module(name: str) -> ModuleType:
        """Import a module of the package by name; AttributeError: the package has no such module."""
        if name.startswith("__") or find_spec(f"{room}.{name}") is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return import_module(f"{room}.{name}")

    return get_module


class _LazyModule:
    """A proxy of a module, which is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


numpy, pandas, pyarrow, scipy = (cast(Any, _LazyModule(name)) for name in ("numpy", "pandas", "pyarrow", "scipy"))
