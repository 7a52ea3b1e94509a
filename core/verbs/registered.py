"""Verbs that draw: core does not know the dashboard, which registers as entry points of the installation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.exceptions import NotAvailable


def of_the_dashboard(name: str) -> Callable[..., Any]:
    """What draws.

    Raises:
        NotAvailable: the installation has nothing of this name.
    """
    from importlib.metadata import entry_points

    found = tuple(entry_points(group="sentiscope.verbs", name=name))
    if not found:
        raise NotAvailable("this installation draws no figures; install it anew: pip install -e .")
    return found[0].load()
