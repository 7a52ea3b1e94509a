"""A run that reads a text with something changed inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.exceptions import InputError
from core.runs.store import RunStore
from core.verbs.paired import paired

if TYPE_CHECKING:
    from core.interpret.edits import Edits
    from core.models.trace import Intervention
    from core.runs.load import LoadedRun


def changed(
    run: str, text: str, store: RunStore | None, edit: str, intervene: Intervention | None
) -> tuple[LoadedRun, Edits, Intervention | None]:
    """A run, what is changed in it when it reads a text, and the same as the model takes it; arguments as `sentence`.

    Raises:
        InputError: no such run, a change of what it does not have, or both ways of saying one.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    paired(loaded.record, text)
    edits = loaded.edits(text, edit)
    if intervene is not None and edits.inside:
        raise InputError("edit and intervene: one of them says what is changed inside")
    return loaded, edits, intervene or edits.intervention()
