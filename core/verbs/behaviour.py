"""Ask runs what everybody expects of them, one capability at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.runs.store import RunStore


def behave(
    run: str,
    *others: str,
    suite: str | Path = "",
    rename: Mapping[str, str] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """How often runs fail the tests of a suite, by capability.

    What a run answers is kept in the cache of the machine, so that the same model is asked the same but once.

    Args:
        run: A finished run with one label per text.
        others: Those that stand beside it.
        suite: A file, YAML (`core.behaviour.written` has the format) or a table with the columns `text`, `test`,
            `capability` and `expected` or `group`; empty: the suite that comes with Sentiscope.
        rename: Class of the runs → `negative`, `neutral`, `positive` or `none`, where its name does not say it.
        store: Where runs live.

    Returns:
        `suite`: `name`, `about`, `file`, `digest`, numbers of `tests`, `capabilities`, `cases` and `texts`.
        `runs`: of each `run`, `polarities` (by class), `agreement` (of failures within a template,
        `core.behaviour.rates`) and its rate over all cases.
        `capabilities`: `capability`, `must` (what is asked of the answer), `rates` by run, and `tests`: `test`, `kind`,
        `must`, `about`, `tolerance`, `cases`, `rates` by run, and by run `failing`: the `texts` of a case, what was
        `expected`, and `answers`, each with `label`, `polarity` and `probabilities` by polarity.
        A rate: `n` cases, of which `failed`; `rate` and its 95 % `interval` (None where nothing was asked); `verdict`
        (`passes` below 0.3, `fails` above, else `open`, by the whole interval); `not_asked`, cases that need a class
        which the run has not; `consistency` of contrast sets (`groups`, `right`, `rate`, `interval`) or None.
        `differences`: of each `capability` and pair of runs, `first`'s failure rate minus `second`'s as `difference`,
        `p`, `p_holm` (Holm over all of these), `interval` (at the level of its Holm step) and whether they `differ`:
        `p_holm` is below 0.05, exactly where the interval leaves out 0.

    Raises:
        InputError: There is no such run, one gives several labels per text or has classes without a polarity, or the
            suite cannot be read; the message names file, test and field.
        RunDamaged: The model of a run cannot be read.
    """
    from core.behaviour.answers import judged
    from core.behaviour.polarity import refuse_strange
    from core.behaviour.read import read_suite
    from core.behaviour.report import report

    store = store or RunStore()
    chosen, names = read_suite(str(suite)), list(dict.fromkeys((run, *others)))
    refuse_strange(rename or {}, [name for each in names for name in store.read(each).classes])
    found = report([judged(store, each, chosen, rename) for each in names])
    return {**found, "suite": {"file": str(suite), **found["suite"]}}
