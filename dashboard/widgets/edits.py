"""What a link changes inside a model, on every page that reads a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.interpret.editable import Editable, allowed
from core.interpret.edits import Edits
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.widgets.messages import finding

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView


def asked(record: RunRecord, text: str, trained: SentenceView) -> tuple[Edits, Editable, SentenceView]:
    """What the link changes in this model, what could be changed, and the reading that follows."""
    edits, parts, left_out = made(record, trained, state.carried(state.EDIT))
    if left_out and parts.layers:
        many = "One change" if left_out == 1 else f"{left_out} changes"
        finding(f"{many} of the link cannot be made here", f"This run has {parts.has}.")
    return edits, parts, data.sentence(record.run, text, edits)


def made(record: RunRecord, trained: SentenceView, said: str) -> tuple[Edits, Editable, int]:
    """What a link's words change in this model, what could be changed, and how many changes cannot be made."""
    parts = allowed(record.config.model, trained)
    edits, left_out = parts.read(said)
    return edits, parts, left_out
