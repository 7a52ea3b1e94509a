"""What the parts of a model do to the answer of a text: silenced, moved, put in from another text."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from core.runs.store import RunStore
from core.verbs.edited import changed
from core.verbs.prediction import answer

if TYPE_CHECKING:
    from core.models.trace import Intervention


def parts(
    run: str,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What silencing each part of a model does to the log-odds of a class, one at a time.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `explain`: each part is silenced besides.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`, `prediction`, `log_odds`, `tokens`; `parts`: `kind` (`layer`: all heads of it,
        `head`, `component` of all heads, `map`: one component of one head, `gate` of a token, `lexical`), `layer`, and
        `head`, `component`, `token` where it has them, counted from 0; `zero` and `mean`: log-odds with the part minus
        log-odds where it says nothing, or at every token its mean over the tokens; `note`.

    Raises:
        InputError: no such run or class, or a model without attention; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
    found = loaded.parts(text, target, change, unmixed=edits.unmixed)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "log_odds": found.log_odds,
        "tokens": list(found.tokens),
        "parts": [
            {key: value for key, value in dataclasses.asdict(part).items() if value is not None} for part in found.parts
        ],
        "note": found.note,
    }


def lambdas(
    run: str,
    text: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What each λ does to the log-odds of a class, along the values that it may be moved to.

    Args:
        run: its name.
        text: any.
        target: a class; empty: the one with the highest probability.
        edit: what is changed inside, as in `explain`; a curve replaces what it says of the same λ.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `target`; `prediction` and `log_odds` as trained; `curves`: of each λ `layer` from 0,
        `component` from 1, `learned`, `start` (before training; left out where the run does not know it), and along
        `values`, which hold these and 0, `log_odds` and `probabilities` of the target when all heads and tokens have
        that λ and all else is as trained or as edited; last, without a place, a factor on every λ from 0 to 2; `note`.

    Raises:
        InputError: no such run or class, or a model without λ; of `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
    found = loaded.lambdas(text, target, change, unmixed=edits.unmixed)
    curves = [dataclasses.asdict(each) for each in found.curves]
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "log_odds": found.log_odds,
        "curves": [{key: each[key] for key in each if key != "now" and each[key] is not None} for each in curves],
        "note": found.note,
    }


def patch(
    run: str,
    text: str,
    donor: str,
    *,
    target: str = "",
    edit: str = "",
    intervene: Intervention | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """What the log-odds of a class become when a place inside has the values that it has of another text.

    Args:
        run: its name.
        text: any.
        donor: another text of as many tokens, as the model reads them.
        target: a class; empty: the one with the highest probability for the first text.
        edit: what is changed inside for both, as in `explain`.
        intervene: the same as an `Intervention`.
        store: where runs live.

    Returns:
        `run`, `text`, `edit`, `donor`, `target`, `prediction`, `donor_prediction`, `log_odds`, `donor_log_odds`,
        `tokens`, `donor_tokens`; `patches`: `kind` (`layer`: what it gives at every token, `token`: at one, `head`:
        what it says at every token), `layer`, and `token` or `head`, counted from 0; `log_odds` with the values of the
        donor there, and `moved`, less those of the text by itself; `note`.

    Raises:
        InputError: no such run or class, a model without attention, or texts of different numbers of tokens; of
            `edit` and `intervene` as `sentence`.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    loaded, edits, change = changed(run, text, store, edit, intervene)
    found = loaded.patch(text, donor, target, change, unmixed=edits.unmixed)
    return {
        "run": run,
        "text": text,
        "edit": edits.encode(),
        "donor": donor,
        "target": found.target,
        "prediction": answer(loaded.record, found.probabilities),
        "donor_prediction": answer(loaded.record, found.donor_probabilities),
        "log_odds": found.log_odds,
        "donor_log_odds": found.donor_log_odds,
        "tokens": list(found.tokens),
        "donor_tokens": list(found.donor_tokens),
        "patches": [
            {key: value for key, value in dataclasses.asdict(each).items() if value is not None}
            for each in found.patches
        ],
        "note": found.note,
    }
