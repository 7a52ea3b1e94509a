"""What codes come to: rows drawn at random, how often a code stands, how far two authors agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.runs.store import RunStore
from core.verbs.coded import Where, about, drawn, selected
from core.verbs.writing import write_named


def codes_draw(
    run: str,
    n: int = 75,
    *,
    seed: int = 0,
    split: str = "",
    where: Where = (),
    csv: Path | None = None,
    author: str = "",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Draw rows of a selection at random and keep the draw: coded to its end it tells the rates of the selection.

    Args:
        run: An evaluated run.
        n: How many.
        seed: Of the draw: the same draws the same rows, and a larger draw holds the smaller one.
        split: As of `errors`.
        where: Clauses that select, as of `errors`; empty: what is wrong.
        csv: A file for the rows that were drawn, to be coded there and taken in again (`codes_import`); it has what
            `author` said of them so far, and nothing of others.
        author: Who draws.
        store: Where runs live.

    Returns:
        `id`, `n`, `of`, `seed`, `said` (the selection), `author`, `time`, and the drawn `keys`, in the order of the
        draw.

    Raises:
        InputError: There are fewer rows, or the file cannot be written.
    """
    from core.failures.coded_csv import written
    from core.failures.draws import draw

    found = selected(run, split, where, store)
    made = draw(found.codes, found.keys, n, seed, found.said, run=run, author=author)
    if csv is not None:
        chosen = found.table.frame["key"].isin(made.keys)
        write_named("--csv", csv, written(found.table, chosen.tolist(), found.codes, found.codes.coded(author)))
    return {**drawn(made), "keys": list(made.keys)}


def codes_rates(
    run: str, *, split: str = "", where: Where = (), author: str | None = None, store: RunStore | None = None
) -> dict[str, Any]:
    """How many rows of a selection have each code, and how often a code stands where that can be told.

    Args:
        run: An evaluated run.
        split: As of `errors`.
        where: Clauses that select, as of `errors`; empty: what is wrong.
        author: Count what this one gave; None: what anybody gave.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, `selection` in words, and what `core.failures.rates` finds: `n`, `coded`, `sample`,
        `complete`, `authors`, `said`, `codes` with their `share` and 95 % `interval` (Wilson) where all of the
        selection, or all of a random draw from it, is coded; never of rows that were selected by their codes.

    Raises:
        InputError: As `codes_list`.
    """
    from core.failures.draws import draws
    from core.failures.rates import rates

    found = selected(run, split, where, store, author)
    counted = rates(found.coded, found.keys, draws(found.codes), by_codes=found.by_codes)
    return {**about(found), "selection": found.said, **counted}


def codes_kappa(
    run: str, first: str, second: str, *, split: str = "", where: Where = (), store: RunStore | None = None
) -> dict[str, Any]:
    """How far two authors agree, on the rows of a selection that both have coded.

    Args:
        run: An evaluated run.
        first: An author.
        second: Another.
        split: As of `errors`.
        where: Clauses that select; empty: all rows, right ones too.
        store: Where runs live.

    Returns:
        `run`, `data`, `split`, and what `core.failures.kappa.agreement` finds: `n`, `same`, Cohen's `kappa` and its
        95 % `interval`, the same of each code, and the rows that they coded differently.

    Raises:
        InputError: As `codes_list`; or one of them has coded nothing.
    """
    from core.failures.kappa import agreement

    found = selected(run, split, where or "all", store)
    return {**about(found), **agreement(found.coded, first, second, found.keys)}
