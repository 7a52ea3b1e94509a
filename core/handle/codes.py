"""`run.codes`: the verbs of codes, bound to a run."""

from __future__ import annotations

from functools import partial
from typing import Any

from core import verbs
from core.runs.store import RunStore


class RunCodes:
    """What people say of the sentences of a run: codes, notes, draws, rates; documented in `core.verbs`.

    Every method is the command of its name: `run.codes.add("irony")` is `sentiscope codes add RUN irony`.
    """

    def __init__(self, run: str, store: RunStore) -> None:
        """Of a run, and where it lives."""

        def bound(verb: Any) -> Any:
            found = partial(verb, run, store=store)
            found.__doc__ = verb.__doc__  # the signature stays that of what is left to give
            return found

        self.list = bound(verbs.codes_list)
        self.add = bound(verbs.codes_add)
        self.edit = bound(verbs.codes_edit)
        self.remove = bound(verbs.codes_remove)
        self.code = bound(verbs.codes_code)
        self.note = bound(verbs.codes_note)
        self.merge = bound(verbs.codes_merge)
        self.split = bound(verbs.codes_split)
        self.draw = bound(verbs.codes_draw)
        self.rates = bound(verbs.codes_rates)
        self.kappa = bound(verbs.codes_kappa)
        self.export = bound(verbs.codes_export)
        self.import_ = bound(verbs.codes_import)
        self.undo = bound(verbs.codes_undo)
