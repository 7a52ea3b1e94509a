"""How far the methods that explain a run agree with deletion, on the texts of a split."""

from __future__ import annotations

import dataclasses
from typing import Any

from core.exceptions import InputError, NotAvailable
from core.runs.store import RunStore
from core.verbs.prediction import OnProgress
from core.verbs.runs import evaluated_split, runs_predictions

LIMIT, SEED = 200, 0


def agreement(
    run: str,
    *,
    split: str = "",
    wrong: bool = False,
    limit: int = LIMIT,
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """How often the most read word is the most needed one, and how far methods agree with deletion in rank.

    Most read: the word that receives most attention in the last layer, by size, mean over heads and readers. Most
    needed: the word whose deletion moves the log-odds of the predicted class most. Of several that differ by rounding
    alone the first counts; texts of fewer than two words are left out, of more than 300 the first 300 are compared.

    Args:
        run: its name.
        split: empty: test, or the last that was evaluated.
        wrong: only texts that the run is wrong about.
        limit: texts that are drawn of those that there are, at random, seed 0; 0: all.
        store: where runs live.
        on_progress: told which share of the texts is done.

    Returns:
        `run`, `split`, `wrong`, `found` (rows that there are), `drawn`, `seed`; `methods`: for `attention`, `collapse`,
        `gradient` and `integrated`, as far as the model has them, `method`, `texts`, `same` (in how many its largest
        word is the most needed one; of attention the most read), `chance` (the share of texts in
        which a random word would be: the mean of 1 / words), `rho` (mean Spearman with deletion, None: none),
        `ranked` (texts of three words or more, not all alike).

    Raises:
        InputError: no such run or split, a limit below 0, no such text, or a run that is explained by deletion alone.
        NotAvailable: the run keeps no texts, and its data are not here.
        RunDamaged: a file of the run is missing or cannot be read.
    """
    import numpy as np

    from core.interpret.agreement import agreement as agreed
    from core.interpret.explain import methods
    from core.runs.load import load_run
    from core.runs.predictions import lacks_texts

    store = store or RunStore()
    if limit < 0:
        raise InputError(f"--limit {limit}: a number of texts, or 0 for all")
    split = evaluated_split(run, split, store)
    table = runs_predictions(run, split, store)
    if why := lacks_texts(store.path(run), store.read(run)):
        raise NotAvailable(f"run '{run}': {why}")
    loaded = load_run(store, run)
    if not set(methods(loaded.model.provides)) - {"deletion", "shapley"}:
        raise InputError(f"run '{run}' can be explained by deletion and shapley alone: there is nothing to compare")
    texts = table.loc[table["label"] != table["predicted"]] if wrong else table
    found = texts["text"].tolist()
    if not found:
        raise InputError(f"run '{run}' has no {'wrong ' if wrong else ''}text in split '{split}'")
    if limit and limit < len(found):
        chosen = np.sort(np.random.default_rng(SEED).choice(len(found), limit, replace=False))
        drawn = [found[place] for place in chosen]
    else:
        drawn = found
    told = agreed(loaded.reader(), drawn, on_progress or (lambda what, share: None))
    return {
        "run": run,
        "split": split,
        "wrong": wrong,
        "found": len(found),
        "drawn": len(drawn),
        "seed": SEED,
        "methods": [dataclasses.asdict(each) for each in told],
    }
