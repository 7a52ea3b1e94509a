"""Analyses of an evaluated split: one module for each, with a subclass of `SplitAnalysis` of the same `name`.

The command, the section of Errors and the part of a report follow from the class. A module imports heavy packages only
when it computes, as the command line imports all modules.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from core.error_analysis.split_analysis import SplitAnalysis

NAMES = tuple(sorted(each.name for each in iter_modules(__path__)))


def load(name: str) -> type[SplitAnalysis[dict[str, Any]]]:
    """Return the class that implements a split analysis, by the analysis's name, such as `shift`."""
    module = import_module(f"{__name__}.{name}")
    own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
    return next(each for each in own if isinstance(each, type) and issubclass(each, SplitAnalysis))
