"""The sentences that a run gets wrong, and how the test split differs from training.

Methods of `core.handle.objects.Run`, which is the first argument of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import verbs
from core.handle.named import Named, named, path

if TYPE_CHECKING:
    pass


def errors(  # noqa: PLR0913 - each is an option that a person types by name
    run: Named,
    *,
    split: str = "",
    where: Sequence[str] | str = (),
    tags: bool = False,
    against: Sequence[str | Named] | str | Named = (),
    label_errors: bool | str | Path = False,
    unsure: bool = False,
    slice: str = "",
    order: str = "file",
    csv: str | Path | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """What it says of each text of a split, and a selection of these rows.

    Args:
        split: Empty: test, or the last that was evaluated.
        where: Clauses of which all must hold: `["truth=negative", "margin<0.2", "word=not"]`; empty: what is wrong;
            `["all"]`: every row. `core.failures.rules` has the grammar.
        tags: Also tags of the texts (negation, truncated, near duplicate …) with the risk of an error of each.
        against: Further runs on the same rows, each for a tag `models disagree with RUN`; other seeds of the same model
            are found by themselves, for the tag `seeds disagree`.
        label_errors: Also labels that are likely wrong, of the training rows and of this split, and texts that
            stand in the data with two labels; a file: also written there.
        unsure: First read the texts again and again with dropout left on, for the tag `unsure under dropout`.
        slice: The rows of a slice (`slices`); with `where`, those where that holds too.
        order: Of the rows: `file`, `sure` (the surest first), `wrong` (the surest wrong), `margin` (the lowest
            first) or `unsure`.
        csv: A file for the selected rows.
        on_progress: Told what is done, where that takes long.

    Returns:
        `n`, `wrong`, `rate`, `selected`, `said`, `rows`, `tags`, `label_errors` …; see `core.verbs.errors`.

    Raises:
        InputError: There is no such split, or a clause is not understood; the message says what there is.
    """
    runs = [against] if isinstance(against, str | Named) else against
    own: dict[str, Any] = {"tags": tags, "against": list(map(named, runs)), "on_progress": on_progress}
    own |= {"label_errors": Path(label_errors) if isinstance(label_errors, str) else label_errors, "slice": slice}
    own |= {"unsure": unsure, "order": order}
    return verbs.errors(run.name, split=split, where=where, csv=path(csv), store=run.store, **own)


def slices(
    run: Named,
    *,
    save: str = "",
    where: Sequence[str] | str = (),
    rename: tuple[str, str] = ("", ""),
    remove: str = "",
    split: str = "",
) -> dict[str, Any]:
    """Selections with a name, which every run on its data has, and how good this one is there.

    Args:
        save: First keep what `where` selects under this name.
        where: As of `errors`.
        rename: First give the slice of the first name the second.
        remove: First forget the slice of this name.
        split: Empty: test, or the last that was evaluated.

    Returns:
        `slices`: of each `name`, `where`, `said`, `n`, `wrong`, `rate`, `interval`, `metrics` and `per_class` with
        their intervals …; see `core.verbs.slices`.

    Raises:
        InputError: A clause is not understood, the name is taken, or there is no such slice.
    """
    changes: dict[str, Any] = {"save": save, "rename": rename, "remove": remove}
    return verbs.slices(run.name, where=where, split=split, store=run.store, **changes)


def shift(
    run: Named, split: str = "", *, on_progress: Callable[[str, float | None], None] | None = None
) -> dict[str, Any]:
    """Whether the texts of a split are like those that it was trained on.

    Args:
        split: Empty: test, or the last that was evaluated.
        on_progress: Told what is done; it takes seconds, at first up to a minute.

    Returns:
        `auc` of a classifier that tells the two apart, `measures`, `balance`, `words`; see `core.verbs.shift`.

    Raises:
        InputError: There is no such split.
        NotAvailable: The training texts are not here.
    """
    return verbs.shift(run.name, split=split, store=run.store, on_progress=on_progress)
