"""Whether the texts of a split are like those that a run was trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.runs.store import RunStore


def shift(
    run: str,
    *,
    split: str = "",
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """How the texts of a split differ from the training texts of a run (`core.failures.shift`); kept once found.

    Args:
        run: An evaluated run whose data are here.
        split: Empty: test, or the last that was evaluated.
        store: Where runs live.
        on_progress: Told what is done.

    Returns:
        `run`, `data`, `split`; `n` texts of `training` and of the `split`, and how many of each were `read`, a
        seeded sample of many. `auc`: how well TF-IDF tells the two apart, cross-fitted: its `value`, 0.5 where it
        cannot, its 95 % `interval` and `p`. `measures`: `words of a text` and `unknown words`, the share of its words
        that no (other) training text has; of each `training`, `split`, their `difference` with its 95 % `interval` and
        `p` (Welch).
        `balance`: the same of the share of each `class` (score test, Newcombe's interval), and `p_holm` over the
        classes; `balance_p` of all at once (chi-square; None of several labels). `words`: words and phrases that more
        texts of one side have, by `p_holm` (Fisher's exact test after Holm over all that were `tried`): how many texts
        of the `split` and of `training` have it, `log_odds`, above 0 for the split, and their interval `low` to `high`.
        `left_out`: why nothing is told.

    Raises:
        InputError: There is no such run, or it was not evaluated on the split.
        NotAvailable: The training texts are not here, or the split is the training split.
        RunDamaged: The predictions cannot be read.
    """
    from core.failures.shifted import shifted
    from core.failures.table import read_table

    store = store or RunStore()
    table = read_table(store, run, split)
    about = {"run": run, "data": table.record.config.data.name, "split": table.split}
    return {**about, **shifted(store, table, on_progress)}
