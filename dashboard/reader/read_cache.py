"""Caching of methods that read files: each method declares a caching rule, which the cache applies."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")
Reading: TypeAlias = Callable[Concatenate[Any, Given], Found]  # a reader method
Key = tuple[object, ...]  # file paths and versions, names and frozen options, but no models or tables
TELL = "tell"  # progress argument of reader methods, not part of the cache key


@dataclass(frozen=True)
class CachePolicy:
    """The caching rule of one method: number of stored results, lifetime, and whether each caller gets a copy."""

    name: str
    entries: int  # most results that are kept for all visitors
    spinner: str  # text shown while the method runs
    copied: bool
    """Whether each visitor gets a copy of a result. Otherwise all share one object that must not change."""
    seconds: float | None  # lifetime in seconds; None: only the key decides


class Memo:
    """The cache of methods that read files; this base class stores nothing, so every call reads the disk."""

    shared = False  # whether many visitors use it at the same time

    def get_or_read(self, how: CachePolicy, key: Callable[[], Key], read: Callable[[], Found]) -> Found:
        """Return the result that is cached under a key, or call `read` to compute it."""
        return read()


def cache_result(
    entries: int, key: Callable[..., Key], *, spinner: str = "", copied: bool = False, seconds: float | None = None
) -> Callable[[Reading[Given, Found]], Reading[Given, Found]]:
    """Return a decorator that caches a method; the function `key` makes the cache key from the method's arguments."""

    def wrap_method(read: Reading[Given, Found]) -> Reading[Given, Found]:
        """Wrap a method that reads files so that its results are cached."""
        how, signature = CachePolicy(read.__name__, entries, spinner, copied, seconds), inspect.signature(read)

        @functools.wraps(read)
        def read_cached(self: Any, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
            """Return the cached result of a method that reads files, or call the method."""

            def make_key() -> Key:
                """Build the cache key of a method call from its arguments."""
                asked = signature.bind(self, *args, **kwargs)
                asked.apply_defaults()
                asked.arguments.pop(TELL, None)
                return key(*asked.arguments.values())

            return self.memo.get_or_read(how, make_key, lambda: read(self, *args, **kwargs))

        return read_cached

    return wrap_method
