"""May an explanation of a run be believed: measured on many sentences, and what one sentence says."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError, RunDamaged
from core.numbers import count
from core.runs import beliefs
from core.runs.store import RunStore
from core.verbs.prediction import OnProgress

if TYPE_CHECKING:
    from core.interpret.believed import Measured, Number
    from core.interpret.verdict import Verdict


NOT_JUDGED = "not judged"
"""Of a test that does not count for the verdict of a method."""


def believe(
    run: str,
    text: str | None = None,
    *,
    method: str = "",
    target: str = "",
    limit: int = beliefs.LIMIT,
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """How far the pushes of `explain` can be believed, measured on validation sentences and kept with the run.

    Words are put back and taken out in the order of their pushes and in random ones, two are taken out together, the
    sentence is said otherwise (contraction, frame, full stop, lower case), and the weights change places. Thresholds
    turn these into `evidence` (every test is passed), `neither` (one is failed) or `illustration`. Deletion is
    judged by two words at once, all others by words taken out.

    Args:
        run: its name.
        text: instead of all that, what one text says of itself: no intervals, and no verdict.
        method: one of `explain`; empty: all that the run can be explained by.
        target: of a text, the class whose log-odds are pushed; empty: the one with the highest probability.
        limit: sentences that are drawn from the validation split, 1 to 2000; stratified, seed 0.
        store: where runs live.
        on_progress: told what is done, and which share of all.

    Returns:
        `run`, `split`, `limit`, `seed`, `computed`, `file`, `sentences`, `left_out` (of fewer than three words), `cut`
        (of more than sixty, or of more than the model reads); `answers` (kappa): `value`, `low`, `high`, `n`,
        `outcome`; `methods`: `method`, `verdict`, `tests` (by name the same five), `areas`, `control`, `curves` (mean
        probability of the answer at eleven shares of the words), `agreement`; `thresholds`; `meaning` of *evidence*. Of
        a text: `run`, `text`, `methods`: `method`, `target`, `words`, `tests`, `edits`, `completeness` (the error of
        integrated gradients); `note`.

    Raises:
        InputError: no such run, method or class, a method for another kind of model, a limit that cannot be, no
            sentence that is long enough, or the data of the run are not there.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    from core.interpret.explain import check, methods
    from core.models.provides import provides

    if target and text is None:
        raise InputError("--target is of a text: give one, or leave --target out")
    store = store or RunStore()
    has = provides(store.read(run).config.model)
    if method:
        check(method, has)
    if text is not None:
        return _of_sentence(store, run, text, (method,) if method else tuple(methods(has)), target)
    return _of_run(store, run, method, limit, on_progress)


def _of_sentence(store: RunStore, run: str, text: str, methods: tuple[str, ...], target: str) -> dict[str, Any]:
    from core.interpret.belief import MOST, of_sentence
    from core.runs.load import load_run
    from core.text.typed import typed_words

    reader, words = load_run(store, run).reader(), len(typed_words(text))
    notes = reader.notes(text, reader.tokenizer.encode(text))
    if words > MOST:
        notes.append(f"Tested are the first {MOST} of {count(words)} words.")
    found = [of_sentence(reader, text, each, target) for each in methods]
    return {
        "run": run,
        "text": text,
        "methods": [{**dataclasses.asdict(each), "edits": list(each.edits)} for each in found],
        "note": " ".join(notes),
    }


def _of_run(store: RunStore, run: str, method: str, limit: int, on_progress: OnProgress | None) -> dict[str, Any]:
    from core.interpret.verdict import MEANING, THRESHOLDS, judge, outcome

    here, found = beliefs.files(store, run, method, limit), None
    try:
        found = beliefs.read(here)
    except RunDamaged:
        found = None
    there = found is not None
    found = found or beliefs.compute(store, here, on_progress)
    return {
        "run": run,
        "split": beliefs.VALIDATION,
        "limit": limit,
        "seed": beliefs.SEED,
        "computed": not there,
        "file": str(here.path("json")),
        "sentences": found.sentences,
        "left_out": found.left_out,
        "cut": found.cut,
        "answers": {**_plain(found.answers), "outcome": outcome(THRESHOLDS["answers"], found.answers)},
        "methods": [
            _measured(each, judge(each.method, {**each.tests, "answers": found.answers})) for each in found.methods
        ],
        "thresholds": {name: dataclasses.asdict(each) for name, each in THRESHOLDS.items()},
        "meaning": MEANING,
    }


def _measured(found: Measured, said: Verdict) -> dict[str, Any]:
    outcomes = {name: each for name, each in said.outcomes.items() if name != "answers"}
    return {
        "method": found.method,
        "verdict": said.verdict,
        "tests": {
            **{name: {**_plain(each), "outcome": outcomes.get(name, NOT_JUDGED)} for name, each in found.tests.items()},
            **{name: {"outcome": each} for name, each in outcomes.items() if name not in found.tests},
        },
        "areas": {name: _plain(each) for name, each in found.areas.items()},
        "control": {name: _plain(each) for name, each in found.control.items()},
        "curves": {
            name: {side: list(values) for side, values in dataclasses.asdict(each).items()}
            for name, each in found.curves.items()
        },
        "agreement": {name: _plain(each) for name, each in found.agreement.items()},
    }


def _plain(number: Number) -> dict[str, Any]:
    return dataclasses.asdict(number)
