"""The machine and this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.runs.store import RunStore

if TYPE_CHECKING:
    pass


def doctor(store: RunStore | None = None) -> dict[str, Any]:
    """What this machine offers and whether everything needed is here; see `core.doctor.examine`."""
    from core.doctor import examine

    return examine(store or RunStore())
