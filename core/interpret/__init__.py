"""What a trace shows for one typed sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.interpret import belief, explain, flip, sentence, several, templates, unknown, verdict

__getattr__ = open_door(__name__)
